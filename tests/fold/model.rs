//! The naive model: it stores every notification for ever, and each query scans all of them.

use std::collections::{BTreeMap, BTreeSet};

use hub_core::command::{IdempotencyKey, Refusal};
use hub_core::fold::Status;
use hub_core::notification::Draft;
use hub_core::record::SettleReason;
use hub_protocol::{InboxName, Kind, Notification, Priority, ProjectName, Seq, Timestamp, Way};

mod agents;
mod listeners;
mod questions;
mod rules;

pub(crate) use agents::{Key, Session};
pub(crate) use listeners::Pair;
use questions::Question;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

pub(crate) type Leases = BTreeSet<(ProjectName, InboxName, Seq)>;

#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    pub(crate) notes: Vec<Note>,
    pub(crate) inboxes: BTreeSet<(ProjectName, InboxName)>,
    pub(crate) sessions: BTreeMap<Key, Session>,
    pub(crate) questions: BTreeMap<Seq, Question>,
    /// The deadline of each listener that has one.
    pub(crate) listeners: BTreeMap<Pair, Option<Timestamp>>,
    /// The stop that each pair last fired for.
    fired: BTreeMap<Pair, Seq>,
    pub(crate) seen: BTreeSet<Seq>,
    pub(crate) kept_from: Seq,
    /// For each project, the number below which its history is hidden.
    pub(crate) hidden: BTreeMap<ProjectName, Seq>,
    pub(crate) paused_until: Option<Timestamp>,
    keys: Vec<UsedKey>,
    /// Until when the rule with a cooldown does not fire on a sender.
    quiet: BTreeMap<Key, Timestamp>,
    /// The deadline of each notification's escalation.
    escalations: BTreeMap<Seq, (ProjectName, Timestamp)>,
    /// The phase that a rule last fired on.
    stays: BTreeMap<Key, Timestamp>,
    /// The projects of the firings whose programs were not started yet.
    pub(crate) runs: Vec<ProjectName>,
}

#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub(crate) id: Seq,
    pub(crate) body: Notification,
    pub(crate) priority: Priority,
    pub(crate) expires_at: Timestamp,
    /// The number of the record that contains its JSON.
    pub(crate) location: Seq,
    pub(crate) places: Vec<Place>,
    loss: Option<SettleReason>,
}

#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) inbox: InboxName,
    pub(crate) wakes: bool,
    pub(crate) pending: bool,
    /// When and how its reader has shown it.
    pub(crate) emitted: Option<(Timestamp, Way)>,
    /// When it was offered again because no event had proved its delivery.
    pub(crate) returned: Option<Timestamp>,
    /// Whether the person was notified of that.
    pub(crate) told: bool,
}

#[derive(Debug, Clone)]
struct UsedKey {
    once: IdempotencyKey,
    ids: Vec<Seq>,
    at: Timestamp,
}

impl Note {
    pub(crate) fn is_pending(&self) -> bool {
        self.places.iter().any(|place| place.pending)
    }

    fn settle(&mut self, inbox: Option<&InboxName>, how: SettleReason) {
        for place in &mut self.places {
            if place.pending && inbox.is_none_or(|inbox| *inbox == place.inbox) {
                place.pending = false;
                if how != SettleReason::Acked {
                    self.loss = Some(how);
                }
            }
        }
    }

    pub(crate) fn status(&self) -> Status {
        match self.loss {
            _ if self.places.is_empty() => Status::Recorded,
            _ if self.is_pending() => Status::Pending,
            None | Some(SettleReason::Acked) => Status::Acked,
            Some(SettleReason::Expired) => Status::Expired,
            Some(SettleReason::Evicted) => Status::Evicted,
            Some(SettleReason::Superseded) => Status::Superseded,
            Some(SettleReason::Withdrawn) => Status::Withdrawn,
            Some(SettleReason::Answered) => Status::Answered,
            Some(SettleReason::Dropped) => Status::Dropped,
        }
    }
}

impl Model {
    /// Publishes drafts; returns the new ids, or those of the first request with this key.
    pub(crate) fn notify(
        &mut self,
        head: Seq,
        drafts: &[Draft],
        once: Option<&IdempotencyKey>,
        now: Timestamp,
        leases: &Leases,
    ) -> Result<(Vec<Seq>, bool), Refusal> {
        if let Some(once) = once
            && let Some(used) = self.used(&once.key, now)
        {
            return if used.once == *once {
                Ok((used.ids.clone(), true))
            } else {
                Err(Refusal::KeyReused)
            };
        }
        let mut after = self.clone();
        let ids: Vec<Seq> = (head + 1..).take(drafts.len()).collect();
        for (id, draft) in ids.iter().zip(drafts) {
            after.say(*id, draft, now, leases)?;
        }
        for draft in drafts {
            after.close_questions(head, draft);
        }
        let mut next = head + 1 + drafts.len() as Seq;
        for (id, draft) in ids.iter().zip(drafts) {
            if self.tells_a_stop(draft) {
                after.tell_listeners((*id, draft), &mut next, now);
            }
        }
        after.fire(head, next, now);
        if let Some(once) = once {
            // Forgotten keys stay forgotten, even if the clock jumps back unannounced.
            after.keys.retain(|used| used.at.plus_millis(DAY_MS) > now);
            after.keys.push(UsedKey {
                once: once.clone(),
                ids: ids.clone(),
                at: now,
            });
        }
        *self = after;
        Ok((ids, false))
    }

    fn used(&self, key: &str, now: Timestamp) -> Option<&UsedKey> {
        let fresh = |used: &&UsedKey| used.at.plus_millis(DAY_MS) > now;
        self.keys
            .iter()
            .rev()
            .find(|used| used.once.key == key)
            .filter(fresh)
    }

    fn say(
        &mut self,
        id: Seq,
        draft: &Draft,
        now: Timestamp,
        leases: &Leases,
    ) -> Result<(), Refusal> {
        let body = &draft.body;
        if body.expires_at <= now {
            return Err(Refusal::ExpiredAlready);
        }
        let targets = match body.kind {
            Kind::Answer => {
                let asker = self.answer(draft)?;
                match &body.to {
                    Some(_) => self.targets(draft),
                    None => BTreeMap::from([(asker, true)]),
                }
            }
            _ if draft.recorded => BTreeMap::new(),
            _ => self.targets(draft),
        };
        let mut priority = body.priority;
        for note in &mut self.notes {
            let same = body.key.is_some()
                && (&note.body.project, &note.body.from, &note.body.key)
                    == (&body.project, &body.from, &body.key);
            for (inbox, _) in targets.iter().filter(|_| same) {
                let lease = (body.project.clone(), inbox.clone(), note.id);
                let pending = |place: &Place| {
                    place.pending && place.inbox == *inbox && place.emitted.is_none()
                };
                if note.places.iter().any(pending) && !leases.contains(&lease) {
                    priority = priority.min(note.priority);
                    note.settle(Some(inbox), SettleReason::Superseded);
                }
            }
        }
        self.asks(id, draft);
        let silent = draft.quiet || body.hops > 8 || priority == Priority::Low;
        let places = targets.into_iter().map(|(inbox, wakes)| Place {
            inbox,
            wakes: wakes && !silent,
            pending: true,
            emitted: None,
            returned: None,
            told: false,
        });
        let places: Vec<Place> = places.collect();
        for place in &places {
            self.inboxes
                .insert((body.project.clone(), place.inbox.clone()));
        }
        self.change_session(id, draft, &places);
        if body.from.as_str() == "person" {
            self.seen.insert(id);
            self.reply(&body.project, &places);
        }
        self.notes.push(Note {
            id,
            body: body.clone(),
            priority,
            expires_at: body.expires_at,
            location: id,
            places,
            loss: None,
        });
        Ok(())
    }

    /// The table of types: returns each inbox that receives a draft, and whether the draft wakes it.
    fn targets(&self, draft: &Draft) -> BTreeMap<InboxName, bool> {
        let body = &draft.body;
        let name = |text: &str| -> InboxName { text.parse().unwrap() };
        let (primary, person) = (name("primary"), name("person"));
        let from = &body.from;
        let wakes = !matches!(body.kind, Kind::Progress | Kind::Ended);
        let mut targets = BTreeMap::new();
        match body.to.as_ref().map(InboxName::as_str) {
            Some("all") => {
                for ((project, session), it) in &self.sessions {
                    if *project == body.project && it.over.is_none() {
                        targets.insert(session.clone(), wakes);
                    }
                }
                targets.insert(primary.clone(), wakes);
                targets.insert(person, wakes);
                targets.remove(from);
            }
            Some(to) => {
                targets.insert(name(to), wakes && to != from.as_str());
            }
            None if body.kind == Kind::Progress => {}
            None => {
                let approval = body.kind == Kind::Approval;
                targets.extend(
                    draft
                        .body
                        .parent
                        .clone()
                        .map(|name| (name, wakes && !approval)),
                );
                targets.remove(from);
                targets.insert(primary.clone(), wakes && !approval);
                if approval {
                    targets.insert(person, true);
                }
            }
        }
        if *from == primary {
            targets.remove(&primary);
        }
        targets
    }

    pub(crate) fn ack(&mut self, project: &ProjectName, inbox: &InboxName, ids: &[Seq]) {
        for note in self.mut_notes(|note| note.body.project == *project && ids.contains(&note.id)) {
            note.settle(Some(inbox), SettleReason::Acked);
        }
    }

    pub(crate) fn withdraw(&mut self, ids: &[Seq]) {
        self.withdraw_questions(ids);
        for note in self.mut_notes(|note| ids.contains(&note.id)) {
            note.settle(None, SettleReason::Withdrawn);
        }
    }

    pub(crate) fn withdraw_key(
        &mut self,
        project: &ProjectName,
        from: Option<&InboxName>,
        key: &str,
    ) {
        let pending = self.notes.iter().filter(|note| {
            note.is_pending()
                && note.body.project == *project
                && note.body.key.as_deref() == Some(key)
                && from.is_none_or(|from| *from == note.body.from)
        });
        let ids: Vec<Seq> = pending.map(|note| note.id).collect();
        self.withdraw(&ids);
    }

    pub(crate) fn close(&mut self, project: &ProjectName, inbox: &InboxName) {
        let key = (project.clone(), inbox.clone());
        self.inboxes.remove(&key);
        self.forget_over(&key);
        for note in self.mut_notes(|note| note.body.project == *project) {
            note.settle(Some(inbox), SettleReason::Dropped);
        }
    }

    pub(crate) fn reset(&mut self, project: &ProjectName, history: bool) {
        self.inboxes.retain(|(of, _)| of != project);
        self.sessions.retain(|(of, _), _| of != project);
        self.reset_questions(project, history);
        self.listeners.retain(|(of, ..), _| of != project);
        self.fired.retain(|(of, ..), _| of != project);
        self.reset_rules(project);
        for note in self.mut_notes(|note| note.body.project == *project) {
            note.settle(None, SettleReason::Dropped);
        }
    }

    pub(crate) fn tick(&mut self, head: Seq, now: Timestamp) {
        let due = self.due_escalations(now);
        let next = self.late_listeners(head, now);
        let next = self.due_agents(next, now);
        self.escalate(due, next, now);
        self.expire_questions(now);
        for note in self.mut_notes(|note| note.expires_at <= now) {
            note.settle(None, SettleReason::Expired);
        }
    }

    pub(crate) fn clock_moved(&mut self, delta_ms: i64, now: Timestamp) {
        for note in self.mut_notes(Note::is_pending) {
            note.expires_at = note.expires_at.plus_millis(delta_ms);
        }
        self.shift_agents(delta_ms);
        self.shift_rules(delta_ms);
        for until in self.listeners.values_mut().flatten() {
            *until = until.plus_millis(delta_ms);
        }
        for it in self.questions.values_mut().filter(|it| it.is_open()) {
            it.ts = it.ts.plus_millis(delta_ms);
            it.expires_at = it.expires_at.plus_millis(delta_ms);
        }
        for used in &mut self.keys {
            used.at = used.at.plus_millis(delta_ms);
        }
        self.paused_until = Some(now.plus_millis(DAY_MS));
    }

    pub(crate) fn trim(&mut self, below: Seq, carried: &[Seq]) {
        self.kept_from = below;
        self.hidden.retain(|_, hidden| *hidden > below);
        let lost = |note: &Note| note.location < below && !carried.contains(&note.id);
        let ids: Vec<Seq> = self
            .notes
            .iter()
            .filter(|it| lost(it))
            .map(|it| it.id)
            .collect();
        self.questions.retain(|id, _| !ids.contains(id));
        for note in self.mut_notes(lost) {
            note.settle(None, SettleReason::Evicted);
        }
    }

    pub(crate) fn carried(&mut self, id: Seq, location: Seq) {
        for note in self.mut_notes(|note| note.id == id) {
            note.location = location;
        }
    }

    fn mut_notes(&mut self, which: impl Fn(&Note) -> bool) -> impl Iterator<Item = &mut Note> {
        self.notes.iter_mut().filter(move |note| which(note))
    }

    /// Returns the next deadline.
    pub(crate) fn next_deadline(&self) -> Option<Timestamp> {
        let pending = self.notes.iter().filter(|note| note.is_pending());
        let open = self.questions.values().filter(|it| it.is_open());
        let times = pending.map(|note| note.expires_at);
        let until = self.listeners.values().copied().flatten();
        let times = times.chain(open.map(|it| it.expires_at)).chain(until);
        let times = times.chain(self.escalations.values().map(|(_, at)| *at));
        times.chain(self.next_of_agents()).min()
    }

    /// Returns the pending items of an inbox, in order.
    pub(crate) fn pending(&self, project: &ProjectName, inbox: &InboxName) -> Vec<(&Note, &Place)> {
        let mut pending: Vec<(&Note, &Place)> = self
            .notes
            .iter()
            .filter(|note| note.body.project == *project)
            .flat_map(|note| note.places.iter().map(move |place| (note, place)))
            .filter(|(_, place)| place.pending && place.inbox == *inbox)
            .collect();
        pending.sort_by_key(|(note, _)| (note.priority, note.id));
        pending
    }

    /// Returns the notifications that can still be queried.
    pub(crate) fn in_log(&self) -> impl Iterator<Item = &Note> {
        self.notes
            .iter()
            .filter(|note| note.id >= self.kept_from || self.is_asked_for(note))
    }

    /// Returns whether its JSON must still be readable, in the log or carried.
    pub(crate) fn is_asked_for(&self, note: &Note) -> bool {
        note.is_pending() || self.questions.contains_key(&note.id)
    }
}
