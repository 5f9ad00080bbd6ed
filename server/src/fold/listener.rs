//! Listeners: a session is notified once of another session's next stop.

use std::collections::{BTreeMap, BTreeSet};

use hub_protocol::{InboxName, Kind, ProjectName, Seq, SessionState, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::batch::Batch;
use super::{Leased, State};
use crate::core::command::Refusal;
use crate::core::record::{ListenerEnd, ListenerRemoved, ListenerSet, Record};

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
    /// The pair of the sessions with these ids or names.
    pub(super) fn new(
        state: &State,
        project: &ProjectName,
        target: &InboxName,
        caller: &InboxName,
    ) -> Self {
        Self {
            project: project.clone(),
            target: state.called(project, target).clone(),
            caller: state.called(project, caller).clone(),
        }
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

/// Open listeners, and the stop that each pair was last notified of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Listeners {
    open: BTreeMap<Pair, Listener>,
    fired: BTreeMap<Pair, Seq>,
    due: BTreeSet<(Timestamp, Pair)>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    open: Vec<(Pair, Listener)>,
    fired: Vec<(Pair, Seq)>,
}

impl Listeners {
    pub(super) fn get(&self, pair: &Pair) -> Option<&Listener> {
        self.open.get(pair)
    }

    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    fn insert(&mut self, pair: Pair, listener: Listener) {
        self.remove(&pair);
        if let Some(until) = listener.until {
            self.due.insert((until, pair.clone()));
        }
        self.open.insert(pair, listener);
    }

    fn remove(&mut self, pair: &Pair) {
        if let Some(Listener {
            until: Some(until), ..
        }) = self.open.remove(pair)
        {
            self.due.remove(&(until, pair.clone()));
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
        self.due.retain(|(_, pair)| pair.project != *project);
    }

    pub(super) fn shift(&mut self, delta_ms: i64) {
        for (pair, mut listener) in std::mem::take(&mut self.open) {
            listener.since = listener.since.plus_millis(delta_ms);
            listener.until = listener.until.map(|until| until.plus_millis(delta_ms));
            self.open.insert(pair, listener);
        }
        let due = |(pair, it): (&Pair, &Listener)| Some((it.until?, pair.clone()));
        self.due = self.open.iter().filter_map(due).collect();
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
    /// Whether there are open listeners.
    pub(super) fn somebody_listens(&self) -> bool {
        !self.listeners.open.is_empty()
    }

    /// Returns the listeners for a session's stop, each with its caller.
    pub fn listeners<'a>(
        &'a self,
        project: &'a ProjectName,
        target: &'a InboxName,
    ) -> impl Iterator<Item = (&'a InboxName, &'a Listener)> {
        self.listening(project, target)
            .map(|(pair, listener)| (&pair.caller, listener))
    }

    /// Returns the listeners for a session's stop under any of its names, because a listener may be older than the
    /// session.
    pub(super) fn listening<'a>(
        &'a self,
        project: &'a ProjectName,
        target: &'a InboxName,
    ) -> impl Iterator<Item = (&'a Pair, &'a Listener)> {
        let of = move |(pair, _): &(&Pair, &Listener)| {
            pair.project == *project && self.called(project, &pair.target) == target
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
            pair.project == *project && self.called(project, &pair.caller) == caller
        };
        self.listeners.open.keys().filter(of)
    }

    /// Whether `made` means the sessions of `pair`, possibly by names from before they were registered.
    fn is_same(&self, made: &Pair, pair: &Pair) -> bool {
        made.project == pair.project
            && self.called(&made.project, &made.target) == &pair.target
            && self.called(&made.project, &made.caller) == &pair.caller
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
        let target = self.session(&pair.project, &pair.target);
        if target.is_none() && within_ms.is_none() {
            return Err(self.unknown_session(&pair.project, &pair.target));
        }
        let until = within_ms.map(|within| now.plus_millis(within));
        if let Some((made, known)) = self.same_listener(pair) {
            let is_sooner = until.is_some_and(|at| known.until.is_none_or(|known| at < known));
            return Ok(is_sooner
                .then(|| set(made, until, now))
                .into_iter()
                .collect());
        }
        if self.listeners.open.len() >= MAX_OPEN {
            return Err(Refusal::TooManyListeners { cap: MAX_OPEN });
        }
        let set = set(pair, until, now);
        let since = self.fired(pair).unwrap_or(0);
        let stopped = target
            .filter(|it| it.state.is_some_and(has_stopped) && !fresh)
            .map(|it| (it.last.unwrap_or(it.seq), it.state))
            .filter(|(cause, _)| *cause > since);
        let Some((cause, state)) = stopped else {
            return Ok(vec![set]);
        };
        let kind = match state {
            Some(SessionState::Blocked) if self.open_question(cause).is_ok() => Kind::Question,
            Some(SessionState::Error) => Kind::Error,
            _ => Kind::Complete,
        };
        let mut batch = Batch::new(self, now, leased);
        batch.also(set);
        batch.fire(pair, cause, kind, None)?;
        Ok(batch.finish())
    }

    pub(super) fn decide_unlisten(&self, pair: &Pair, now: Timestamp) -> Vec<Record> {
        let open = self.same_listener(pair);
        let removed = open.map(|(it, _)| removed(it, ListenerEnd::Removed, now));
        removed.into_iter().collect()
    }

    /// Returns the listeners whose deadline passed without a stop.
    pub(super) fn late(&self, now: Timestamp) -> impl Iterator<Item = (&Pair, &Listener)> {
        let due = self
            .listeners
            .due
            .iter()
            .take_while(move |(at, _)| *at <= now);
        due.filter_map(|(_, pair)| Some((pair, self.listeners.get(pair)?)))
    }

    pub(super) fn apply_listener_set(&mut self, it: &ListenerSet) {
        let pair = Pair {
            project: it.project.clone(),
            target: it.target.clone(),
            caller: it.caller.clone(),
        };
        let (since, until) = (it.at, it.until);
        self.listeners.insert(pair, Listener { since, until });
    }

    pub(super) fn apply_listener_removed(&mut self, it: &ListenerRemoved) {
        let pair = Pair {
            project: it.project.clone(),
            target: it.target.clone(),
            caller: it.caller.clone(),
        };
        self.listeners.remove(&pair);
        if let ListenerEnd::Fired { cause } = it.why {
            self.listeners.note_fired(pair, cause);
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

pub(super) fn removed(pair: &Pair, why: ListenerEnd, at: Timestamp) -> Record {
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
        let stored = Stored {
            open: self.open.clone().into_iter().collect(),
            fired: self.fired.clone().into_iter().collect(),
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Listeners {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
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
