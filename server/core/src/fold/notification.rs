//! Notifications: how a draft is stored, the inboxes that it goes to, and the session that it is about.

use std::collections::BTreeSet;

use hub_protocol::{InboxName, Kind, ProjectName, Seq, SessionState, Timestamp};

use super::dialog::{is_dialog_key, is_held_key};
use super::listener::is_stop;
use super::question::Question;
use super::ride_along::RideAlong;
use super::session::Session;
use super::transaction::Transaction;
use super::{Leased, State};
use crate::command::Refusal;
use crate::notification::{Draft, Routing};
use crate::record::{Notified, Record, Target};

/// Replies in a longer chain wake no waiter, so that two agents that answer each other stop.
pub(super) const MAX_HOPS: u32 = 8;

/// A notification that means that a session stopped, for the session's listeners.
pub(super) struct SessionStop {
    pub(super) id: Seq,
    pub(super) project: ProjectName,
    pub(super) session: InboxName,
    pub(super) kind: Kind,
    pub(super) msg: String,
}

impl State {
    pub(super) fn decide_notify(
        &self,
        drafts: &[Draft],
        now: Timestamp,
        leased: &Leased<'_>,
    ) -> Result<Vec<Record>, Refusal> {
        let mut transaction = Transaction::new(self, now, leased);
        let mut stops = Vec::new();
        for draft in drafts {
            stops.extend(transaction.add(draft)?);
        }
        for draft in drafts {
            transaction.close_questions(draft);
        }
        for stop in stops {
            transaction.notify_listeners(&stop)?;
        }
        Ok(transaction.finish())
    }

    pub(super) fn apply_notified(&mut self, seq: Seq, it: &Notified) {
        let route = &it.route;
        self.sessions.note_report(seq, route);
        self.sources.note(seq, route);
        let size = u32::try_from(it.json.len()).unwrap_or(u32::MAX);
        self.inboxes.put(seq, route, size);
        self.questions.ask(seq, route);
        self.losses.note_told(route);
        if route.from.as_str() == InboxName::PERSON {
            self.seen.insert(seq);
            self.sessions.close_turns(seq, route);
        }
    }
}

impl Transaction<'_> {
    /// Adds a notification. Returns the stop that it means, if it means one.
    pub(super) fn add(&mut self, draft: &Draft) -> Result<Option<SessionStop>, Refusal> {
        let it = &draft.body;
        if it.expires_at <= self.now {
            return Err(Refusal::ExpiredAlready);
        }
        let questions = &self.state.questions;
        questions.demand_room(it.kind, it.key.as_deref())?;
        let from = self.state.sessions.resolve(&it.project, &it.from).clone();
        let id = self.next_id();
        if it.kind == Kind::Answer {
            self.answer(draft, &from, id)?;
        }
        let mut targets = if draft.recorded {
            Vec::new()
        } else {
            self.targets(draft, &from)
        };
        self.open(&it.project, &targets)?;
        let priority = self.supersede(draft, &from, id, &targets);
        if RideAlong::by_content(priority, it.hops, draft.quiet).is_some() {
            for target in &mut targets {
                target.wakes = false;
            }
        }
        // A note that only the session itself reads reports nothing: a stop that it seems to report would reach nobody.
        let is_own =
            |name: &InboxName| !targets.is_empty() && targets.iter().all(|it| it.inbox == *name);
        let session = self.session_change(draft, &from);
        let session = session.filter(|(name, _)| name.is_reserved() || !is_own(name));
        if let Some((name, state)) = &session {
            self.report((it.project.clone(), name.clone()), *state);
        }
        let turn = self.turn_of(&it.project, &from);
        let stop = self.stop(draft, &from, id);
        let from_name = self.state.sessions.other_name(&it.project, &it.from);
        let routing = Routing {
            priority,
            targets,
            session,
            turn,
        };
        self.push(draft.stored(id, from, from_name, routing));
        Ok(stop)
    }

    /// Returns the inboxes that a draft goes to, each once, and whether it wakes there by its type.
    fn targets(&self, draft: &Draft, from: &InboxName) -> Vec<Target> {
        let it = &draft.body;
        let mut targets: Vec<Target> = Vec::with_capacity(2);
        let is_primary = self.state.sessions.primary(&it.project) == Some(from);
        let mut add = |inbox: &InboxName, person_decides: bool| {
            let inbox = self.state.sessions.resolve(&it.project, inbox);
            let own = inbox == from;
            let to_primary = inbox.as_str() == InboxName::PRIMARY;
            // The primary's own notifications are not delivered back to it, and a note to oneself wakes no waiter.
            if to_primary && (own || is_primary) || inbox.as_str() == InboxName::ALL {
                return;
            }
            if targets.iter().all(|target| target.inbox != *inbox) {
                targets.push(Target {
                    inbox: inbox.clone(),
                    wakes: RideAlong::by_target(it.kind, own, person_decides).is_none(),
                });
            }
        };
        match &it.to {
            Some(all) if all.as_str() == InboxName::ALL => {
                for inbox in &self.all_inboxes(&it.project, from) {
                    add(inbox, false);
                }
            }
            Some(to) => add(to, false),
            None if it.kind == Kind::Progress => {}
            None if it.kind == Kind::Answer => {
                let asked = it.reply_to.and_then(|id| self.state.questions.get(id));
                // The held hook delivers the answer to its agent. Through the inbox it would start another turn.
                let by_hook = |it: &&Question| it.key.as_deref().is_some_and(is_held_key);
                if let Some(question) = asked.filter(|it| !by_hook(it)) {
                    add(&question.from, false);
                }
            }
            None => {
                // Only a person answers these, so they wake no agent.
                let by_hook = |key: &str| is_held_key(key) || is_dialog_key(key);
                let is_dialog = it.key.as_deref().is_some_and(by_hook);
                let for_person = it.kind == Kind::Approval || is_dialog;
                if for_person {
                    add(&person(), false);
                }
                if let Some(parent) = self.parent(draft, from) {
                    add(parent, for_person);
                }
                add(&InboxName::primary(), for_person);
            }
        }
        targets
    }

    /// Returns the session whose worker the sender is; `None` for the primary, which is notified through `primary`.
    fn parent<'b>(&'b self, draft: &'b Draft, from: &InboxName) -> Option<&'b InboxName> {
        let it = &draft.body;
        let registered = || self.state.sessions.get(&it.project, from)?.parent();
        let parent = it.parent.as_ref().or_else(registered)?;
        let parent = self.state.sessions.resolve(&it.project, parent);
        let is_target = parent == from || self.state.sessions.primary(&it.project) == Some(parent);
        (!is_target).then_some(parent)
    }

    /// Returns the inboxes of the primary, the person and the live sessions, except the sender's.
    fn all_inboxes(&self, project: &ProjectName, from: &InboxName) -> Vec<InboxName> {
        let alive = self.state.sessions.alive(project);
        let mut names: BTreeSet<InboxName> = alive.map(|(name, _)| name.clone()).collect();
        for ((_, name), state) in self.sessions.iter().filter(|((of, _), _)| of == project) {
            match state {
                SessionState::Ended => names.remove(name),
                _ => names.insert(name.clone()),
            };
        }
        names.extend([InboxName::primary(), person()]);
        names.remove(from);
        names.into_iter().collect()
    }

    /// Returns the session whose state a draft changes, with the new state.
    pub(super) fn session_change(
        &self,
        draft: &Draft,
        from: &InboxName,
    ) -> Option<(InboxName, SessionState)> {
        let state = draft.body.kind.session_state();
        let state = state.filter(|_| draft.explicit_kind && !draft.keeps_state)?;
        Some((self.about(draft, from)?, state))
    }

    /// Returns the stop that a draft means, if a session listens. A draft without a type counts too, because a job may
    /// report only that it is done. A session with live hooks is stopped only by its hook or by a draft with a type.
    fn stop(&self, draft: &Draft, from: &InboxName, id: Seq) -> Option<SessionStop> {
        let it = &draft.body;
        if self.state.listeners.is_empty() || !is_stop(it.kind) {
            return None;
        }
        let session = self.about(draft, from)?;
        let known = self.state.sessions.get(&it.project, &session);
        let by_hook = known.is_some_and(Session::has_hooks);
        (draft.explicit_kind || !by_hook).then(|| SessionStop {
            id,
            project: it.project.clone(),
            session,
            kind: it.kind,
            msg: it.msg.clone(),
        })
    }

    /// Returns the session that a draft is about; `None` if its sender is unknown.
    fn about(&self, draft: &Draft, from: &InboxName) -> Option<InboxName> {
        let it = &draft.body;
        let name = match &it.session {
            Some(session) => self.state.sessions.resolve(&it.project, session),
            None => from,
        };
        let is_known = || self.state.sessions.get(&it.project, name).is_some();
        let named = name.as_str() != InboxName::UNKNOWN || is_known();
        named.then(|| name.clone())
    }
}

pub(super) fn person() -> InboxName {
    InboxName::PERSON.parse().expect("a constant name")
}
