//! Listeners: a session is notified once of another session's next stop.

use std::collections::BTreeMap;

use hub_protocol::{InboxName, Kind, ProjectName, Seq, SessionState, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::deadlines::Deadlines;
use super::dialog::is_dialog_key;
use super::notification::SessionStop;
use super::session::Session;
use super::transaction::Transaction;
use super::{Leased, State, texts};
use crate::command::Refusal;
use crate::record::{ListenerEnd, ListenerRemoved, ListenerSet, Record};

/// The most open listeners.
const MAX_OPEN: usize = 1_000;
/// The most pairs whose last firing is remembered; the oldest is forgotten first.
const MAX_FIRED: usize = 10_000;

/// A listener's caller and the target session for whose stop it waits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Pair {
    pub(super) project: ProjectName,
    pub(super) target: InboxName,
    pub(super) caller: InboxName,
}

impl Pair {
    fn of(project: &ProjectName, target: &InboxName, caller: &InboxName) -> Self {
        Self {
            project: project.clone(),
            target: target.clone(),
            caller: caller.clone(),
        }
    }

    /// The pair of the sessions with these ids or names.
    pub(super) fn resolved(
        state: &State,
        project: &ProjectName,
        target: &InboxName,
        caller: &InboxName,
    ) -> Self {
        let id = |name| state.sessions.resolve(project, name);
        Self::of(project, id(target), id(caller))
    }
}

/// An open listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listener {
    /// When the listener was added.
    pub since: Timestamp,
    /// The deadline for a stop, after which the caller is notified of its absence.
    pub until: Option<Timestamp>,
}

impl Listener {
    fn within_ms(&self) -> Option<i64> {
        Some(self.until?.as_millis() - self.since.as_millis())
    }
}

/// Open listeners, and the stop that each pair was last notified of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Listeners {
    open: BTreeMap<Pair, Listener>,
    fired: BTreeMap<Pair, Seq>,
    due: Deadlines<Pair>,
}

#[derive(Serialize, Deserialize)]
struct StoredListeners {
    open: Vec<(Pair, Listener)>,
    fired: Vec<(Pair, Seq)>,
}

impl Listeners {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn note_set(&mut self, it: &ListenerSet) {
        let (since, until) = (it.at, it.until);
        let pair = Pair::of(&it.project, &it.target, &it.caller);
        self.insert(pair, Listener { since, until });
    }

    pub(super) fn note_removed(&mut self, it: &ListenerRemoved) {
        let pair = Pair::of(&it.project, &it.target, &it.caller);
        self.remove(&pair);
        if let ListenerEnd::Fired { cause } = it.why {
            self.note_fired(pair, cause);
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        self.due.next()
    }

    fn insert(&mut self, pair: Pair, listener: Listener) {
        self.remove(&pair);
        if let Some(until) = listener.until {
            self.due.insert(until, pair.clone());
        }
        self.open.insert(pair, listener);
    }

    fn remove(&mut self, pair: &Pair) {
        if let Some(until) = self.open.remove(pair).and_then(|it| it.until) {
            self.due.remove(until, pair.clone());
        }
    }

    fn note_fired(&mut self, pair: Pair, cause: Seq) {
        self.fired.insert(pair, cause);
        if self.fired.len() > MAX_FIRED {
            let oldest = self.fired.iter().min_by_key(|(_, seq)| **seq);
            if let Some(pair) = oldest.map(|(pair, _)| pair.clone()) {
                self.fired.remove(&pair);
            }
        }
    }

    pub(super) fn forget_all(&mut self, project: &ProjectName) {
        self.open.retain(|pair, _| pair.project != *project);
        self.fired.retain(|pair, _| pair.project != *project);
        self.due.retain(|pair| pair.project != *project);
    }

    pub(super) fn shift(&mut self, delta_ms: i64) {
        self.due.clear();
        for (pair, mut listener) in std::mem::take(&mut self.open) {
            listener.since = listener.since.plus_millis(delta_ms);
            listener.until = listener.until.map(|until| until.plus_millis(delta_ms));
            self.insert(pair, listener);
        }
    }
}

/// Whether a notification of this type means that its session stopped.
pub(super) fn is_stop(kind: Kind) -> bool {
    !matches!(kind, Kind::Progress | Kind::Message | Kind::Answer)
}

fn has_stopped(state: SessionState) -> bool {
    state != SessionState::Working
}

impl State {
    /// Returns the listeners for a session's stop, each with its caller.
    pub fn listeners<'a>(
        &'a self,
        project: &'a ProjectName,
        target: &'a InboxName,
    ) -> impl Iterator<Item = (&'a InboxName, &'a Listener)> {
        self.listening(project, target)
            .map(|(pair, listener)| (&pair.caller, listener))
    }

    /// Whether `caller` listens for a stop of `target`.
    pub fn listens(&self, project: &ProjectName, target: &InboxName, caller: &InboxName) -> bool {
        let caller = self.sessions.resolve(project, caller);
        let mut listeners = self.listeners(project, target);
        listeners.any(|(by, _)| self.sessions.resolve(project, by) == caller)
    }

    /// Returns the listeners for a session's stop under any of its names, because a listener may be older than the
    /// session.
    pub(super) fn listening<'a>(
        &'a self,
        project: &'a ProjectName,
        target: &'a InboxName,
    ) -> impl Iterator<Item = (&'a Pair, &'a Listener)> {
        let of = move |(pair, _): &(&Pair, &Listener)| {
            pair.project == *project && self.sessions.resolve(project, &pair.target) == target
        };
        self.listeners.open.iter().filter(of)
    }

    /// Returns the listeners that a session added under any of its names.
    pub(super) fn listened_by<'a>(
        &'a self,
        project: &'a ProjectName,
        caller: &'a InboxName,
    ) -> impl Iterator<Item = &'a Pair> {
        let of = move |pair: &&Pair| {
            pair.project == *project && self.sessions.resolve(project, &pair.caller) == caller
        };
        self.listeners.open.keys().filter(of)
    }

    /// Whether `made` means the sessions of `pair`, possibly by names from before they were registered.
    fn is_same(&self, made: &Pair, pair: &Pair) -> bool {
        made.project == pair.project
            && self.sessions.resolve(&made.project, &made.target) == &pair.target
            && self.sessions.resolve(&made.project, &made.caller) == &pair.caller
    }

    /// Returns the open listener of the same caller for the same session, under the names it was added with.
    fn same_listener(&self, pair: &Pair) -> Option<(&Pair, &Listener)> {
        let mut open = self.listeners.open.iter();
        open.find(|(made, _)| self.is_same(made, pair))
    }

    /// Returns the stop that a pair was last notified of.
    fn fired(&self, pair: &Pair) -> Option<Seq> {
        let fired = self.listeners.fired.iter();
        let fired = fired.filter(|(made, _)| self.is_same(made, pair));
        fired.map(|(_, cause)| *cause).max()
    }

    pub(super) fn decide_listen(
        &self,
        pair: &Pair,
        within_ms: Option<i64>,
        fresh: bool,
        now: Timestamp,
        leased: &Leased<'_>,
    ) -> Result<Vec<Record>, Refusal> {
        if pair.target == pair.caller {
            return Err(Refusal::OwnListener);
        }
        let target = self.sessions.get(&pair.project, &pair.target);
        if target.is_none() && within_ms.is_none() {
            return Err(self.sessions.unknown(&pair.project, &pair.target));
        }
        let until = within_ms.map(|within| now.plus_millis(within));
        if let Some((made, known)) = self.same_listener(pair) {
            let is_sooner = until.is_some_and(|at| known.until.is_none_or(|known| at < known));
            let record = is_sooner.then(|| set(made, until, now));
            return Ok(record.into_iter().collect());
        }
        let mut transaction = Transaction::new(self, now, leased);
        if self.listeners.open.len() >= MAX_OPEN {
            let spent = self.spent_listener();
            let spent = spent.ok_or(Refusal::TooManyListeners { cap: MAX_OPEN })?;
            transaction.give_up(spent);
        }
        let set = set(pair, until, now);
        let since = self.fired(pair).unwrap_or(0);
        let stopped = target
            .filter(|it| it.state.is_some_and(has_stopped) && !fresh)
            .map(|it| (it.last.unwrap_or(it.seq), it.state))
            .filter(|(cause, _)| *cause > since);
        let Some((cause, state)) = stopped else {
            transaction.also([set]);
            return Ok(transaction.finish());
        };
        let kind = match state {
            Some(SessionState::Blocked) if self.questions.demand_open(cause).is_ok() => {
                Kind::Question
            }
            Some(SessionState::Error) => Kind::Error,
            _ => Kind::Complete,
        };
        transaction.also([set]);
        transaction.fire(pair, cause, kind, None)?;
        Ok(transaction.finish())
    }

    /// Returns the oldest listener that no stop can reach any more: its target or its caller lives no longer, and it has no
    /// deadline.
    fn spent_listener(&self) -> Option<&Pair> {
        let is_over = |it: &Session| !it.is_alive();
        let is_spent = |pair: &Pair| {
            let target = self.sessions.with_name(&pair.project, &pair.target);
            let caller = self.sessions.with_name(&pair.project, &pair.caller);
            target.is_none_or(is_over) || caller.is_some_and(is_over)
        };
        let open = self.listeners.open.iter();
        let spent = open.filter(|(pair, it)| it.until.is_none() && is_spent(pair));
        let oldest = spent.min_by_key(|(_, it)| it.since);
        oldest.map(|(pair, _)| pair)
    }

    /// Returns the records that remove the listeners of a caller that ended.
    pub(super) fn listeners_ended_with(
        &self,
        (project, caller): (&ProjectName, &InboxName),
        at: Timestamp,
    ) -> Vec<Record> {
        let pairs = self.listened_by(project, caller);
        let records = pairs.map(|pair| removed(pair, ListenerEnd::CallerEnded, at));
        records.collect()
    }

    pub(super) fn decide_unlisten(&self, pair: &Pair, now: Timestamp) -> Vec<Record> {
        let open = self.same_listener(pair);
        let removed = open.map(|(it, _)| removed(it, ListenerEnd::Removed, now));
        removed.into_iter().collect()
    }
}

impl Transaction<'_> {
    /// Notifies the listeners of a session that it stopped. A caller that receives the stop itself is woken by that
    /// notification, even if it would otherwise wake no waiter.
    pub(super) fn notify_listeners(&mut self, stop: &SessionStop) -> Result<(), Refusal> {
        let state = self.state;
        for (pair, _) in state.listening(&stop.project, &stop.session) {
            if self.fired.contains(pair) {
                continue;
            }
            let caller = state.sessions.resolve(&stop.project, &pair.caller);
            if self.wake_by(stop.id, &state.sessions.inboxes_of(&stop.project, caller)) {
                self.remove_listener(pair, ListenerEnd::Fired { cause: stop.id });
            } else {
                self.fire(pair, stop.id, stop.kind, Some(&stop.msg))?;
            }
        }
        if stop.kind == Kind::Ended {
            self.remove_listeners_of(&stop.project, &stop.session);
        }
        Ok(())
    }

    /// Makes a notification of this command wake the waiters of these inboxes. Returns whether it goes to any of them.
    fn wake_by(&mut self, id: Seq, inboxes: &[InboxName]) -> bool {
        let targets = self.notified(id).map(|it| it.route.targets.iter_mut());
        let targets = targets.into_iter().flatten();
        let mut reached = false;
        for target in targets.filter(|it| inboxes.contains(&it.inbox)) {
            (target.wakes, reached) = (true, true);
        }
        reached
    }

    /// Removes the listeners of a caller that ended.
    pub(super) fn remove_listeners_of(&mut self, project: &ProjectName, caller: &InboxName) {
        for pair in self.state.listened_by(project, caller) {
            self.remove_listener(pair, ListenerEnd::CallerEnded);
        }
    }

    /// Removes a listener that will never fire, and notifies its caller if it lives.
    fn give_up(&mut self, pair: &Pair) {
        self.remove_listener(pair, ListenerEnd::Removed);
        let caller = self.state.sessions.with_name(&pair.project, &pair.caller);
        if caller.is_some_and(|it| !it.is_alive()) {
            return;
        }
        let session = self.state.sessions.get(&pair.project, &pair.target);
        let name = texts::name(&pair.target, session);
        let msg =
            format!("{name} is gone, and no stop of it came: nothing listens for it any more");
        let notice = self.notice(&pair.project, pair.caller.clone(), Kind::Error, msg);
        self.post_or_record(notice);
    }

    /// Removes a listener, once in this command.
    fn remove_listener(&mut self, pair: &Pair, why: ListenerEnd) {
        if self.fired.insert(pair.clone()) {
            self.also([removed(pair, why, self.now)]);
        }
    }

    /// Removes a listener and notifies its caller.
    fn fire(
        &mut self,
        pair: &Pair,
        cause: Seq,
        kind: Kind,
        msg: Option<&str>,
    ) -> Result<(), Refusal> {
        self.remove_listener(pair, ListenerEnd::Fired { cause });
        let asks = matches!(kind, Kind::Question | Kind::Approval);
        let session = self.state.sessions.get(&pair.project, &pair.target);
        let answerable = (!self.is_dialog(cause)).then_some(cause);
        let msg = texts::stopped(&pair.target, session, kind, answerable, msg);
        let kind = if asks { Kind::Message } else { kind };
        let mut draft = self.draft((&pair.project, &pair.target), kind, msg);
        draft.body.to = Some(pair.caller.clone());
        draft.body.data = Some(serde_json::json!({ "listener": true, "cause": cause }));
        draft.explicit_kind = false;
        self.add(&draft).map(drop)
    }

    /// Whether a question, possibly one of this command, is shown in a dialog that answers from the hub cannot reach.
    fn is_dialog(&self, id: Seq) -> bool {
        let new = self.asked.iter().find(|(_, asked)| **asked == id);
        let known = || self.state.questions.get(id)?.key.as_deref();
        let key = new.map(|((_, _, key), _)| key.as_str()).or_else(known);
        key.is_some_and(is_dialog_key)
    }

    /// Notifies the callers of the listeners whose deadline passed without a stop.
    pub(super) fn due_listeners(&mut self) {
        let (state, now) = (self.state, self.now);
        for pair in state.listeners.due.due(now) {
            // Another stop that is due in this tick has already notified this caller.
            if self.fired.contains(pair) {
                continue;
            }
            self.also([removed(pair, ListenerEnd::Late, now)]);
            let within = state.listeners.open.get(pair).and_then(Listener::within_ms);
            let within = texts::duration(within.unwrap_or(0));
            let session = state.sessions.get(&pair.project, &pair.target);
            let name = texts::name(&pair.target, session);
            let msg =
                format!("Expected {name} within {within}, nothing came. Look: hubctl look {name}");
            let late = self.notice(&pair.project, pair.caller.clone(), Kind::Error, msg);
            self.post_or_record(late);
        }
    }
}

fn set(pair: &Pair, until: Option<Timestamp>, at: Timestamp) -> Record {
    Record::ListenerSet(ListenerSet {
        project: pair.project.clone(),
        target: pair.target.clone(),
        caller: pair.caller.clone(),
        until,
        at,
    })
}

fn removed(pair: &Pair, why: ListenerEnd, at: Timestamp) -> Record {
    Record::ListenerRemoved(ListenerRemoved {
        project: pair.project.clone(),
        target: pair.target.clone(),
        caller: pair.caller.clone(),
        why,
        at,
    })
}

impl Serialize for Listeners {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = StoredListeners {
            open: self.open.clone().into_iter().collect(),
            fired: self.fired.clone().into_iter().collect(),
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Listeners {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = StoredListeners::deserialize(deserializer)?;
        let mut listeners = Self {
            fired: stored.fired.into_iter().collect(),
            ..Self::default()
        };
        for (pair, listener) in stored.open {
            listeners.insert(pair, listener);
        }
        Ok(listeners)
    }
}
