//! Listeners of the naive model.

use hub_core::notification::Draft;
use hub_protocol::{InboxName, Kind, ProjectName, Seq, SessionState, Timestamp};

use super::{DAY_MS, Leases, Model, Question, Session};

/// Project, target, caller.
pub(crate) type Pair = (ProjectName, InboxName, InboxName);

/// Publishes a notification of the hub itself; the model does not predict its text.
pub(super) fn hub_says(
    project: &ProjectName,
    from: &InboxName,
    to: &InboxName,
    kind: Kind,
) -> Draft {
    let (ts, msg) = (Timestamp::default(), String::new());
    let mut draft = Draft::new((project, from), kind, msg, ts, 0);
    draft.body.to = Some(to.clone());
    draft.explicit_kind = false;
    draft
}

impl Model {
    pub(super) fn hub_says(&mut self, id: Seq, mut draft: Draft, now: Timestamp) {
        let it = &mut draft.body;
        (it.ts, it.expires_at) = (now, now.plus_millis(7 * DAY_MS));
        let said = self.say(id, &draft, now, &Leases::new());
        said.expect("the hub may say it");
    }

    /// Adds a listener, which fires at once if its target has already stopped; returns whether the target is known or
    /// expected.
    pub(crate) fn listen(
        &mut self,
        head: Seq,
        pair: &Pair,
        within_ms: Option<i64>,
        fresh: bool,
        now: Timestamp,
    ) -> bool {
        let (project, target, caller) = pair;
        let known = self.sessions.get(&(project.clone(), target.clone()));
        if target == caller || known.is_none() && within_ms.is_none() {
            return false;
        }
        if let Some(until) = self.listeners.get_mut(pair) {
            let new = within_ms.map(|ms| now.plus_millis(ms));
            *until = [*until, new].into_iter().flatten().min();
            return true;
        }
        let since = self.fired.get(pair).copied().unwrap_or(0);
        let stopped = known.and_then(|it| Some((it.state?, it.last.unwrap_or(it.seq))));
        let stopped = stopped
            .filter(|(state, cause)| *state != SessionState::Working && *cause > since && !fresh);
        let Some((state, cause)) = stopped else {
            let until = within_ms.map(|ms| now.plus_millis(ms));
            self.listeners.insert(pair.clone(), until);
            return true;
        };
        let asks = self.questions.get(&cause).is_some_and(Question::is_open);
        let kind = match state {
            SessionState::Blocked if asks => Kind::Message,
            SessionState::Error => Kind::Error,
            _ => Kind::Complete,
        };
        self.fired.insert(pair.clone(), cause);
        self.hub_says(head + 1, hub_says(project, target, caller, kind), now);
        self.fire(head, head + 2, now);
        true
    }

    /// Returns whether a draft may count as a stop: one without a type does not if its session has hooks.
    pub(super) fn tells_a_stop(&self, draft: &Draft) -> bool {
        let session = draft
            .body
            .session
            .as_ref()
            .unwrap_or(&draft.body.from)
            .clone();
        let it = self.sessions.get(&(draft.body.project.clone(), session));
        draft.explicit_kind || !it.is_some_and(Session::proves)
    }

    /// Notifies the listeners of a notification's sender, with ids from `next` on.
    pub(super) fn tell_listeners(
        &mut self,
        (id, draft): (Seq, &Draft),
        next: &mut Seq,
        now: Timestamp,
    ) {
        let body = &draft.body;
        let session = draft.body.session.as_ref().unwrap_or(&body.from).clone();
        if session.as_str() == "unknown"
            || matches!(body.kind, Kind::Progress | Kind::Message | Kind::Answer)
        {
            return;
        }
        let to = |(project, target, _): &&Pair| *project == body.project && *target == session;
        let pairs: Vec<Pair> = self.listeners.keys().filter(to).cloned().collect();
        for pair in pairs {
            self.listeners.remove(&pair);
            self.fired.insert(pair.clone(), id);
            let note = self.notes.iter_mut().find(|note| note.id == id);
            let mut places = note.expect("it was said").places.iter_mut();
            if let Some(place) = places.find(|place| place.inbox == pair.2) {
                place.wakes = true;
            } else {
                let asks = matches!(body.kind, Kind::Question | Kind::Approval);
                let kind = if asks { Kind::Message } else { body.kind };
                self.hub_says(*next, hub_says(&pair.0, &pair.1, &pair.2, kind), now);
                *next += 1;
            }
        }
        if body.kind == Kind::Ended {
            self.listeners
                .retain(|(project, _, caller), _| (project, caller) != (&body.project, &session));
        }
    }

    /// Publishes a notification for each missed deadline, with ids from `head + 1` on; returns the next free id.
    pub(super) fn late_listeners(&mut self, head: Seq, now: Timestamp) -> Seq {
        let late = self
            .listeners
            .iter()
            .filter_map(|(pair, until)| Some(((*until)?, pair.clone())));
        let mut late: Vec<(Timestamp, Pair)> = late.filter(|(until, _)| *until <= now).collect();
        late.sort();
        let next = head + 1 + late.len() as Seq;
        for (id, (_, pair)) in (head + 1..).zip(late) {
            self.listeners.remove(&pair);
            let hub = "hub".parse().unwrap();
            self.hub_says(id, hub_says(&pair.0, &hub, &pair.2, Kind::Error), now);
        }
        next
    }
}
