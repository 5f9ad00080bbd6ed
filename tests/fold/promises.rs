//! Behaviour of the fold by example, one file per concept.

use std::collections::BTreeSet;

use hub_core::command::{AgentEvent, Command, Decision, IdempotencyKey, Refusal};
use hub_core::fold::{Inbox, Item, Session, State, Status};
use hub_core::notification::{Draft, tail_of};
use hub_core::record::Record;
use hub_core::record::TurnCause::{self, Agent, Person, Timeout, Wake};
use hub_core::rule::RuleSet;
use hub_protocol::{
    InboxName, Kind, Notification, Priority, ProjectName, Seq, SessionInfo, SessionState,
    Timestamp, Way,
};

mod acks;
mod agents;
mod answers;
mod caps;
mod collapse;
mod dialogs;
mod expiry;
mod formats;
mod forward;
mod hooks;
mod idempotency;
mod inboxes;
mod listeners;
mod phases;
mod preferences;
mod questions;
mod receipts;
mod registry;
mod retention;
mod routing;
mod rules;
mod seen;
mod sessions;
mod turns;

use agents::*;

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A fold with a stopped clock, which keeps its decided records.
struct Hub {
    state: State,
    now: Timestamp,
    log: Vec<Record>,
    leased: Vec<Seq>,
    rules: RuleSet,
}

impl Hub {
    fn new() -> Self {
        Self {
            state: State::default(),
            now: noon(),
            log: Vec::new(),
            leased: Vec::new(),
            rules: RuleSet::default(),
        }
    }

    /// Decides and applies a command; returns its records, or the refusal.
    fn ask(&mut self, command: &Command) -> Result<Vec<Record>, Refusal> {
        let leased = |_: &ProjectName, _: &InboxName, seq| self.leased.contains(&seq);
        let Decision::Records(records) =
            self.state.decide(command, self.now, &leased, &self.rules)?
        else {
            panic!("{command:?} was done before");
        };
        for record in &records {
            self.log.push(record.clone());
            self.state.apply(self.log.len() as Seq, record);
        }
        Ok(records)
    }

    fn run(&mut self, command: &Command) -> Vec<Record> {
        self.ask(command).expect("the fold refuses")
    }

    /// Returns a fold with one notification of `w1`, and its id.
    fn with(kind: Kind) -> (Self, Seq) {
        let mut hub = Self::new();
        let id = hub.say(said("w1", kind));
        (hub, id)
    }

    /// Publishes a notification; returns the records.
    fn post(&mut self, draft: Draft) -> Vec<Record> {
        self.run(&notify(vec![draft]))
    }

    /// Publishes a notification, which must lead to these.
    #[track_caller]
    fn posts(&mut self, draft: Draft, expected: &str) {
        tells(&self.post(draft), expected);
    }

    fn withdraw(&mut self, id: Seq) -> Vec<Record> {
        self.run(&Command::Withdraw { ids: vec![id] })
    }

    fn close(&mut self, inbox: &str) -> Result<Vec<Record>, Refusal> {
        let (project, inbox) = (project(), name(inbox));
        self.ask(&Command::CloseInbox { project, inbox })
    }

    fn withdraw_key(&mut self, from: Option<&str>, key: &str) -> Vec<Record> {
        self.run(&Command::WithdrawKey {
            project: project(),
            from: from.map(name),
            key: key.into(),
        })
    }

    /// Sets the clock, as the writer does.
    fn jump(&mut self, delta_ms: i64) {
        self.pass(delta_ms);
        self.run(&Command::ClockMoved { delta_ms });
    }

    /// Publishes a notification; returns its id.
    fn say(&mut self, draft: Draft) -> Seq {
        let id = self.state.head() + 1;
        self.run(&notify(vec![draft]));
        id
    }

    fn ack(&mut self, inbox: &str, ids: &[Seq]) -> Vec<Record> {
        self.run(&Command::Ack {
            shown: None,
            project: project(),
            items: vec![(name(inbox), ids.to_vec())],
            by: None,
        })
    }

    /// Ticks at the next deadline; returns the records.
    fn tick(&mut self) -> Vec<Record> {
        let due = self.state.next_deadline().expect("nothing is due");
        self.now = self.now.max(due);
        let records = self.run(&Command::Tick);
        let next = self.state.next_deadline();
        assert!(next.is_none_or(|next| next > self.now), "it ticks for ever");
        records
    }

    /// Restarts the hub from a snapshot.
    fn restart(&mut self) {
        let snapshot = serde_json::to_vec(&self.state).unwrap();
        let state: State = serde_json::from_slice(&snapshot).unwrap();
        assert_eq!(state, self.state);
        assert_eq!(state.next_deadline(), self.state.next_deadline());
        self.state = state;
    }

    fn pass(&mut self, ms: i64) {
        self.now = self.now.plus_millis(ms);
    }

    fn inbox(&self, inbox: &str) -> Option<&Inbox> {
        self.state.inboxes.get(&project(), &name(inbox))
    }

    fn items(&self, inbox: &str) -> Vec<&Item> {
        self.inbox(inbox)
            .into_iter()
            .flat_map(Inbox::pending)
            .collect()
    }

    /// Returns the pending ids of an inbox, in order.
    fn pending(&self, inbox: &str) -> Vec<Seq> {
        self.items(inbox).iter().map(|item| item.seq).collect()
    }

    /// Returns the inboxes of the default project with pending items: `name!` if the last item wakes.
    fn reached(&self) -> Vec<String> {
        let inboxes = self.state.inboxes.iter(None);
        inboxes
            .filter_map(|(_, name, inbox)| {
                let wakes = inbox.pending().last()?.wakes;
                Some(format!("{name}{}", if wakes { "!" } else { "" }))
            })
            .collect()
    }

    fn status(&self, id: Seq) -> Status {
        self.state.status(id, true)
    }

    /// Asserts the id of the session that is found under a name.
    #[track_caller]
    fn finds(&self, text: &str, id: Option<&str>) {
        let found = self.state.sessions.find(&project(), &name(text));
        let found = found.ok().map(|(_, key)| key.to_string());
        assert_eq!(found.as_deref(), id, "{text}");
    }

    fn primary(&self) -> Option<&str> {
        let primary = self.state.sessions.primary(&project());
        primary.map(InboxName::as_str)
    }

    fn session(&self, id: &str) -> &Session {
        let session = self.state.sessions.get(&project(), &name(id));
        session.expect("a session")
    }

    /// Returns when the next tick is due.
    fn due(&self) -> Option<Timestamp> {
        self.state.next_deadline()
    }

    /// Returns the id of an open question, counted from the oldest.
    fn open_question(&self, at: usize) -> Seq {
        let open: BTreeSet<Seq> = self.state.questions.open().map(|(id, _)| id).collect();
        *open.iter().nth(at).expect("an open question")
    }

    /// Publishes notifications; returns the records, or the refusal.
    fn try_notify(&mut self, drafts: Vec<Draft>) -> Result<Vec<Record>, Refusal> {
        self.ask(&notify(drafts))
    }

    /// Returns the stored JSON of a notification.
    fn json(&self, id: Seq) -> &str {
        let at = usize::try_from(id).unwrap() - 1;
        let Record::Notified(it) = &self.log[at] else {
            panic!("{id} is no notification");
        };
        std::str::from_utf8(&it.json).unwrap()
    }
}

fn noon() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

/// Returns a deadline after noon.
#[allow(clippy::unnecessary_wraps)] // a deadline is optional
fn after(ms: i64) -> Option<Timestamp> {
    Some(noon().plus_millis(ms))
}

fn name(text: &str) -> InboxName {
    text.parse().unwrap()
}

fn project() -> ProjectName {
    ProjectName::default()
}

fn notify(drafts: Vec<Draft>) -> Command {
    Command::Notify { drafts, once: None }
}

fn reset(history: bool) -> Command {
    let project = project();
    Command::Reset { project, history }
}

fn once(key: &str, digest: &str) -> IdempotencyKey {
    IdempotencyKey {
        key: key.into(),
        digest: digest.into(),
    }
}

/// Returns a draft of noon that expires after a week.
fn said(from: &str, kind: Kind) -> Draft {
    Draft::new(
        (&project(), &name(from)),
        kind,
        "hello".into(),
        noon(),
        7 * DAY,
    )
}

/// Returns a draft addressed to `to`.
fn sent(from: &str, to: &str) -> Draft {
    said(from, Kind::Message).to(to)
}

/// Changes of a draft.
trait Change: Sized {
    fn with(self, change: impl FnOnce(&mut Notification)) -> Self;

    /// Names no type, so that the draft's one is a default.
    fn implicit(self) -> Self;

    fn may_approve(self) -> Self;

    fn to(self, inbox: &str) -> Self {
        self.with(|it| it.to = Some(name(inbox)))
    }

    fn key(self, key: &str) -> Self {
        self.with(|it| it.key = Some(key.into()))
    }

    /// Reports the state of another session.
    fn about(self, session: &str) -> Self {
        self.with(|it| it.session = Some(name(session)))
    }

    fn parent(self, parent: &str) -> Self {
        self.with(|it| it.parent = Some(name(parent)))
    }

    fn reply_to(self, id: Seq) -> Self {
        self.with(|it| it.reply_to = Some(id))
    }

    fn project(self, project: &str) -> Self {
        self.with(|it| it.project = project.parse().unwrap())
    }

    fn priority(self, priority: Priority) -> Self {
        self.with(|it| it.priority = priority)
    }
}

impl Change for Draft {
    fn with(mut self, change: impl FnOnce(&mut Notification)) -> Self {
        change(&mut self.body);
        self
    }

    fn implicit(mut self) -> Self {
        self.explicit_kind = false;
        self
    }

    fn may_approve(mut self) -> Self {
        self.may_approve = true;
        self
    }
}
