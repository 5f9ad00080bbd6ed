//! The writer: the one thread that owns the fold and the journal.
//!
//! It drains its queue, decides and applies each command (later ones see earlier ones), and appends all records as one
//! commit. Only then does it answer and wake. There is no timer: a batch forms while the previous one is made durable.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use hub_core::command::Command;
use hub_core::fold::State;
use hub_core::record::kinds;
use hub_core::rejected::Rejected;
use hub_core::rule::RuleSet;
use hub_core::time::Now;
use hub_core::waiters::{HeldTime, SharedWaiters};
use hub_log::journal::{Entry, Health, JournalError};
use hub_log::view::View;
use hub_log::{Event, Log};
use tokio::sync::{oneshot, watch};

use crate::metrics::Metrics;

mod ask;
mod decide;
mod follow;
mod jump;
mod wake;

pub use ask::{Ask, Done};

/// The most requests in one commit: enough to fill a sync, few enough to answer the first one soon.
const MAX_BATCH: usize = 1024;

/// The wall and the monotonic clock are read one after the other, so the same deadline differs by less than this.
const CLOCK_GRAIN: Duration = Duration::from_millis(1);

/// The delay before due notifications are tried again while the disk is full.
const FULL_RETRY: Duration = Duration::from_secs(1);

/// The sender that carries the answer to a command.
type DoneSender = oneshot::Sender<Result<Done, Rejected>>;
/// A command and the sender for its answer.
type QueuedCommand = (Command, DoneSender);

/// A decided command that is not durable yet.
struct Decided {
    command: Command,
    reply: DoneSender,
    verdict: Result<Done, Rejected>,
    /// The range of its records among the commit's events.
    events: std::ops::Range<usize>,
    ticks: bool,
}

impl Decided {
    /// Whether it stores notifications, which a full disk refuses.
    fn speaks(&self, events: &[Arc<Event>]) -> bool {
        let mut events = events[self.events.clone()].iter();
        events.any(|event| event.kind() == kinds::NOTIFIED)
    }
}

/// The state of the writer thread.
pub struct Writer {
    state: State,
    waiters: SharedWaiters,
    log: Arc<Log>,
    due: watch::Sender<Option<Instant>>,
    metrics: Arc<Metrics>,
    view: Arc<View>,
    rules: Arc<RuleSet>,
    /// Whether this hub became the active one of a cluster.
    leads: bool,
    jumps: jump::JumpWatch,
}

impl Writer {
    /// A writer for the journal behind `view`, which has followed it to its end. It decides by `rules`.
    pub fn new(
        view: Arc<View>,
        waiters: SharedWaiters,
        due: watch::Sender<Option<Instant>>,
        metrics: Arc<Metrics>,
        rules: Arc<RuleSet>,
    ) -> Self {
        Self {
            state: view.copy(),
            waiters,
            log: Arc::clone(view.log()),
            due,
            metrics,
            view,
            rules,
            leads: false,
            jumps: jump::JumpWatch::default(),
        }
    }

    /// Serves `asks` until [`Ask::Stop`] arrives or the storage fails.
    pub fn run(mut self, asks: &Receiver<Ask>) -> Result<(), JournalError> {
        let mut batch = Vec::new();
        self.announce_due(Now::read());
        while let Ok(first) = asks.recv() {
            batch.push(first);
            batch.extend(asks.try_iter().take(MAX_BATCH - 1));
            let stop = batch.iter().any(|ask| matches!(ask, Ask::Stop));
            self.step(batch.drain(..), Now::read())?;
            if stop {
                break;
            }
        }
        self.log.journal().close()
    }

    /// Carries out `asks` as of `now`: all of their commands, then the rest. Fails if the storage failed; then the writer is
    /// of no more use.
    pub fn step(&mut self, asks: impl Iterator<Item = Ask>, now: Now) -> Result<(), JournalError> {
        let now = self.record_jump(now)?;
        let mut commands = Vec::new();
        let mut later = Vec::new();
        for ask in asks {
            match ask {
                Ask::Command { command, reply } => commands.push((command, reply)),
                ask => later.push(ask),
            }
        }
        self.carry_out(commands, now)?;
        for ask in later {
            match ask {
                // Dropping the reply refuses the request.
                Ask::Wait { .. } | Ask::Take { .. } if self.stands_by() => {}
                Ask::Wait { spec, reply } => {
                    let spec = self.resolved(*spec);
                    self.waiters.write().arm(&self.state, spec, reply, now);
                }
                Ask::Take { spec, reply } => {
                    let spec = self.resolved(*spec);
                    let _ = reply.send(self.waiters.write().take_aside(&self.state, &spec, now));
                }
                Ask::GiveBack { claim, done } => {
                    let reader = (&claim.project, claim.by.as_deref());
                    let mut waiters = self.waiters.write();
                    waiters.give_back(&self.state, reader, &claim.items, now);
                    let _ = done.send(());
                }
                Ask::Lead { command, reply } => self.lead(command, reply, now)?,
                Ask::StepDown(done) => {
                    self.step_down(now);
                    let _ = done.send(());
                }
                Ask::Follow { commits, done } => drop(done.send(self.follow(&commits, now))),
                Ask::Ping(answer) => drop(answer.send(())),
                Ask::Command { .. } | Ask::Stop => {}
            }
        }
        self.announce_due(now);
        self.storage_lives()
    }

    /// Decides commands and makes them durable, as one commit unless the journal limits its size.
    fn carry_out(&mut self, commands: Vec<QueuedCommand>, now: Now) -> Result<(), JournalError> {
        let mut commands = commands.into_iter();
        while !commands.as_slice().is_empty() {
            self.carry_out_some(&mut commands, now)?;
        }
        Ok(())
    }

    /// Carries out as many commands as fit in a commit. If the disk is too full for it, those with notifications are refused; if
    /// there are none, those with records. The others are carried out again.
    fn carry_out_some(
        &mut self,
        commands: &mut std::vec::IntoIter<QueuedCommand>,
        now: Now,
    ) -> Result<(), JournalError> {
        let mut room = self.log.journal().commit_bytes();
        let mut events = Vec::new();
        let mut decided = Vec::new();
        for (command, reply) in commands {
            let command = self.decide(command, reply, &mut events, now);
            let added = events[command.events.clone()].iter();
            let bytes: usize = added.map(|event| event.entry().payload.len()).sum();
            decided.push(command);
            room = room.saturating_sub(bytes);
            if room == 0 {
                break;
            }
        }
        match self.commit(&events) {
            Ok(()) => {
                self.publish(&mut decided, &events);
                let conclude = |command| self.conclude(command, &events, now);
                // Freed after the last answer, because the next publisher would wait for it.
                drop(decided.into_iter().map(conclude).collect::<Vec<Command>>());
                Ok(())
            }
            Err(JournalError::Full) => {
                let speaks = |command: &Decided| command.speaks(&events);
                let is_loud = decided.iter().any(speaks);
                let stores = |command: &Decided| !command.events.is_empty();
                let (refused, rest): (Vec<_>, Vec<_>) = decided.into_iter().partition(if is_loud {
                    &speaks as &dyn Fn(&_) -> _
                } else {
                    &stores
                });
                self.reject(refused, JournalError::Full, now)?;
                if rest.is_empty() {
                    return Ok(());
                }
                let rest = rest.into_iter().map(|it| (it.command, it.reply));
                self.carry_out(rest.collect(), now)
            }
            Err(error) => self.reject(decided, error, now),
        }
    }

    /// Fails if the storage failed outside of a commit, because it cannot be used until the next start.
    fn storage_lives(&self) -> Result<(), JournalError> {
        match self.log.journal().health() {
            Health::Failed(reason) => Err(std::io::Error::other(reason).into()),
            _ => Ok(()),
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

    /// Discards a failed commit: rejects its commands, and takes the fold of the stored records, which readers have.
    fn reject(
        &mut self,
        decided: Vec<Decided>,
        error: JournalError,
        now: Now,
    ) -> Result<(), JournalError> {
        self.metrics.storage_errors.inc();
        tracing::error!(%error, "a commit could not be stored");
        let full = matches!(error, JournalError::Full);
        let outrun = matches!(error, JournalError::Deposed | JournalError::Unsettled);
        let ticks = decided.iter().any(|command| command.ticks);
        for command in decided {
            let rejected = match error {
                JournalError::Full => Rejected::Full,
                _ if outrun => Rejected::NoActiveHub,
                _ => Rejected::Storage,
            };
            let _ = command.reply.send(Err(rejected));
        }
        if !full && !outrun {
            return Err(error);
        }
        // The numbers of this commit are reused. No reader has one of them, because leases follow commits.
        self.state = self.view.read(State::clone)?;
        if outrun {
            self.step_down(now);
        } else if ticks {
            // Waits and leases must end on time even if nothing can be stored.
            self.waiters.write().tick(&self.state, now);
        }
        Ok(())
    }

    /// Wakes the waiters that a durable command concerns, and answers the command, which it returns.
    fn conclude(&mut self, command: Decided, events: &[Arc<Event>], now: Now) -> Command {
        let mut verdict = command.verdict;
        // It rests on what the fold knew, and no commit proves that the fold knew the end of the log.
        if command.events.is_empty() && self.stands_by() {
            verdict = Err(Rejected::NoActiveHub);
        }
        if let Ok(done) = &mut verdict {
            let records = events[command.events]
                .iter()
                .filter_map(|event| Some((event.seq(), event.record()?)));
            for (seq, record) in records.clone() {
                done.woken += self.wake(seq, record, now);
            }
            done.hint = records
                .clone()
                .find_map(|(seq, record)| self.hint(seq, record, now));
        }
        if command.ticks && !self.stands_by() {
            self.waiters.write().tick(&self.state, now);
        }
        let _ = command.reply.send(verdict);
        command.command
    }

    /// Publishes stored events, and holds the requests of the hooks that asked in them, in one step for every reader: none
    /// finds a question that waits only at its terminal, or a held request without its question.
    fn publish(&self, decided: &mut [Decided], events: &[Arc<Event>]) {
        let mut locked = None;
        for Decided {
            command, verdict, ..
        } in decided
        {
            if let (Command::Hook(hook), Ok(done)) = (command, verdict)
                && let (Some(held), Some(id)) = (&hook.held, done.ids.first())
                && let Some(question) = self.state.questions.get(*id)
            {
                let waiters = locked.get_or_insert_with(|| self.waiters.write());
                // A hook that asks again, at the next hub, gets no more time.
                let time = HeldTime {
                    until: question.ts.plus_millis(held.within_ms),
                    delays: held.delays,
                };
                done.held = Some(waiters.hold(*id, time));
            }
        }
        self.log.publish(events);
    }

    /// Informs the clock of the next deadline.
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
        let next = [wall, self.waiters.read().next_deadline()]
            .into_iter()
            .flatten()
            .min();
        // The clock is not woken for a later or equal deadline, because it checks again at the one it knows.
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

#[cfg(test)]
mod tests;
