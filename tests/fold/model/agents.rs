//! Agents' sessions of the naive model: their turns by their hooks, and the items shown to them.

use hub_core::command::AgentEvent;
use hub_core::notification::Draft;
use hub_core::record::TurnCause;
use hub_protocol::{InboxName, Kind, PhaseName, ProjectName, Seq, SessionState, Timestamp, Way};

use super::listeners::hub_says;
use super::{DAY_MS, Model, Place};

const PROOF_MS: i64 = 60 * 1000;

pub(crate) type Key = (ProjectName, InboxName);

#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools)] // independent facts of the model
pub(crate) struct Session {
    pub(crate) state: Option<SessionState>,
    /// The number of the record with the session's state.
    pub(crate) seq: Seq,
    /// The id of its last notification.
    pub(crate) last: Option<Seq>,
    pub(crate) over: Option<Timestamp>,
    /// Whether the hub has received its hooks, so that the session is registered.
    hooks: bool,
    by: TurnCause,
    signalled: bool,
    stopped: bool,
    /// The state before the turn.
    before: Option<SessionState>,
    /// Whether the person has replied since it reported its state.
    replied: bool,
}

impl Session {
    pub(super) fn proves(&self) -> bool {
        self.hooks && self.over.is_none()
    }

    fn works(&self) -> bool {
        self.state == Some(SessionState::Working)
    }

    fn waits_for_prompt(&self) -> bool {
        let failed = self.state == Some(SessionState::Error);
        self.state.is_some() && !failed && !self.works()
    }

    fn begin(&mut self, by: TurnCause) {
        let before = self.state.filter(|_| !self.works()).or(self.before);
        (self.by, self.before) = (by, before);
        (self.signalled, self.stopped, self.replied) = (false, false, false);
        self.state = Some(SessionState::Working);
    }
}

impl Place {
    /// Returns the deadline of this item's proof, and the deadline after which the person is notified.
    fn overdue(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let after = |at: Timestamp| at.plus_millis(PROOF_MS);
        match self.emitted.filter(|_| self.pending) {
            Some((at, _)) => (Some(after(at)), None),
            None => (None, self.returned.filter(|_| self.pending).map(after)),
        }
    }
}

impl Model {
    pub(super) fn change_session(&mut self, id: Seq, draft: &Draft, places: &[Place]) {
        let body = &draft.body;
        let session = draft.body.session.clone().unwrap_or(body.from.clone());
        if let Some(state) = body.kind.session_state()
            && draft.explicit_kind
            && session.as_str() != "unknown"
        {
            // A note that only the session itself reads reports no state.
            let is_own = !places.is_empty() && places.iter().all(|it| it.inbox == session);
            if is_own && !session.is_reserved() {
                return;
            }
            let key = (body.project.clone(), session);
            let it = self.sessions.entry(key).or_default();
            (it.state, it.seq, it.last) = (Some(state), id, Some(id));
            it.signalled = state != SessionState::Working;
            it.replied = false;
            it.over = (state == SessionState::Ended).then_some(body.ts);
        }
    }

    /// The person has written to the sessions of these inboxes.
    pub(super) fn reply(&mut self, project: &ProjectName, places: &[Place]) {
        for place in places {
            let key = (project.clone(), place.inbox.clone());
            if let Some(session) = self.sessions.get_mut(&key) {
                session.replied |= session.over.is_none() && session.waits_for_prompt();
            }
        }
    }

    /// Applies a hook event; returns whether its last record contains the session's state. `id` is the id of its
    /// notification.
    pub(crate) fn hook(
        &mut self,
        id: Seq,
        key: &Key,
        happened: &AgentEvent,
        watched: bool,
        now: Timestamp,
    ) -> bool {
        let known = self.sessions.get(key).cloned();
        let ends = *happened == AgentEvent::Ended;
        let begins = matches!(happened, AgentEvent::Started | AgentEvent::Prompt { .. });
        let is_late = |it: &Session| it.over.is_some() && !begins;
        if known.as_ref().map_or(ends, is_late) {
            return false;
        }
        let live = known.as_ref().is_some_and(Session::proves);
        self.prove(key, happened);
        let is_new = known.is_none();
        let before = known.unwrap_or_default();
        let silent =
            before.signalled || before.stopped || before.by == TurnCause::Timeout && before.works();
        match happened {
            AgentEvent::Prompt { by, .. } if *by != TurnCause::Timeout => {
                self.agent_says(id, key, Kind::Progress, false, now);
            }
            AgentEvent::Stopped { .. } if !silent => {
                let quiet = watched && before.by == TurnCause::Person && before.works();
                self.agent_says(id, key, Kind::Complete, quiet, now);
            }
            AgentEvent::Ended => self.agent_says(id, key, Kind::Ended, false, now),
            _ => {}
        }
        let it = self.sessions.entry(key.clone()).or_default();
        if !ends && !live {
            it.hooks = true;
            it.state = it.state.filter(|_| it.over.is_none());
            it.replied &= it.over.is_none();
            it.over = None;
        }
        match happened {
            // The hub's own waiter ends within a turn.
            AgentEvent::Prompt {
                by: TurnCause::Timeout,
                ..
            } if before.over.is_none() && before.works() && !before.stopped => return false,
            AgentEvent::Prompt { by, .. } => it.begin(*by),
            AgentEvent::Worked if before.works() => return false,
            AgentEvent::Worked if is_new || before.stopped => it.begin(TurnCause::Agent),
            AgentEvent::Worked => it.begin(before.by),
            AgentEvent::Stopped { .. } => {
                it.stopped = true;
                if !(silent && it.works()) {
                    return false;
                }
                it.state = it.before.or(Some(SessionState::Waiting));
                it.replied = false;
            }
            _ => return false,
        }
        true
    }

    fn agent_says(&mut self, id: Seq, key: &Key, kind: Kind, quiet: bool, now: Timestamp) {
        let mut draft = hub_says(&key.0, &key.1, &key.1, kind);
        (draft.body.to, draft.explicit_kind, draft.quiet) = (None, true, quiet);
        let state = self.sessions.get(key).and_then(|it| it.state);
        draft.recorded = kind == Kind::Ended && state == Some(SessionState::Complete);
        self.hub_says(id, draft.clone(), now);
        let mut next = id + 1;
        self.tell_listeners((id, &draft), &mut next, now);
        self.fire(id - 1, next, now);
    }

    /// Marks items as shown; returns whether that acknowledged none of them.
    pub(crate) fn show(&mut self, key: &Key, ids: &[Seq], way: Way, now: Timestamp) -> bool {
        if !self.sessions.get(key).is_some_and(Session::proves) {
            let is_delivered = !way.announces() && !way.is_pushed();
            if is_delivered {
                self.ack(&key.0, &key.1, ids);
            }
            return !is_delivered;
        }
        for (_, place) in self.places_of(key, |id| ids.contains(&id)) {
            let announced = place.emitted.is_some_and(|(_, before)| before.announces());
            if place.emitted.is_none() || announced && way == Way::Hook {
                place.emitted = Some((now, way));
            }
        }
        true
    }

    fn prove(&mut self, key: &Key, happened: &AgentEvent) {
        let proves = |way: Way| match happened {
            _ if way.announces() => false,
            AgentEvent::Ended => false,
            AgentEvent::Prompt { by, .. } => {
                !matches!(way, Way::Rewake | Way::AppServer)
                    || !matches!(by, TurnCause::Person | TurnCause::Peer)
            }
            _ => !matches!(way, Way::Rewake | Way::AppServer),
        };
        for (_, place) in self.places_of(key, |_| true) {
            place.pending &= !place.emitted.is_some_and(|(_, way)| proves(way));
        }
    }

    /// Returns the pending items of an inbox.
    fn places_of(
        &mut self,
        (project, inbox): &Key,
        which: impl Fn(Seq) -> bool,
    ) -> impl Iterator<Item = (Seq, &mut Place)> {
        let here = self.mut_notes(move |note| note.body.project == *project && which(note.id));
        let places = here.flat_map(|note| note.places.iter_mut().map(|place| (note.id, place)));
        places.filter(move |(_, place)| place.pending && place.inbox == *inbox)
    }

    /// The phase of a session.
    pub(crate) fn phase(&self, key: &Key, it: &Session) -> PhaseName {
        let mut questions = self.questions.values();
        if questions.any(|question| question.is_open() && question.is_from(key)) {
            return PhaseName::NeedsYou;
        }
        let is_answered = !self.pending(&key.0, &key.1).is_empty();
        match it.state {
            _ if it.over.is_some() => PhaseName::Gone,
            Some(SessionState::Working) => PhaseName::Working,
            Some(SessionState::Blocked) if !it.stopped || is_answered => PhaseName::Working,
            None => PhaseName::Done,
            Some(SessionState::Complete) if !it.hooks => PhaseName::Gone,
            Some(_) if it.replied => PhaseName::Done,
            Some(SessionState::Error) => PhaseName::Blocked,
            Some(_) => PhaseName::YourTurn,
        }
    }

    /// Whether the session is in no turn. A report after its stop begins none.
    fn is_idle(&self, key: &Key) -> bool {
        let is_in_turn = |it: &Session| it.works() && !it.stopped;
        !self.sessions.get(key).is_some_and(is_in_turn)
    }

    /// Offers unproved items again or notifies the person, with ids from `next` on, and closes the inboxes of sessions
    /// that ended a day ago. Returns the next free id.
    pub(super) fn due_agents(&mut self, next: Seq, now: Timestamp) -> Seq {
        let over = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        let mut keys: Vec<Key> = self.inboxes.iter().cloned().collect();
        keys.retain(|key| {
            self.places_of(key, |_| true)
                .any(|(_, it)| over(it.overdue().1))
        });
        for (id, key) in (next..).zip(&keys) {
            let (hub, person) = ("hub".parse().unwrap(), "person".parse().unwrap());
            let draft = hub_says(&key.0, &hub, &person, Kind::Message);
            self.hub_says(id, draft, now);
        }
        let closes: Vec<Key> = self
            .ends()
            .filter(|(at, _)| *at <= now)
            .map(|(_, key)| key.clone())
            .collect();
        for (project, inbox) in closes {
            self.close(&project, &inbox);
        }
        let inboxes: Vec<Key> = self.inboxes.iter().cloned().collect();
        for key in &inboxes {
            let idle = self.is_idle(key);
            for (_, place) in self.places_of(key, |_| true) {
                let (emitted, returned) = place.overdue();
                if over(returned) {
                    (place.returned, place.told) = (None, true);
                } else if over(emitted) && idle {
                    place.emitted = None;
                    place.returned = Some(now).filter(|_| !place.told);
                }
            }
        }
        next + keys.len() as Seq
    }

    /// Returns when the inboxes of ended sessions are closed.
    fn ends(&self) -> impl Iterator<Item = (Timestamp, &Key)> {
        let hooked = self.sessions.iter().filter(|(_, it)| it.hooks);
        hooked.filter_map(|(key, it)| Some((it.over?.plus_millis(DAY_MS), key)))
    }

    pub(super) fn next_of_agents(&self) -> Option<Timestamp> {
        let places = self.notes.iter().flat_map(|note| {
            let project = &note.body.project;
            note.places.iter().map(move |place| (project, place))
        });
        let due = places.filter_map(|(project, place)| {
            let (emitted, returned) = place.overdue();
            let key = (project.clone(), place.inbox.clone());
            emitted.filter(|_| self.is_idle(&key)).or(returned)
        });
        due.chain(self.ends().map(|(at, _)| at)).min()
    }

    pub(super) fn shift_agents(&mut self, delta_ms: i64) {
        for it in self.sessions.values_mut() {
            it.over = it.over.map(|at| at.plus_millis(delta_ms));
        }
        for place in self.notes.iter_mut().flat_map(|note| &mut note.places) {
            place.emitted = place
                .emitted
                .map(|(at, way)| (at.plus_millis(delta_ms), way));
            place.returned = place.returned.map(|at| at.plus_millis(delta_ms));
        }
    }

    /// Removes an ended session with its inbox.
    pub(super) fn forget_over(&mut self, key: &Key) {
        if self
            .sessions
            .get(key)
            .is_some_and(|it| it.hooks && it.over.is_some())
        {
            self.sessions.remove(key);
        }
    }
}
