//! The handle that everybody holds: commands, waits and queries go in here, answers come out.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::Instant;

use hub_protocol::Seq;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::command::{Command, Refusal};
use crate::journal::{Journal, JournalError};
use crate::lease::LeaseKey;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::presence::{Batch, Outcome, Presence, WaitSpec, WakeLimits};
use crate::state::State;
use crate::writer::{Ask, Done, Reload, Writer};

/// A running hub.
#[derive(Clone)]
pub struct Hub(Arc<Inner>);

struct Inner {
    queue: SyncSender<Ask>,
    log: Arc<Log>,
    due: watch::Receiver<Option<Instant>>,
    presence: watch::Sender<u64>,
    leases: LeaseKey,
    rules: Rules,
    metrics: Arc<Metrics>,
    shutdown: CancellationToken,
    streams: Arc<Semaphore>,
}

/// The right to keep a connection open. Fewer of these are given out than connections are taken, so that publishing
/// and acknowledging always have room.
pub struct StreamPermit {
    _permit: OwnedSemaphorePermit,
    open: Gauge,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.open.dec();
    }
}

/// A request that is held, as presence tells it. Its fields are dropped in this order: nobody is told before it is so.
#[must_use]
pub struct Held {
    _request: oneshot::Receiver<()>,
    _leaving: Leaving,
}

/// Tells those who watch who is there that somebody left, also where a connection broke.
struct Leaving(Option<watch::Sender<u64>>);

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(presence) = &self.0 {
            presence.send_modify(|version| *version += 1);
        }
    }
}

/// What agents may do, by the person's settings.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules {
    /// Whether a permission that an agent asks for is held for an answer by the hub.
    pub approvals: bool,
    /// Whether an agent may give a permission to another.
    pub agents_may_approve: bool,
}

/// What a hub is made of.
pub struct Parts {
    /// Where records go.
    pub journal: Arc<dyn Journal>,
    /// The fold of everything in the journal.
    pub state: State,
    /// Folds the journal again, when a commit failed halfway.
    pub reload: Reload,
    /// Signs leases.
    pub leases: LeaseKey,
    /// How often agents may be woken.
    pub limits: WakeLimits,
    /// What agents may do.
    pub rules: Rules,
    /// How many requests may wait for the writer.
    pub queue: usize,
    /// How many waits and event streams may be open.
    pub streams: usize,
    /// Ends streams and waits.
    pub shutdown: CancellationToken,
}

/// Why the hub did not do it. Nothing has changed, except where it says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum Rejected {
    /// The fold says no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// The storage failed: it may or may not have been stored.
    #[error("the storage failed")]
    Storage,
    /// Too many requests wait already.
    #[error("the hub is busy")]
    Busy,
    /// Too many waits and streams are open.
    #[error("too many waits and event streams are open")]
    TooManyStreams,
    /// The hub is about to end.
    #[error("the hub is shutting down")]
    ShuttingDown,
}

impl Hub {
    /// Starts the writer thread. It ends, with the journal closed, after [`Hub::stop`], or with the error of a storage
    /// that failed.
    pub fn start(parts: Parts) -> (Self, JoinHandle<Result<(), JournalError>>) {
        let (queue, asks) = std::sync::mpsc::sync_channel(parts.queue);
        let log = Arc::new(Log::new(parts.journal));
        for (project, below) in parts.state.hidden() {
            log.hide(project, below);
        }
        let metrics = Arc::new(Metrics::new());
        let presence = Presence::new(parts.limits);
        let (due_sender, due) = watch::channel(None);
        let inner = Inner {
            queue,
            log: Arc::clone(&log),
            due,
            presence: presence.version(),
            leases: parts.leases,
            rules: parts.rules,
            metrics: Arc::clone(&metrics),
            shutdown: parts.shutdown,
            streams: Arc::new(Semaphore::new(parts.streams)),
        };
        let writer = Writer::new(
            parts.state,
            presence,
            log,
            due_sender,
            metrics,
            parts.reload,
        );
        let thread = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || writer.run(&asks))
            .expect("a thread can be started while the hub starts");
        (Self(Arc::new(inner)), thread)
    }

    /// Does what is asked, durably, or says why not.
    pub async fn submit(&self, command: Command) -> Result<Done, Rejected> {
        let (reply, answer) = oneshot::channel();
        self.ask(Ask::Command { command, reply })?;
        answer.await.unwrap_or(Err(Rejected::Storage))
    }

    /// [`Hub::submit`] for threads of their own.
    pub fn submit_blocking(&self, command: Command) -> Result<Done, Rejected> {
        let (reply, answer) = oneshot::channel();
        self.ask(Ask::Command { command, reply })?;
        answer.blocking_recv().unwrap_or(Err(Rejected::Storage))
    }

    /// Waits as `spec` says. Dropping the future ends the wait.
    pub async fn wait(&self, spec: WaitSpec) -> Result<Outcome, Rejected> {
        // Before the channel, so that it is dropped after it: whoever is told looks and finds nobody there.
        let mut leaving = self.leaving();
        let (reply, answer) = oneshot::channel();
        self.ask(Ask::Wait { spec, reply })?;
        tokio::select! {
            outcome = answer => {
                // Whoever ended it has told.
                leaving.0 = None;
                outcome.map_err(|_| Rejected::ShuttingDown)
            }
            () = self.0.shutdown.cancelled() => Err(Rejected::ShuttingDown),
        }
    }

    /// Says that this request is held until the question is settled, while what is answered is kept.
    pub async fn hold(&self, id: Seq) -> Result<Held, Rejected> {
        let (request, held) = oneshot::channel();
        let held = Held {
            _request: held,
            _leaving: self.leaving(),
        };
        self.query(move |_, presence| presence.hold(id, request))
            .await?;
        Ok(held)
    }

    fn leaving(&self) -> Leaving {
        Leaving(Some(self.0.presence.clone()))
    }

    /// Takes what is there for a session, beside whoever waits for it.
    pub async fn take(&self, spec: WaitSpec) -> Result<Option<Batch>, Rejected> {
        let (reply, answer) = oneshot::channel();
        self.ask(Ask::Take { spec, reply })?;
        answer.await.map_err(|_| Rejected::ShuttingDown)
    }

    /// Asks something of what is committed and of who is there.
    pub async fn query<T: Send + 'static>(
        &self,
        question: impl FnOnce(&State, &mut Presence) -> T + Send + 'static,
    ) -> Result<T, Rejected> {
        let (reply, answer) = oneshot::channel();
        let ask = move |state: &State, presence: &mut Presence| {
            drop(reply.send(question(state, presence)));
        };
        self.ask(Ask::Query(Box::new(ask)))?;
        answer.await.map_err(|_| Rejected::ShuttingDown)
    }

    /// The right to keep a connection open, while it is held.
    pub fn stream_permit(&self) -> Result<StreamPermit, Rejected> {
        let permit = Arc::clone(&self.0.streams)
            .try_acquire_owned()
            .map_err(|_| Rejected::TooManyStreams)?;
        let open = self.0.metrics.streams.clone();
        open.inc();
        Ok(StreamPermit {
            _permit: permit,
            open,
        })
    }

    fn ask(&self, ask: Ask) -> Result<(), Rejected> {
        self.0.queue.try_send(ask).map_err(|error| match error {
            TrySendError::Full(_) => Rejected::Busy,
            TrySendError::Disconnected(_) => Rejected::ShuttingDown,
        })
    }

    /// The log, to read.
    pub fn log(&self) -> &Arc<Log> {
        &self.0.log
    }

    /// When the clock must tick next.
    pub fn next_due(&self) -> watch::Receiver<Option<Instant>> {
        self.0.due.clone()
    }

    /// Changes whenever a waiter or a held request comes or goes.
    pub fn presence(&self) -> watch::Receiver<u64> {
        self.0.presence.subscribe()
    }

    /// What agents may do.
    pub fn rules(&self) -> Rules {
        self.0.rules
    }

    /// Signs and verifies leases.
    pub fn leases(&self) -> &LeaseKey {
        &self.0.leases
    }

    /// What is counted.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Ends streams and waits.
    pub fn shutdown(&self) -> &CancellationToken {
        &self.0.shutdown
    }

    /// Lets the writer finish what is queued and end.
    pub fn stop(&self) {
        // The queue is drained all the time: this blocks for a commit at most.
        let _ = self.0.queue.send(Ask::Stop);
    }
}
