//! The one thread that owns the fold and the journal.
//!
//! It drains what is queued, decides and applies each command (later ones see earlier ones), appends all records as
//! one commit, and only then answers and wakes. There is no timer: a batch forms while the last one is made durable.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use hub_protocol::{InboxName, InboxTouched, ProjectName};
use tokio::sync::{oneshot, watch};

use crate::clock::Now;
use crate::command::{Command, Decision};
use crate::hub::Rejected;
use crate::journal::{Entry, Health, JournalError};
use crate::log::{Event, Log};
use crate::metrics::Metrics;
use crate::presence::{Presence, WaitSpec};
use crate::record::{Notified, Record};
use crate::state::State;

mod ask;
mod wake;

pub use ask::{Ask, Done, Question};

/// Requests in one commit: enough to fill a sync, few enough to answer the first one soon.
const MAX_BATCH: usize = 1024;

/// Wall and monotonic clock are read one after the other: the same deadline differs by less than this.
const CLOCK_GRAIN: Duration = Duration::from_millis(1);

/// How long what has to be said waits for room on a full disk until it is tried again.
const FULL_RETRY: Duration = Duration::from_secs(1);

/// Folds the journal again.
pub type Reload = Box<dyn FnMut() -> Result<State, JournalError> + Send>;

/// A command that was decided, on its way to being durable.
struct Decided {
    reply: oneshot::Sender<Result<Done, Rejected>>,
    verdict: Result<Done, Rejected>,
    /// Its records among the commit's events.
    events: std::ops::Range<usize>,
    ticks: bool,
}

/// The writer thread's own.
pub struct Writer {
    state: State,
    presence: Presence,
    log: Arc<Log>,
    due: watch::Sender<Option<Instant>>,
    metrics: Arc<Metrics>,
    reload: Reload,
}

impl Writer {
    /// A writer for the journal behind `log`, of which `state` is the fold.
    pub fn new(
        state: State,
        presence: Presence,
        log: Arc<Log>,
        due: watch::Sender<Option<Instant>>,
        metrics: Arc<Metrics>,
        reload: Reload,
    ) -> Self {
        Self {
            state,
            presence,
            log,
            due,
            metrics,
            reload,
        }
    }

    /// Serves `asks` until told to stop, or until the storage fails.
    pub fn run(mut self, asks: &Receiver<Ask>) -> Result<(), JournalError> {
        let mut batch = Vec::new();
        self.announce_due(Now::read());
        while let Ok(first) = asks.recv() {
            batch.push(first);
            batch.extend(asks.try_iter().take(MAX_BATCH - 1));
            let stop = batch.iter().any(|ask| matches!(ask, Ask::Stop));
            self.process(batch.drain(..))?;
            if stop {
                break;
            }
        }
        self.log.journal().close()
    }

    fn process(&mut self, asks: impl Iterator<Item = Ask>) -> Result<(), JournalError> {
        let now = Now::read();
        let mut events = Vec::new();
        let mut decided = Vec::new();
        let mut later = Vec::new();
        for ask in asks {
            match ask {
                Ask::Command { command, reply } => {
                    decided.push(self.decide(&command, reply, &mut events, now));
                }
                ask => later.push(ask),
            }
        }
        match self.commit(&events) {
            Ok(()) => {
                self.log.publish(&events);
                for command in decided {
                    self.conclude(command, &events, now);
                }
            }
            Err(error) => self.reject(decided, error, now)?,
        }
        for ask in later {
            match ask {
                Ask::Wait { spec, reply } => {
                    let spec = self.placed(spec);
                    self.presence.arm(&self.state, spec, reply, now);
                }
                Ask::Take { spec, reply } => {
                    let spec = self.placed(spec);
                    let _ = reply.send(self.presence.take_aside(&self.state, &spec, now));
                }
                Ask::Query(question) => question(&self.state, &mut self.presence),
                Ask::Command { .. } | Ask::Stop => {}
            }
        }
        self.announce_due(now);
        self.storage_lives()
    }

    /// An error where the storage failed beside a commit: it is no use until the next start.
    fn storage_lives(&self) -> Result<(), JournalError> {
        match self.log.journal().health() {
            Health::Failed(reason) => Err(std::io::Error::other(reason).into()),
            _ => Ok(()),
        }
    }

    /// Names as the fold knows them: a session's own inboxes, and ids that are other names of a session.
    fn placed(&self, mut spec: WaitSpec) -> WaitSpec {
        spec.own = spec.inboxes.is_empty() && spec.session.is_some();
        if let Some(session) = spec.session.take_if(|_| spec.own) {
            let (project, key) = self.state.place(spec.project, session);
            (spec.project, spec.session) = (project, Some(key));
        }
        let called = |name: &InboxName| self.state.called(&spec.project, name).clone();
        let session = spec.session.as_ref().map(called);
        let mut inboxes: Vec<InboxName> = match (&session, spec.inboxes.is_empty()) {
            (Some(session), true) => self.state.inboxes_of(&spec.project, session),
            (None, true) => vec![InboxName::primary()],
            (_, false) => spec.inboxes.iter().map(called).collect(),
        };
        inboxes.sort();
        inboxes.dedup();
        (spec.session, spec.inboxes) = (session, inboxes);
        spec
    }

    /// Decides a command, takes its records into the fold and lines them up for the commit.
    fn decide(
        &mut self,
        command: &Command,
        reply: oneshot::Sender<Result<Done, Rejected>>,
        events: &mut Vec<Arc<Event>>,
        now: Now,
    ) -> Decided {
        if let Command::Hook(hook) = command {
            let (place, _) = self.state.place_of(hook);
            self.presence.company().note(place, now.wall);
        }
        let begin = events.len();
        let verdict = match self
            .admit(command)
            .and_then(|()| self.decision(command, now))
        {
            Ok(Decision::Records(records)) => {
                let mut done = Done::default();
                for record in records {
                    self.take_in(record, &mut done, events);
                }
                // What listeners are told is not what was asked for.
                if let Command::Notify { drafts, .. } = command {
                    done.ids.truncate(drafts.len());
                }
                Ok(done)
            }
            Ok(Decision::Repeat(ids)) => Ok(Done {
                ids,
                repeated: true,
                ..Done::default()
            }),
            Err(rejected) => Err(rejected),
        };
        Decided {
            reply,
            verdict,
            events: begin..events.len(),
            ticks: matches!(command, Command::Tick),
        }
    }

    /// Whether the storage takes this command. A full disk refuses what is new and takes what makes room.
    fn admit(&self, command: &Command) -> Result<(), Rejected> {
        match self.log.journal().health() {
            Health::Sound => Ok(()),
            Health::Full if !matches!(command, Command::Notify { .. }) => Ok(()),
            Health::Full => Err(Rejected::Full),
            Health::Corrupt { .. } | Health::Failed(_) => Err(Rejected::Storage),
        }
    }

    fn decision(&self, command: &Command, now: Now) -> Result<Decision, Rejected> {
        let leased = |project: &ProjectName, inbox: &InboxName, id| {
            self.presence.is_leased(project, inbox, id)
        };
        let decision = self.state.decide(command, now.wall, &leased)?;
        let new = !matches!(command, Command::Notify { .. }) && decision.speaks();
        if !new || !self.is_full() {
            return Ok(decision);
        }
        // The journal refuses commits that say something, and with them whatever else is in them.
        match command {
            Command::Tick => Ok(Decision::Records(self.state.expired(now.wall))),
            _ => Err(Rejected::Full),
        }
    }

    fn is_full(&self) -> bool {
        matches!(self.log.journal().health(), Health::Full)
    }

    fn take_in(&mut self, record: Record, done: &mut Done, events: &mut Vec<Arc<Event>>) {
        let seq = self.state.head() + 1;
        match &record {
            Record::Notified(notified) => {
                done.ids.push(seq);
                self.note_inboxes(notified, &mut done.inboxes);
            }
            Record::Settled(settled) => done.settled.extend(&settled.ids),
            _ => {}
        }
        let (kind, payload) = record.encode();
        self.state.apply(seq, &record);
        events.push(Arc::new(Event::new(Entry { seq, kind, payload }, record)));
    }

    /// Notes which inboxes a notification reaches, and which of them it makes.
    fn note_inboxes(&self, notified: &Notified, inboxes: &mut Vec<InboxTouched>) {
        let project = &notified.route.project;
        for target in &notified.route.targets {
            if inboxes.iter().any(|known| known.name == target.inbox) {
                continue;
            }
            let created = self.state.inbox(project, &target.inbox).is_none();
            inboxes.push(InboxTouched {
                name: target.inbox.clone(),
                created,
                waiter: self.presence.holder(project, &target.inbox).is_some(),
                nearest: created
                    .then(|| self.state.nearest_inbox(project, &target.inbox).cloned())
                    .flatten(),
            });
        }
    }

    fn commit(&self, events: &[Arc<Event>]) -> Result<(), JournalError> {
        if events.is_empty() {
            return Ok(());
        }
        let entries: Vec<Entry> = events.iter().map(|event| event.entry().clone()).collect();
        self.log.journal().append(&entries)?;
        self.metrics.commits.inc();
        self.metrics.records.inc_by(entries.len() as u64);
        Ok(())
    }

    /// Nothing of this commit is true: everybody is told, and the fold goes back to what is stored.
    fn reject(
        &mut self,
        decided: Vec<Decided>,
        error: JournalError,
        now: Now,
    ) -> Result<(), JournalError> {
        self.metrics.storage_errors.inc();
        tracing::error!(%error, "a commit could not be stored");
        let full = matches!(error, JournalError::Full);
        let ticks = decided.iter().any(|command| command.ticks);
        for command in decided {
            let rejected = if full {
                Rejected::Full
            } else {
                Rejected::Storage
            };
            let _ = command.reply.send(Err(rejected));
        }
        if !full {
            return Err(error);
        }
        // The numbers of this commit are given again. Nobody holds one: leases follow commits.
        self.state = (self.reload)()?;
        if ticks {
            // Waits and leases end also where nothing can be stored.
            self.presence.tick(&self.state, now);
        }
        Ok(())
    }

    /// A command is durable: wakes whom it concerns, and answers.
    fn conclude(&mut self, command: Decided, events: &[Arc<Event>], now: Now) {
        let mut verdict = command.verdict;
        if let Ok(done) = &mut verdict {
            let records = events[command.events]
                .iter()
                .filter_map(|event| Some((event.seq(), event.record()?)));
            for (seq, record) in records.clone() {
                done.woken += self.wake(seq, record, now);
            }
            done.hint = records.clone().find_map(|(_, record)| self.hint(record));
        }
        if command.ticks {
            self.presence.tick(&self.state, now);
        }
        let _ = command.reply.send(verdict);
    }

    /// Tells the clock when something is due next.
    fn announce_due(&self, now: Now) {
        let wall = self.state.next_deadline().map(|at| {
            let millis = at.as_millis().saturating_sub(now.wall.as_millis());
            let at = now.mono + Duration::from_millis(millis.try_into().unwrap_or(0));
            let later = now.mono + FULL_RETRY;
            if at < later && self.is_full() {
                later
            } else {
                at
            }
        });
        let next = [wall, self.presence.next_deadline()]
            .into_iter()
            .flatten()
            .min();
        // The clock is not woken for a later or an equal deadline: it looks again when the one it knows is over.
        self.due.send_if_modified(|due| {
            let sooner = match (*due, next) {
                (Some(due), _) if due <= now.mono => true,
                (Some(due), Some(next)) => next + CLOCK_GRAIN < due,
                (None, Some(_)) => true,
                (_, None) => false,
            };
            if sooner {
                *due = next;
            }
            sooner
        });
    }
}
