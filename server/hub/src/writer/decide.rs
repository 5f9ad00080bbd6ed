//! Decides commands: the fold's verdict, the state of the disk, and what only the waiters know.

use std::sync::Arc;

use hub_core::command::{Command, Decision, Refusal};
use hub_core::record::{Notified, Record};
use hub_core::rejected::Rejected;
use hub_core::time::Now;
use hub_core::waiters::WaitSpec;
use hub_log::Event;
use hub_log::journal::{Entry, Health};
use hub_protocol::{InboxName, InboxTouched, Kind, ProjectName};

use super::{Decided, Done, DoneSender, Writer};

impl Writer {
    /// Resolves the names in a wait: to a session's own inboxes, and from other names to a session's first id. The wait
    /// keeps the session that a name meant at this time, even if another session takes the name later.
    pub(super) fn resolved(&self, mut spec: WaitSpec) -> WaitSpec {
        spec.own = spec.inboxes.is_empty() && spec.session.is_some();
        if let Some(session) = spec.session.take_if(|_| spec.own) {
            let (project, key) = self.state.sessions.resolve_key(spec.project, session);
            (spec.project, spec.session) = (project, Some(key));
        }
        let project = spec.project.clone();
        let called = |name: &InboxName| self.state.sessions.resolve(&project, name).clone();
        let session = spec.session.as_ref().map(called);
        let mut inboxes: Vec<InboxName> = match (&session, spec.inboxes.is_empty()) {
            (Some(session), true) => self.state.sessions.inboxes_of(&spec.project, session),
            (None, true) => vec![InboxName::primary()],
            (_, false) => spec.inboxes.iter().map(called).collect(),
        };
        inboxes.sort();
        inboxes.dedup();
        if let Some(barrier) = &mut spec.barrier {
            let names = barrier.all.iter_mut().chain(&mut barrier.any);
            names.for_each(|name| *name = called(name));
        }
        (spec.session, spec.inboxes) = (session, inboxes);
        spec
    }

    /// Decides a command, applies its records to the fold and queues them for the commit.
    pub(super) fn decide(
        &mut self,
        command: Command,
        reply: DoneSender,
        events: &mut Vec<Arc<Event>>,
        now: Now,
    ) -> Decided {
        if let Command::Hook(hook) = &command {
            let (place, _) = self.state.sessions.key_of_hook(hook);
            self.waiters.write().activity().note(place, now.wall);
        }
        let begin = events.len();
        let verdict = match self.admit().and_then(|()| self.decision(&command, now)) {
            Ok(Decision::Records(records)) => {
                let mut done = Done {
                    existed: self.existed(&command),
                    ..Done::default()
                };
                for record in records {
                    self.take_in(record, &mut done, events);
                }
                // Only the drafts' own numbers are returned, not those of notifications to listeners.
                if let Command::Notify { drafts, .. } = &command {
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
            command,
        }
    }

    /// Whether the session or the listener that a command is about exists.
    fn existed(&self, command: &Command) -> bool {
        match command {
            Command::Register {
                project,
                session,
                runs,
                ..
            } => {
                let sessions = &self.state.sessions;
                let key = sessions.registered_as(project, session, *runs);
                sessions.get(project, key).is_some()
            }
            Command::Listen {
                project,
                target,
                caller,
                ..
            }
            | Command::Unlisten {
                project,
                target,
                caller,
            } => self.state.listens(project, target, caller),
            Command::Notify { .. }
            | Command::Ack { .. }
            | Command::Undelivered { .. }
            | Command::Withdraw { .. }
            | Command::WithdrawKey { .. }
            | Command::Seen { .. }
            | Command::SetPreferences(_)
            | Command::CloseInbox { .. }
            | Command::Reset { .. }
            | Command::Trim { .. }
            | Command::End { .. }
            | Command::TakePrimary { .. }
            | Command::CloseNeed { .. }
            | Command::Resume { .. }
            | Command::Hook(_)
            | Command::Claim { .. }
            | Command::WithdrawQuestion { .. }
            | Command::NoteAnswer { .. }
            | Command::Forwarded { .. }
            | Command::Tick
            | Command::ClockMoved { .. }
            | Command::Rule(_)
            | Command::Lead { .. } => false,
        }
    }

    /// Whether the storage accepts commands.
    fn admit(&self) -> Result<(), Rejected> {
        match self.log.journal().health() {
            Health::Sound | Health::Full => Ok(()),
            Health::Standby => Err(Rejected::NoActiveHub),
            Health::Corrupt { .. } | Health::Failed(_) => Err(Rejected::Storage),
        }
    }

    fn decision(&self, command: &Command, now: Now) -> Result<Decision, Rejected> {
        let leased = |project: &ProjectName, inbox: &InboxName, id| {
            self.waiters.read().is_leased(project, inbox, id)
        };
        let decision = self.state.decide(command, now.wall, &leased, &self.rules)?;
        self.reaches(command, &decision)?;
        // A full disk refuses what stores notifications; what frees space passes, and what was stored before is found.
        if !decision.has_notifications() || !self.is_full() {
            return Ok(decision);
        }
        // The rest of a tick must be stored, because it frees space.
        if matches!(command, Command::Tick) {
            return Ok(Decision::Records(self.state.expired(now.wall)));
        }
        Err(Rejected::Full)
    }

    /// Refuses an answer that the fold would accept but that cannot reach the dialog in the agent's own terminal.
    fn reaches(&self, command: &Command, decision: &Decision) -> Result<(), Refusal> {
        let (Command::Notify { drafts, .. }, Decision::Records(_)) = (command, decision) else {
            return Ok(());
        };
        let mut answers = drafts.iter().filter(|it| it.body.kind == Kind::Answer);
        let is_held = |id| self.waiters.read().is_held(id);
        let refused = answers.find_map(|it| self.state.undeliverable(it, is_held));
        refused.map_or(Ok(()), Err)
    }

    pub(super) fn is_full(&self) -> bool {
        matches!(self.log.journal().health(), Health::Full)
    }

    fn take_in(&mut self, record: Record, done: &mut Done, events: &mut Vec<Arc<Event>>) {
        let seq = self.state.head() + 1;
        if let Record::Notified(notified) = &record {
            done.ids.push(seq);
            self.note_inboxes(notified, &mut done.inboxes);
        } else if let Record::Settled(settled) = &record {
            done.settled.extend(&settled.ids);
        } else if let Record::Seen(_) = &record {
            done.marked = Some(seq);
        }
        let (kind, payload) = record.encode();
        self.state.apply(seq, &record);
        events.push(Arc::new(Event::new(Entry { seq, kind, payload }, record)));
    }

    /// Notes the inboxes that a notification reaches, and which of them it creates.
    fn note_inboxes(&self, notified: &Notified, inboxes: &mut Vec<InboxTouched>) {
        let project = &notified.route.project;
        for target in &notified.route.targets {
            if inboxes.iter().any(|known| known.name == target.inbox) {
                continue;
            }
            let created = self.state.inboxes.get(project, &target.inbox).is_none();
            let session = self.state.sessions.get(project, &target.inbox);
            let name = self.state.sessions.other_name(project, &target.inbox);
            inboxes.push(InboxTouched {
                name: target.inbox.clone(),
                created,
                waiter: self.waiters.read().holder(project, &target.inbox).is_some(),
                nearest: created
                    .then(|| self.state.nearest_inbox(project, &target.inbox))
                    .flatten(),
                session: name.map(str::to_owned),
                over: session.is_some_and(|it| !it.is_alive()),
            });
        }
    }
}
