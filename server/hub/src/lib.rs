//! The handle to the running hub: accepts commands, waits and queries, and returns the writer's answers.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use hub_core::command::{Command, Hook};
use hub_core::fold::State;
use hub_core::rejected::Rejected;
use hub_core::rule::RuleSet;
use hub_core::waiters::lease_token::Claim;
use hub_core::waiters::lease_token::LeaseKey;
use hub_core::waiters::{
    Batch, EventOrder, EventTurn, Outcome, SharedWaiters, WaitSpec, Waiters, WakeLimits,
};
use hub_core::wake_files::WakeFiles;
use hub_log::Log;
use hub_log::archive::Recovered;
use hub_log::journal::{Health, Journal, JournalError, SharedCommit};
use hub_log::timeline::Timeline;
use hub_log::view::View;
use hub_protocol::process::uptime_micros;
use hub_protocol::{Need, Process, Seq, Sessions};
use tokio::sync::{Notify, Semaphore, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::follow::{FollowedList, ListSlot};
use crate::metrics::Metrics;
use crate::writer::{Ask, Done, Writer};

pub mod clock;
pub mod conversation;
pub mod draft;
pub mod dry_run;
pub mod follow;
pub mod hooks;
pub mod instructions;
pub mod metrics;
pub mod needs;
mod permit;
pub mod phase;
pub mod places;
mod programs;
pub mod refused;
mod reset_time;
pub mod sessions;
pub mod stats;
pub mod stored;
#[doc(hidden)]
pub mod testing;
pub mod tmux;
pub mod wake_text;
pub mod why;
pub mod writer;

pub use permit::StreamPermit;
pub use programs::{Programs, RunningProgram};

use permit::{Focus, Leaving};

/// How much later than its deadline the writer may end a wait.
const LATE: Duration = Duration::from_secs(1);

/// A handle to a running hub; clones share it.
#[derive(Clone)]
pub struct Hub(Arc<HubInner>);

struct HubInner {
    queue: SyncSender<Ask>,
    log: Arc<Log>,
    view: Arc<View>,
    waiters: SharedWaiters,
    programs: Arc<Programs>,
    due: watch::Receiver<Option<Instant>>,
    presence: watch::Sender<u64>,
    needs: ListSlot<Vec<Need>>,
    sessions: ListSlot<Sessions>,
    leases: LeaseKey,
    rules: Rules,
    rule_set: Arc<RuleSet>,
    wake_files: WakeFiles,
    metrics: Arc<Metrics>,
    shutdown: CancellationToken,
    streams: Arc<Semaphore>,
    /// One clone for each event stream of a dashboard.
    dashboards: Arc<()>,
    /// One clone for each page of a dashboard that has the focus.
    focused: Arc<()>,
    began: Notify,
    events: EventOrder,
    active: OnceLock<Box<dyn ActiveHub>>,
}

/// The active hub of the cluster, as a standby reaches it.
pub trait ActiveHub: Send + Sync {
    /// Passes a command on to it.
    fn submit(&self, command: Command) -> BoxFuture<'static, Result<Done, Rejected>>;

    /// Returns once this hub's log includes all that was stored anywhere before the call.
    fn catch_up(&self) -> BoxFuture<'static, Result<(), Rejected>>;
}

/// Rules for agents, as set in the configuration.
#[allow(clippy::struct_excessive_bools)] // each a switch of its own
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules {
    /// Whether the hub holds a permission request of an agent until it is answered.
    pub approvals: bool,
    /// Whether an agent may approve another agent's permission request.
    pub agents_may_approve: bool,
    /// Whether two sessions that edit the same file are alerted.
    pub same_file_alerts: bool,
    /// Whether the hub lets a session go on when its usage limit ends.
    pub resume_after_limit: bool,
    /// Whether the log keeps prompts and agents' last messages.
    pub keep_words: bool,
    /// How long no key may have been pressed in a tmux pane into which the hub pastes.
    pub pane_quiet: Duration,
}

/// The parts from which a hub is started.
pub struct HubParts {
    /// The journal, to which the writer appends records.
    pub journal: Arc<dyn Journal>,
    /// The fold of the whole journal.
    pub recovered: Recovered,
    /// The key that signs leases.
    pub leases: LeaseKey,
    /// The last notification that may have been delivered before this run without an acknowledgement; 0 if there is
    /// none.
    pub offered: Seq,
    /// The wake limits of agent sessions.
    pub limits: WakeLimits,
    /// The rules for agents.
    pub rules: Rules,
    /// The rules by which the hub acts on notifications.
    pub rule_set: Arc<RuleSet>,
    /// The files that agents watch for the hub.
    pub wake_files: WakeFiles,
    /// The most requests that may be queued for the writer.
    pub queue: usize,
    /// The most waits and event streams that may be open.
    pub streams: usize,
    /// Ends streams and waits when it is cancelled.
    pub shutdown: CancellationToken,
}

impl Hub {
    /// Starts the writer thread. The thread closes the journal and ends after [`Hub::stop`]; if the storage fails, it
    /// ends with that error.
    pub fn start(parts: HubParts) -> (Self, JoinHandle<Result<(), JournalError>>) {
        let (hub, writer, asks) = Self::assemble(parts, Instant::now());
        let thread = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || writer.run(&asks))
            .expect("a thread can be started while the hub starts");
        (hub, thread)
    }

    /// A hub whose writer the caller runs, with the queue of what it is asked.
    pub fn assemble(parts: HubParts, now: Instant) -> (Self, Writer, Receiver<Ask>) {
        let (queue, asks) = std::sync::mpsc::sync_channel(parts.queue);
        let log = Arc::new(Log::new(parts.journal));
        for (project, below) in parts.recovered.state.hidden.iter() {
            log.hide(project, below);
        }
        let metrics = Arc::new(Metrics::new());
        let head = parts.recovered.state.head();
        let waiters = Waiters::new(parts.limits, parts.offered, head, now);
        let presence = waiters.version();
        let waiters = SharedWaiters::from(waiters);
        let view = Arc::new(View::new(Arc::clone(&log), parts.recovered));
        let (due_sender, due) = watch::channel(None);
        let inner = HubInner {
            queue,
            log,
            due,
            view: Arc::clone(&view),
            waiters: waiters.clone(),
            programs: Arc::default(),
            presence,
            needs: ListSlot::default(),
            sessions: ListSlot::default(),
            leases: parts.leases,
            rules: parts.rules,
            rule_set: Arc::clone(&parts.rule_set),
            wake_files: parts.wake_files,
            metrics: Arc::clone(&metrics),
            shutdown: parts.shutdown,
            streams: Arc::new(Semaphore::new(parts.streams)),
            dashboards: Arc::new(()),
            focused: Arc::new(()),
            began: Notify::new(),
            events: EventOrder::default(),
            active: OnceLock::new(),
        };
        let writer = Writer::new(view, waiters, due_sender, metrics, parts.rule_set);
        (Self(Arc::new(inner)), writer, asks)
    }

    /// Sets how a standby reaches the active hub.
    pub fn set_active_hub(&self, active: Box<dyn ActiveHub>) {
        let _ = self.0.active.set(active);
    }

    /// Carries out a command, and returns once it is durable. Fails if the hub rejects it. A standby passes it on.
    pub async fn submit(&self, command: Command) -> Result<Done, Rejected> {
        if let Some(active) = self.0.active.get()
            && self.is_standby()
            && command.is_from_outside()
        {
            return active.submit(command).await;
        }
        let is_start = |hook: &Hook| hook.happened.starts();
        let begins = matches!(command, Command::Register { .. })
            || matches!(&command, Command::Hook(hook) if is_start(hook));
        let (reply, answer) = oneshot::channel();
        self.ask(Ask::Command { command, reply })?;
        let done = answer.await.unwrap_or(Err(Rejected::Storage));
        if begins && done.is_ok() {
            self.0.began.notify_one();
        }
        done
    }

    /// Waits until the earlier events of this process are handled. `at` is when this one happened, in microseconds since the
    /// machine started. The process's next event waits until the turn is dropped.
    pub async fn in_order(&self, process: &Process, at: u64) -> EventTurn<'_> {
        self.0.events.turn(process, at, uptime_micros()).await
    }

    /// Returns once this hub's log includes all that was stored in the cluster before the call. Fails if that cannot be
    /// known now.
    pub async fn catch_up(&self) -> Result<(), Rejected> {
        match self.0.active.get() {
            Some(active) if self.is_standby() => active.catch_up().await,
            _ => Ok(()),
        }
    }

    /// Whether this hub may not decide, because another hub of the cluster may be the active one.
    pub fn is_standby(&self) -> bool {
        self.log().journal().health() == Health::Standby
    }

    /// Returns when a session may have started since the last call.
    pub async fn session_began(&self) {
        self.0.began.notified().await;
    }

    /// [`Hub::submit`] for threads outside the async runtime.
    pub fn submit_blocking(&self, command: Command) -> Result<Done, Rejected> {
        let (reply, answer) = oneshot::channel();
        self.ask(Ask::Command { command, reply })?;
        answer.blocking_recv().unwrap_or(Err(Rejected::Storage))
    }

    /// Waits as `spec` describes. Dropping the future ends the wait.
    pub async fn wait(&self, spec: WaitSpec) -> Result<Outcome, Rejected> {
        // Drop order matters: close the channel first, then notify the watchers; otherwise they would still find the
        // waiter.
        let mut leaving = self.leaving();
        let (reply, answer) = oneshot::channel();
        let deadline = spec.deadline;
        let spec = spec.into();
        self.ask(Ask::Wait { spec, reply })?;
        tokio::select! {
            outcome = answer => {
                // The thread that ended the wait has already notified the watchers.
                leaving.0 = None;
                outcome.map_err(|_| self.unanswered())
            }
            () = self.0.shutdown.cancelled() => Err(Rejected::ShuttingDown),
            () = self.outlived(deadline) => Err(Rejected::NoActiveHub),
        }
    }

    /// Returns after the deadline of a wait, if this hub stands by: then the writer does not end it.
    async fn outlived(&self, deadline: Instant) {
        if self.0.active.get().is_none() {
            return std::future::pending().await;
        }
        tokio::time::sleep_until((deadline + LATE).into()).await;
        while !self.is_standby() {
            tokio::time::sleep(LATE).await;
        }
    }

    fn leaving(&self) -> Leaving {
        Leaving(Some(self.0.presence.clone()))
    }

    /// Leases the notifications that are available for a session, without affecting the session's waiter.
    pub async fn take(&self, spec: WaitSpec) -> Result<Option<Batch>, Rejected> {
        let (reply, answer) = oneshot::channel();
        let spec = spec.into();
        self.ask(Ask::Take { spec, reply })?;
        answer.await.map_err(|_| self.unanswered())
    }

    /// Why the writer did not answer a wait.
    fn unanswered(&self) -> Rejected {
        match self.log().journal().health() {
            Health::Standby => Rejected::NoActiveHub,
            _ => Rejected::ShuttingDown,
        }
    }

    /// Becomes the active hub of the cluster, by the commit of [`Command::Lead`]. Returns its number: the term.
    pub async fn lead(&self, node: &str, clock_moved_ms: Option<i64>) -> Result<Seq, Rejected> {
        let (reply, answer) = oneshot::channel();
        let command = Command::Lead {
            node: node.into(),
            clock_moved_ms,
        };
        self.ask(Ask::Lead { command, reply })?;
        answer.await.unwrap_or(Err(Rejected::ShuttingDown))?;
        let term = self.read(|state, _| state.leader().map(|(term, _)| *term))?;
        term.ok_or(Rejected::NoActiveHub)
    }

    /// Stops being the active hub of the cluster, and ends all waits.
    pub async fn step_down(&self) -> Result<(), Rejected> {
        let (done, answer) = oneshot::channel();
        self.ask(Ask::StepDown(done))?;
        answer.await.map_err(|_| Rejected::ShuttingDown)
    }

    /// Stores commits of the active hub of the cluster.
    pub async fn follow(&self, commits: Vec<SharedCommit>) -> Result<(), JournalError> {
        let (done, answer) = oneshot::channel();
        let ended = |_| JournalError::from(io::Error::other("the writer has ended"));
        let queued = self.ask(Ask::Follow { commits, done });
        queued.map_err(|_| JournalError::Unsettled)?;
        answer.await.map_err(ended)?
    }

    /// Runs a query on the fold of every durable record, on the caller's thread; the writer does not wait for it.
    pub fn read<T>(&self, query: impl FnOnce(&State, &SharedWaiters) -> T) -> Result<T, Rejected> {
        let answer = self.0.view.read(|state| query(state, &self.0.waiters));
        answer.map_err(|error| {
            tracing::error!(%error, "the log could not be folded for a query");
            Rejected::Storage
        })
    }

    /// [`Hub::read`] on a blocking thread, for a query that builds a list: the threads that serve requests go on.
    pub async fn list<T: Send + 'static>(
        &self,
        query: impl FnOnce(&State, &SharedWaiters) -> T + Send + 'static,
    ) -> Result<T, Rejected> {
        let hub = self.clone();
        let read = tokio::task::spawn_blocking(move || hub.read(query));
        read.await.unwrap_or(Err(Rejected::ShuttingDown))
    }

    /// Runs a query on the timeline, on a blocking thread.
    pub async fn read_timeline<T: Send + 'static>(
        &self,
        query: impl FnOnce(&State, &Timeline, &SharedWaiters) -> T + Send + 'static,
    ) -> Result<T, Rejected> {
        let hub = self.clone();
        let read = tokio::task::spawn_blocking(move || hub.read_timeline_blocking(query));
        read.await.map_err(|_| Rejected::ShuttingDown)?
    }

    /// [`Hub::read_timeline`] for threads outside the async runtime.
    pub fn read_timeline_blocking<T>(
        &self,
        query: impl FnOnce(&State, &Timeline, &SharedWaiters) -> T,
    ) -> Result<T, Rejected> {
        let (view, waiters) = (&self.0.view, &self.0.waiters);
        let answer = view.read_timeline(|state, timeline| query(state, timeline, waiters));
        answer.map_err(|error| {
            tracing::error!(%error, "the log could not be folded for the timeline");
            Rejected::Storage
        })
    }

    /// Returns the waiters and the held requests.
    pub fn waiters(&self) -> &SharedWaiters {
        &self.0.waiters
    }

    /// Returns the fold that queries and the archive share.
    pub fn view(&self) -> &Arc<View> {
        &self.0.view
    }

    /// Returns once the writer has answered, so that a caller knows that it works.
    pub async fn ping(&self) -> Result<(), Rejected> {
        let (done, answer) = oneshot::channel();
        self.ask(Ask::Ping(done))?;
        answer.await.map_err(|_| Rejected::ShuttingDown)
    }

    /// Offers the notifications of a lease again that its reader did not acknowledge.
    pub async fn give_back(&self, claim: Claim) -> Result<(), Rejected> {
        let (done, answer) = oneshot::channel();
        self.ask(Ask::GiveBack { claim, done })?;
        answer.await.map_err(|_| Rejected::ShuttingDown)
    }

    /// Takes a slot for a long-lived connection, or fails if all are taken. Dropping the permit frees the slot.
    pub fn stream_permit(&self) -> Result<StreamPermit, Rejected> {
        let mut permit = self.slot()?;
        let open = self.0.metrics.streams.clone();
        open.inc();
        permit.open = Some(open);
        Ok(permit)
    }

    fn slot(&self) -> Result<StreamPermit, Rejected> {
        let permit = Arc::clone(&self.0.streams)
            .try_acquire_owned()
            .map_err(|_| Rejected::TooManyStreams)?;
        Ok(StreamPermit {
            slot: permit,
            dashboard: None,
            focus: None,
            open: None,
        })
    }

    /// [`Hub::stream_permit`] for the event stream of a dashboard.
    pub fn dashboard_permit(&self) -> Result<StreamPermit, Rejected> {
        let mut permit = self.stream_permit()?;
        permit.dashboard = Some(Arc::clone(&self.0.dashboards));
        Ok(permit)
    }

    /// A slot for the stream of a dashboard's page that is open as long as the page has the focus.
    pub fn focus_permit(&self) -> Result<StreamPermit, Rejected> {
        let mut permit = self.slot()?;
        permit.focus = Some(Focus {
            page: Arc::clone(&self.0.focused),
            leaving: self.leaving(),
        });
        self.presence_changed();
        Ok(permit)
    }

    /// Whether the person looks at a dashboard.
    pub fn is_focused(&self) -> bool {
        Arc::strong_count(&self.0.focused) > 1
    }

    /// Whether a dashboard is open.
    pub fn has_dashboard(&self) -> bool {
        Arc::strong_count(&self.0.dashboards) > 1
    }

    fn ask(&self, ask: Ask) -> Result<(), Rejected> {
        self.0.queue.try_send(ask).map_err(|error| match error {
            TrySendError::Full(_) => Rejected::Busy,
            TrySendError::Disconnected(_) => Rejected::ShuttingDown,
        })
    }

    /// Returns the log for reading.
    pub fn log(&self) -> &Arc<Log> {
        &self.0.log
    }

    /// Returns a receiver of the next deadline, at which the clock must submit a tick.
    pub fn next_due(&self) -> watch::Receiver<Option<Instant>> {
        self.0.due.clone()
    }

    /// Returns a receiver that is notified when a waiter or a held request is added or removed.
    pub fn presence(&self) -> watch::Receiver<u64> {
        self.0.presence.subscribe()
    }

    /// Follows what the person has to do.
    pub fn follow_needs(&self) -> FollowedList<Vec<Need>> {
        follow::follow::<needs::NeedList>(self, &self.0.needs)
    }

    /// Follows the sessions that have not ended.
    pub fn follow_sessions(&self) -> FollowedList<Sessions> {
        follow::follow::<sessions::SessionList>(self, &self.0.sessions)
    }

    /// Notifies the watchers of presence of a change that the waiters do not have: of another hub, or of a page.
    pub fn presence_changed(&self) {
        self.0.presence.send_modify(|version| *version += 1);
    }

    /// Returns the permissions of agents.
    pub fn rules(&self) -> Rules {
        self.0.rules
    }

    /// Returns the rules by which the hub acts on notifications.
    pub fn rule_set(&self) -> &Arc<RuleSet> {
        &self.0.rule_set
    }

    /// When the usage limit ends that an agent's error message is about, if it says so, and whether the session goes on then.
    pub fn limit_of(&self, reason: &str) -> (Option<hub_protocol::Timestamp>, bool) {
        let until = reset_time::reset_time(reason, hub_protocol::Timestamp::now());
        (until, until.is_some() && self.rules().resume_after_limit)
    }

    /// Returns the processes of the programs that rules run.
    pub fn programs(&self) -> &Arc<Programs> {
        &self.0.programs
    }

    /// Returns the files that agents watch for the hub.
    pub fn wake_files(&self) -> &WakeFiles {
        &self.0.wake_files
    }

    /// Returns the key that signs and verifies leases.
    pub fn leases(&self) -> &LeaseKey {
        &self.0.leases
    }

    /// Returns the hub's counters.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Returns the token that ends streams and waits.
    pub fn shutdown(&self) -> &CancellationToken {
        &self.0.shutdown
    }

    /// Lets the writer finish the queued requests and then end.
    pub fn stop(&self) {
        // The writer drains its queue all the time, so this blocks for one commit at most.
        let _ = self.0.queue.send(Ask::Stop);
    }
}

#[cfg(test)]
pub(crate) mod tests;
