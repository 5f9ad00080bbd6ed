//! Notify: turns drafts into records, and routes them to inboxes by their type and sender.

use std::collections::BTreeSet;

use bytes::Bytes;
use hub_protocol::{
    InboxName, Kind, Priority, ProjectName, QuestionState, Seq, SessionState, Timestamp,
};

use super::batch::{Batch, Place};
use super::collapse::with_priority;
use super::hook::PERMISSION;
use super::listener::is_stop;
use super::question::{Question, settled_question};
use super::session::Session;
use super::settle::settled;
use super::{Leased, State};
use crate::core::command::{Draft, Refusal};
use crate::core::record::{How, Notified, Record, Route, Target};

/// The most inboxes in one project.
const MAX_IN_PROJECT: usize = 1_000;
/// The most inboxes in all projects.
const MAX_IN_ALL: usize = 10_000;
/// Replies in a longer chain wake nobody, so that two agents that answer each other come to rest.
pub const MAX_HOPS: u32 = 8;

impl State {
    pub(super) fn decide_notify(
        &self,
        drafts: &[Draft],
        now: Timestamp,
        leased: &Leased<'_>,
    ) -> Result<Vec<Record>, Refusal> {
        let mut batch = Batch::new(self, now, leased);
        let mut stops = Vec::new();
        for draft in drafts {
            stops.extend(batch.add(draft)?);
        }
        for draft in drafts {
            batch.close_questions(draft);
        }
        for stop in stops {
            batch.tell_listeners(&stop)?;
        }
        Ok(batch.finish())
    }
}

/// A notification that means that a session stopped, for the session's listeners.
pub(super) struct Stop {
    pub(super) id: Seq,
    pub(super) project: ProjectName,
    pub(super) session: InboxName,
    pub(super) kind: Kind,
    pub(super) tail: Bytes,
}

impl Batch<'_> {
    /// Adds a notification. Returns the stop that it means, if it means one.
    pub(super) fn add(&mut self, draft: &Draft) -> Result<Option<Stop>, Refusal> {
        if draft.expires_at <= self.now {
            return Err(Refusal::ExpiredAlready);
        }
        let from = self.state.called(&draft.project, &draft.from).clone();
        let project = &draft.project;
        let id = self.next_id();
        if draft.kind == Kind::Answer {
            self.answer(draft, &from, id)?;
        }
        let mut targets = if draft.recorded {
            Vec::new()
        } else {
            self.targets(draft, &from)
        };
        for target in &targets {
            self.open(project, &target.inbox)?;
        }
        let priority = self.supersede(draft, &from, id, &targets);
        if draft.quiet || draft.hops > MAX_HOPS || priority == Priority::Low {
            for target in &mut targets {
                target.wakes = false;
            }
        }
        let session = self.session_change(draft, &from);
        if let Some((name, state)) = &session {
            self.sessions
                .insert((project.clone(), name.clone()), *state);
        }
        let name = self.state.other_name(project, &draft.from);
        let mut json = with_id(id, name, &draft.tail);
        if priority != draft.priority {
            json = with_priority(&json, priority);
        }
        let listened = self.state.somebody_listens();
        let stopped = listened.then(|| self.stopped(draft, &from)).flatten();
        let stop = stopped.map(|session| Stop {
            id,
            project: project.clone(),
            session,
            kind: draft.kind,
            tail: draft.tail.clone(),
        });
        self.notified.push(Record::Notified(Notified {
            route: Route {
                project: project.clone(),
                from,
                kind: draft.kind,
                priority,
                ts: draft.ts,
                expires_at: draft.expires_at,
                targets,
                key: draft.key.clone(),
                session,
                hops: draft.hops,
            },
            json,
        }));
        Ok(stop)
    }

    /// Settles the question that an answer names.
    fn answer(&mut self, draft: &Draft, from: &InboxName, id: Seq) -> Result<(), Refusal> {
        self.state.answered_by(draft, from)?;
        let question = draft.reply_to.ok_or(Refusal::NoSuchQuestion)?;
        if !self.answered.insert(question) {
            let state = QuestionState::Answered;
            return Err(Refusal::QuestionSettled {
                id: question,
                state,
            });
        }
        let by = Some(from.as_str());
        let answered = QuestionState::Answered;
        let settle = self
            .state
            .settle_question(question, answered, by, Some(id), self.now);
        self.after.extend(settle);
        Ok(())
    }

    /// Returns the inboxes that a draft goes to, each once, and whether it wakes there by its type.
    fn targets(&self, draft: &Draft, from: &InboxName) -> Vec<Target> {
        let mut targets: Vec<Target> = Vec::with_capacity(2);
        let project = &draft.project;
        let is_primary = self.state.primary(project) == Some(from);
        let mut add = |inbox: &InboxName, wakes: bool| {
            let inbox = self.state.called(project, inbox);
            let own = inbox == from;
            let to_primary = inbox.as_str() == InboxName::PRIMARY;
            // The primary's own notifications are not delivered back to it, and a note to oneself wakes nobody.
            if to_primary && (own || is_primary) || inbox.as_str() == InboxName::ALL {
                return;
            }
            if targets.iter().all(|target| target.inbox != *inbox) {
                targets.push(Target {
                    inbox: inbox.clone(),
                    wakes: wakes && !own,
                });
            }
        };
        let wakes = !matches!(draft.kind, Kind::Progress | Kind::Ended);
        match &draft.to {
            Some(all) if all.as_str() == InboxName::ALL => {
                for inbox in &self.everybody(project, from) {
                    add(inbox, wakes);
                }
            }
            Some(to) => add(to, wakes),
            None if draft.kind == Kind::Progress => {}
            None if draft.kind == Kind::Answer => {
                let asked = draft.reply_to.and_then(|id| self.state.question(id));
                // The held hook delivers the answer to its agent. Through the inbox it would start another turn.
                let by_hook = |it: &&Question| it.key.as_deref() == Some(PERMISSION);
                if let Some(question) = asked.filter(|it| !by_hook(it)) {
                    add(&question.from, wakes);
                }
            }
            None => {
                let approval = draft.kind == Kind::Approval;
                if approval {
                    add(&person(), wakes);
                }
                if let Some(parent) = self.parent(draft, from) {
                    add(parent, wakes && !approval);
                }
                add(&InboxName::primary(), wakes && !approval);
            }
        }
        targets
    }

    /// Returns the session whose worker the sender is; `None` for the primary, which is notified through `primary`.
    fn parent<'b>(&'b self, draft: &'b Draft, from: &InboxName) -> Option<&'b InboxName> {
        let known = || self.state.session(&draft.project, from)?.parent();
        let parent = draft.parent.as_ref().or_else(known)?;
        let parent = self.state.called(&draft.project, parent);
        let told = parent == from || self.state.primary(&draft.project) == Some(parent);
        (!told).then_some(parent)
    }

    /// Returns the inboxes of the primary, the person and the live sessions, except the sender's.
    fn everybody(&self, project: &ProjectName, from: &InboxName) -> Vec<InboxName> {
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

    /// Counts an inbox that does not exist yet against the caps. Fails if a cap is reached.
    fn open(&mut self, project: &ProjectName, name: &InboxName) -> Result<(), Refusal> {
        if self.state.inboxes.get(project, name).is_some() {
            return Ok(());
        }
        let in_all: usize = self.opened.values().map(BTreeSet::len).sum();
        let here = self.opened.entry(project.clone()).or_default();
        if here.contains(name) {
            return Ok(());
        }
        if self.state.inboxes.count_in(project) + here.len() >= MAX_IN_PROJECT {
            return Err(Refusal::TooManyInboxes {
                scope: "the project",
                cap: MAX_IN_PROJECT,
            });
        }
        if self.state.inboxes.count() + in_all >= MAX_IN_ALL {
            return Err(Refusal::TooManyInboxes {
                scope: "the hub",
                cap: MAX_IN_ALL,
            });
        }
        here.insert(name.clone());
        Ok(())
    }

    /// Settles the items that a draft replaces. Returns its priority: its own, or the highest among the items it
    /// replaces.
    fn supersede(
        &mut self,
        draft: &Draft,
        from: &InboxName,
        id: Seq,
        targets: &[Target],
    ) -> Priority {
        let Some(key) = &draft.key else {
            return draft.priority;
        };
        let places = targets.iter().map(|target| Place {
            project: draft.project.clone(),
            inbox: target.inbox.clone(),
            from: from.clone(),
            key: key.clone(),
        });
        let places: Vec<_> = places.map(|place| (self.replaced(&place), place)).collect();
        let replaced = places.iter().flat_map(|(replaced, _)| replaced);
        let priority = replaced.fold(draft.priority, |most, (_, of)| most.min(*of));
        self.supersede_question(draft, from, key, id);
        for (replaced, place) in places {
            // A settled question has already been removed from every inbox.
            let replaced = replaced.into_iter().map(|(seq, _)| seq);
            let replaced = replaced.filter(|seq| !self.answered.contains(seq));
            self.after.extend(settled(
                replaced.collect(),
                Some((&place.project, &place.inbox)),
                How::Superseded,
                Some(&id.to_string()),
                self.now,
            ));
            self.keyed.insert(place, (id, priority));
        }
        priority
    }

    /// Settles a replaced question, even one that was acknowledged but not answered, and removes it from every inbox.
    fn supersede_question(&mut self, draft: &Draft, from: &InboxName, key: &str, id: Seq) {
        if !matches!(draft.kind, Kind::Question | Kind::Approval) {
            return;
        }
        let place = (draft.project.clone(), from.clone(), key.to_owned());
        let same = self.state.questions.of(&draft.project, from);
        let replaced = same
            .filter(|(_, question)| question.key.as_deref() == Some(key))
            .map(|(id, _)| id);
        let replaced: Vec<Seq> = replaced.chain(self.asked.insert(place, id)).collect();
        for old in replaced {
            if self.answered.insert(old) {
                let superseded = QuestionState::Superseded;
                let settle = settled_question(old, superseded, None, Some(id), self.now);
                self.after.push(settle);
                if old > self.state.head || self.state.inboxes.is_pending(old) {
                    let by = id.to_string();
                    let taken = settled(vec![old], None, How::Superseded, Some(&by), self.now);
                    self.after.extend(taken);
                }
            }
        }
    }

    /// Returns the pending items in this scope that are not leased; a leased item stays with its reader.
    fn replaced(&self, place: &Place) -> Vec<(Seq, Priority)> {
        let settled = |seq: Seq| self.answered.contains(&seq);
        if let Some(earlier) = self.keyed.get(place) {
            return vec![*earlier]
                .into_iter()
                .filter(|(seq, _)| !settled(*seq))
                .collect();
        }
        let Some(inbox) = self.state.inboxes.get(&place.project, &place.inbox) else {
            return Vec::new();
        };
        inbox
            .replaceable(&place.from, &place.key)
            .iter()
            .filter(|&&seq| !(self.leased)(&place.project, &place.inbox, seq))
            .filter_map(|&seq| inbox.get(seq))
            .filter(|item| item.emitted.is_none() && !settled(item.seq))
            .map(|item| (item.seq, item.priority))
            .collect()
    }

    /// Returns the session whose state a draft changes, with the new state.
    pub(super) fn session_change(
        &self,
        draft: &Draft,
        from: &InboxName,
    ) -> Option<(InboxName, SessionState)> {
        let state = draft.kind.session_state().filter(|_| draft.explicit_kind)?;
        Some((self.about(draft, from)?, state))
    }

    /// Returns the session that a draft stops, for its listeners. A draft without a type counts too, because a job may
    /// report only that it is done. A session with live hooks is stopped only by its hook or by a draft with a type.
    fn stopped(&self, draft: &Draft, from: &InboxName) -> Option<InboxName> {
        let name = self.about(draft, from).filter(|_| is_stop(draft.kind))?;
        let session = self.state.session(&draft.project, &name);
        let by_hook = session.is_some_and(Session::has_hooks);
        (draft.explicit_kind || !by_hook).then_some(name)
    }

    /// Returns the session that a draft is about; `None` if its sender is unknown.
    fn about(&self, draft: &Draft, from: &InboxName) -> Option<InboxName> {
        let name = match &draft.session {
            Some(session) => self.state.called(&draft.project, session),
            None => from,
        };
        let is_known = || self.state.session(&draft.project, name).is_some();
        let named = name.as_str() != InboxName::UNKNOWN || is_known();
        named.then(|| name.clone())
    }
}

/// Completes the JSON with its number and, after `from`, with the sender's name for people.
fn with_id(id: Seq, name: Option<&str>, tail: &Bytes) -> Bytes {
    let mut json = Vec::with_capacity(tail.len() + 80);
    json.extend_from_slice(format!("{{\"id\":{id},").as_bytes());
    let sender = name.and_then(|name| Some((name, behind_sender(tail)?)));
    let (before, after) = tail.split_at(sender.map_or(0, |(_, at)| at));
    json.extend_from_slice(before);
    if let Some((name, _)) = sender {
        // A short name needs no escapes in JSON.
        json.extend_from_slice(format!(",\"from_name\":\"{name}\"").as_bytes());
    }
    json.extend_from_slice(after);
    json.into()
}

/// Returns the offset after the value of `from`, which precedes all free text and contains no escapes.
fn behind_sender(tail: &[u8]) -> Option<usize> {
    const FIELD: &[u8] = b"\"from\":\"";
    let at = tail.windows(FIELD.len()).position(|it| it == FIELD)? + FIELD.len();
    let end = tail[at..].iter().position(|byte| *byte == b'"')?;
    Some(at + end + 1)
}

pub(super) fn person() -> InboxName {
    InboxName::PERSON.parse().expect("a constant name")
}
