//! Compares the fold with the model.

use hub_core::fold::{Item, State};
use hub_core::waiters::{SharedWaiters, Waiters, WakeLimits};
use hub_engine::needs;
use hub_protocol::{InboxName, Need, Notification, ProjectName, Seq, SessionState};

use super::driver::{Driver, bytes, fold, pending};
use super::model::Note;

impl Driver {
    /// Compares every query of the fold with the model.
    pub(crate) fn check(&self) {
        assert_eq!(self.state.head(), self.log.len() as Seq);
        let known: Vec<(ProjectName, InboxName)> = self
            .state
            .inboxes
            .iter(None)
            .map(|(project, name, _)| (project.clone(), name.clone()))
            .collect();
        assert!(known.iter().eq(&self.model.inboxes), "{known:?}");
        for (project, inbox) in &known {
            self.check_inbox(project, inbox);
        }
        for note in self.model.in_log() {
            let id = note.id;
            let status = self.state.status(id, !note.places.is_empty());
            assert_eq!(status, note.status(), "{note:?}");
            let seen = self.model.seen.contains(&id);
            assert_eq!(self.state.seen.contains(id), seen, "{note:?}");
            let location = self.model.is_asked_for(note).then_some(note.location);
            assert_eq!(self.state.location(id), location, "{note:?}");
            location.map(|location| self.stored_json(location));
        }
        for ((project, session), it) in &self.model.sessions {
            let told = it.state.map(|state| (state, it.seq));
            let known = self.state.sessions.with_name(project, session);
            let known = known.and_then(|it| Some((it.state?, it.seq)));
            assert_eq!(known, told, "{session}");
        }
        self.check_phases();
        let known = self.state.sessions.iter(None);
        let known = known.map(|(of, name, _)| (of, name));
        assert!(known.eq(self.model.sessions.keys().map(|(of, name)| (of, name))));
        for ((project, target, caller), until) in &self.model.listeners {
            let mut open = self.state.listeners(project, target);
            let same = open.any(|(who, it)| who == caller && it.until == *until);
            assert!(same, "{caller} listens to {target} until {until:?}");
        }
        let mut callers = self.model.sessions.keys().chain(&self.model.inboxes);
        assert!(callers.all(|(project, target)| {
            let known = self.model.listeners.keys();
            let known = known.filter(|(of, to, _)| (of, to) == (project, target));
            self.state.listeners(project, target).count() == known.count()
        }));
        let asked = self.state.questions.all();
        let asked = asked.map(|(id, it)| (id, it.state, it.expires_at));
        let known = self.model.questions.iter();
        assert!(asked.eq(known.map(|(id, it)| (*id, it.state, it.expires_at))));
        assert_eq!(self.state.next_deadline(), self.model.next_deadline());
        assert_eq!(self.state.rules.open_runs().count(), self.model.runs.len());
        assert_eq!(self.state.retention.below(), self.model.kept_from);
        let hidden = self.model.hidden.iter();
        assert!(
            self.state
                .hidden
                .iter()
                .eq(hidden.map(|(of, below)| (of, *below)))
        );
        assert_eq!(self.state.retention.paused_until(), self.model.paused_until);
    }

    /// Compares the phases with the model. While a live session stopped with an error or to wait and the person has not
    /// seen that, a phase must say so.
    fn check_phases(&self) {
        let mut waits = false;
        for (project, name, session) in self.state.sessions.iter(None) {
            let phase = self.state.phase(project, name, session, self.now, self.now);
            let key = (project.clone(), name.clone());
            let expected = self.model.phase(&key, &self.model.sessions[&key]);
            assert_eq!(phase.name, expected, "{name}: {session:?}");
            waits |= phase.name.waits_for_person();
            assert!(
                !phase.name.waits_for_person() || self.needs(Some(name)).next().is_some(),
                "nothing says that {name} needs the person: {phase:?}"
            );
        }
        let open = self.state.questions.open();
        for (id, question) in open {
            let listed = self.needs(None).any(|it| it == id.to_string());
            assert!(listed, "nothing says that somebody asks: {question:?}");
        }
        let unseen = |id: Option<Seq>| id.is_some_and(|id| !self.model.seen.contains(&id));
        let idle = self.model.sessions.values().any(|it| {
            let stopped = matches!(it.state, Some(SessionState::Waiting | SessionState::Error));
            stopped && it.over.is_none() && unseen(it.last)
        });
        assert!(waits || !idle);
    }

    /// The ids of the open needs, of one session or of all.
    pub(crate) fn needs(&self, of: Option<&InboxName>) -> impl Iterator<Item = String> {
        let found = needs::list_at(&self.state, &nobody(), self.now).into_iter();
        let open = found.map(|it| it.need).filter(Need::is_open);
        open.filter(move |it| of.is_none() || it.session.as_ref() == of)
            .map(|it| it.id)
    }

    fn check_inbox(&self, project: &ProjectName, inbox: &InboxName) {
        let offered = pending(&self.state, project, inbox);
        let expected = self.model.pending(project, inbox);
        assert_eq!(
            offered.len(),
            expected.len(),
            "{project} {inbox}: {offered:?}"
        );
        for (item, (note, place)) in offered.iter().zip(expected) {
            let (draft, delivery) = (&note.body, item.delivery());
            let same = item.seq == note.id
                && item.from == draft.from
                && item.kind == draft.kind
                && item.priority == note.priority
                && item.ts == draft.ts
                && item.expires_at == note.expires_at
                && item.wakes == place.wakes
                && item.hops == draft.hops
                && item.key.as_deref() == draft.key.as_deref()
                && (delivery.emitted, delivery.returned, delivery.escalated)
                    == (place.emitted, place.returned, place.told);
            assert!(same, "{item:?} is not {note:?}");
            let lost_ack = (project.clone(), inbox.clone(), item.seq);
            assert!(!self.durable.acks.contains(&lost_ack), "{item:?} was acked");
            // The texts of the hub's own notifications are checked by the tests in `promises`.
            if !draft.msg.is_empty() {
                self.check_json(item, note);
            }
        }
    }

    fn check_json(&self, item: &Item, note: &Note) {
        let stored = self.stored_json(note.location);
        let read: Notification = serde_json::from_slice(&stored).unwrap();
        let expected = Notification {
            id: item.seq,
            priority: item.priority,
            // The tests in `promises` say what it is.
            turn: read.turn,
            ..note.body.clone()
        };
        assert_eq!(stored, serde_json::to_string(&expected).unwrap());
    }

    /// Asserts that folding the whole log gives the same state, to the byte.
    pub(crate) fn check_fold(&self) {
        let mut state = State::default();
        fold(&mut state, 0, &self.log);
        assert_eq!(bytes(&state), bytes(&self.state));
        assert_eq!(state, self.state);
    }
}

/// Waiters of a hub at which nobody waits.
pub(crate) fn nobody() -> SharedWaiters {
    let limits = WakeLimits {
        per_sender_per_minute: 1,
        per_hour: 1,
    };
    SharedWaiters::from(Waiters::new(limits, 0, 0, std::time::Instant::now()))
}
