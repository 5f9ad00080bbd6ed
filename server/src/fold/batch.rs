//! The records of one command. Later notifications of the command see the earlier ones, although the state does not
//! contain them yet.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hub_protocol::{
    InboxName, Kind, Notification, Priority, ProjectName, Seq, SessionState, Timestamp,
};
use serde_json::Value;

use super::hook::is_dialog_key;
use super::listener::{Pair, removed};
use super::notify::Stop;
use super::texts;
use super::{Leased, State};
use crate::core::command::{Draft, Refusal};
use crate::core::notification::tail_of;
use crate::core::record::{ListenerEnd, Notified, Record};

/// The time to live of the hub's own notifications, in milliseconds.
const TTL_MS: i64 = 7 * 24 * 3600 * 1000;

/// The most bytes of an agent's JSON that the hub passes on with its own text.
const MAX_DATA: usize = 16 * 1024;

/// The records of a command: notifications first, so that their numbers are known, then the records that follow from
/// them.
pub(super) struct Batch<'a> {
    pub(super) state: &'a State,
    pub(super) now: Timestamp,
    pub(super) leased: &'a Leased<'a>,
    pub(super) notified: Vec<Record>,
    pub(super) after: Vec<Record>,
    pub(super) opened: BTreeMap<ProjectName, BTreeSet<InboxName>>,
    pub(super) keyed: HashMap<Place, (Seq, Priority)>,
    pub(super) sessions: BTreeMap<(ProjectName, InboxName), SessionState>,
    /// Questions that this command settles.
    pub(super) answered: BTreeSet<Seq>,
    /// Questions that this command asks under a key.
    pub(super) asked: HashMap<(ProjectName, InboxName, String), Seq>,
    /// Listeners that this command uses up.
    fired: BTreeSet<Pair>,
}

/// The scope of a collapse key.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) project: ProjectName,
    pub(super) inbox: InboxName,
    pub(super) from: InboxName,
    pub(super) key: String,
}

/// A notification that the hub makes by itself, in its own name or in a session's.
pub(super) struct Said<'a> {
    pub(super) project: &'a ProjectName,
    pub(super) from: &'a InboxName,
    pub(super) to: Option<&'a InboxName>,
    pub(super) kind: Kind,
    pub(super) msg: String,
    pub(super) data: Option<Value>,
    pub(super) reply_to: Option<Seq>,
    pub(super) key: Option<&'a str>,
    pub(super) options: Vec<String>,
    /// Whether it changes the sender's state.
    pub(super) tells_state: bool,
    /// Why it wakes nobody and is delivered with the next item that does; `None` if it wakes.
    pub(super) rides_along: Option<&'static str>,
    /// Whether it is only recorded: it goes to no inbox.
    pub(super) recorded: bool,
}

impl<'a> Said<'a> {
    /// A notification in a session's name, with default properties.
    pub(super) fn of(
        (project, from): (&'a ProjectName, &'a InboxName),
        kind: Kind,
        msg: String,
    ) -> Self {
        Self {
            project,
            from,
            to: None,
            kind,
            msg,
            data: None,
            reply_to: None,
            key: None,
            options: Vec::new(),
            tells_state: true,
            rides_along: None,
            recorded: false,
        }
    }
}

impl<'a> Batch<'a> {
    pub(super) fn new(state: &'a State, now: Timestamp, leased: &'a Leased<'a>) -> Self {
        Self {
            state,
            now,
            leased,
            notified: Vec::new(),
            after: Vec::new(),
            opened: BTreeMap::new(),
            keyed: HashMap::new(),
            sessions: BTreeMap::new(),
            answered: BTreeSet::new(),
            asked: HashMap::new(),
            fired: BTreeSet::new(),
        }
    }

    /// Returns the number of the next notification.
    pub(super) fn next_id(&self) -> Seq {
        self.state.head + 1 + self.notified.len() as u64
    }

    /// Adds a record that follows from the notifications.
    pub(super) fn also(&mut self, record: Record) {
        self.after.push(record);
    }

    /// Adds a notification of the hub, and notifies the listeners if it is a stop.
    pub(super) fn say(&mut self, said: Said<'_>) -> Result<(), Refusal> {
        let stop = self.add(&self.draft(said))?;
        match stop {
            Some(stop) => self.tell_listeners(&stop),
            None => Ok(()),
        }
    }

    /// [`Batch::say`] for notifications that must not get lost: if its inboxes cannot be created, it is only recorded.
    pub(super) fn say_in_any_case(&mut self, said: Said<'_>) {
        let mut draft = self.draft(said);
        let stop = self.add(&draft).or_else(|_| {
            draft.recorded = true;
            self.add(&draft)
        });
        if let Ok(Some(stop)) = stop {
            // A caller whose inbox cannot be created is not notified.
            let _ = self.tell_listeners(&stop);
        }
    }

    fn draft(&self, mut said: Said<'_>) -> Draft {
        if let Some(why) = said.rides_along {
            said.data.get_or_insert_with(|| serde_json::json!({}))["rides_along"] = why.into();
        }
        let expires_at = self.now.plus_millis(TTL_MS);
        let notification = Notification {
            id: 0,
            ts: self.now,
            from: said.from.clone(),
            from_name: None,
            kind: said.kind,
            msg: said.msg,
            to: said.to.cloned(),
            project: said.project.clone(),
            priority: Priority::default(),
            title: None,
            data: said.data.map(bounded),
            session: None,
            parent: None,
            key: said.key.map(str::to_owned),
            reply_to: said.reply_to,
            expires_at,
            options: (!said.options.is_empty()).then_some(said.options),
            hops: 0,
            received: None,
        };
        Draft {
            tail: tail_of(&notification),
            project: notification.project,
            from: notification.from,
            kind: said.kind,
            explicit_kind: said.tells_state,
            to: notification.to,
            parent: None,
            session: None,
            priority: notification.priority,
            key: notification.key,
            reply_to: said.reply_to,
            may_approve: false,
            hops: 0,
            ts: self.now,
            expires_at,
            quiet: said.rides_along.is_some(),
            recorded: said.recorded,
        }
    }

    /// Notifies the listeners of a session that it stopped. A caller that receives the stop itself is woken by that
    /// notification, even if it would otherwise wake nobody.
    pub(super) fn tell_listeners(&mut self, stop: &Stop) -> Result<(), Refusal> {
        let state = self.state;
        for (pair, _) in state.listening(&stop.project, &stop.session) {
            if self.fired.contains(pair) {
                continue;
            }
            let caller = state.called(&stop.project, &pair.caller);
            if self.wake_by(stop.id, &state.inboxes_of(&stop.project, caller)) {
                self.fired.insert(pair.clone());
                self.also(removed(
                    pair,
                    ListenerEnd::Fired { cause: stop.id },
                    self.now,
                ));
            } else {
                self.fire(
                    pair,
                    stop.id,
                    stop.kind,
                    texts::msg_of(&stop.tail).as_deref(),
                )?;
            }
        }
        if stop.kind == Kind::Ended {
            self.orphan(&stop.project, &stop.session);
        }
        Ok(())
    }

    /// Makes a notification of this command wake the waiters of these inboxes. Returns whether it goes to any of them.
    fn wake_by(&mut self, id: Seq, inboxes: &[InboxName]) -> bool {
        let at = id.checked_sub(self.state.head + 1);
        let record = at.and_then(|at| self.notified.get_mut(usize::try_from(at).ok()?));
        let Some(Record::Notified(Notified { route, .. })) = record else {
            return false;
        };
        let targets = route.targets.iter_mut();
        let mut reached = false;
        for target in targets.filter(|it| inboxes.contains(&it.inbox)) {
            (target.wakes, reached) = (true, true);
        }
        reached
    }

    /// Removes the listeners of a caller that ended, each once.
    pub(super) fn orphan(&mut self, project: &ProjectName, caller: &InboxName) {
        let state = self.state;
        for pair in state.listened_by(project, caller) {
            if self.fired.insert(pair.clone()) {
                self.also(removed(pair, ListenerEnd::CallerEnded, self.now));
            }
        }
    }

    /// Whether this command uses up a listener.
    pub(super) fn has_fired(&self, pair: &Pair) -> bool {
        self.fired.contains(pair)
    }

    /// Uses up a listener and notifies its caller.
    pub(super) fn fire(
        &mut self,
        pair: &Pair,
        cause: Seq,
        kind: Kind,
        msg: Option<&str>,
    ) -> Result<(), Refusal> {
        self.fired.insert(pair.clone());
        self.also(removed(pair, ListenerEnd::Fired { cause }, self.now));
        let asks = matches!(kind, Kind::Question | Kind::Approval);
        let session = self.state.session(&pair.project, &pair.target);
        let answerable = (!self.is_dialog(cause)).then_some(cause);
        let said = Said {
            project: &pair.project,
            from: &pair.target,
            to: Some(&pair.caller),
            kind: if asks { Kind::Message } else { kind },
            msg: texts::stopped(&pair.target, session, kind, answerable, msg),
            data: Some(serde_json::json!({ "listener": true, "cause": cause })),
            reply_to: None,
            key: None,
            options: Vec::new(),
            tells_state: false,
            rides_along: None,
            recorded: false,
        };
        let draft = self.draft(said);
        self.add(&draft).map(drop)
    }

    /// Whether a question, possibly one of this command, is shown in a dialog that answers from the hub cannot reach.
    fn is_dialog(&self, id: Seq) -> bool {
        let new = self.asked.iter().find(|(_, asked)| **asked == id);
        let known = || self.state.question(id)?.key.as_deref();
        let key = new.map(|((_, _, key), _)| key.as_str()).or_else(known);
        key.is_some_and(is_dialog_key)
    }

    /// Returns the records in the order of their numbers.
    pub(super) fn finish(self) -> Vec<Record> {
        let mut records = self.notified;
        records.extend(self.after);
        records
    }
}

/// Replaces data that is too large for a notification by its size. An agent's own data may be as large as a request.
fn bounded(data: Value) -> Value {
    let size = data.to_string().len();
    if size <= MAX_DATA {
        return data;
    }
    serde_json::json!({ "cut": format!("{size} bytes") })
}
