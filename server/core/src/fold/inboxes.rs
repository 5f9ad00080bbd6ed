//! The inboxes of all projects, and an index of each pending notification's inboxes.

use std::collections::{BTreeMap, BTreeSet};

use hub_protocol::{InboxName, ProjectName, Seq, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::deadlines::Deadlines;
use super::inbox::{Inbox, Item};
use super::status::settled;
use super::{ByProject, State, each};
use crate::command::Refusal;
use crate::record::{InboxClosed, Record, Route, SettleReason};

/// The inboxes, with indexes over their pending notifications.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inboxes {
    projects: ByProject<Inbox>,
    count: usize,
    pending: BTreeMap<Seq, PendingIn>,
    deadlines: Deadlines<Seq>,
    /// Inboxes with deliveries that no hook event has proved yet.
    unproven: BTreeSet<(ProjectName, InboxName)>,
}

/// The inboxes in which a notification is pending.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PendingIn {
    project: ProjectName,
    /// Sorted by name.
    inboxes: Vec<InboxName>,
    expires_at: Timestamp,
}

impl Inboxes {
    /// Returns an inbox, if it was ever written to and not closed since.
    pub fn get(&self, project: &ProjectName, name: &InboxName) -> Option<&Inbox> {
        self.projects.get(project)?.get(name)
    }

    /// Returns the inboxes of one project, or of all, sorted by name.
    pub fn iter(
        &self,
        project: Option<&ProjectName>,
    ) -> impl Iterator<Item = (&ProjectName, &InboxName, &Inbox)> {
        each(&self.projects, project)
    }

    /// Returns the number of inboxes in all projects.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn count_in(&self, project: &ProjectName) -> usize {
        self.projects.get(project).map_or(0, BTreeMap::len)
    }

    /// Whether an inbox exists and holds nothing.
    pub(super) fn is_empty(&self, project: &ProjectName, name: &InboxName) -> bool {
        self.get(project, name).is_some_and(Inbox::is_empty)
    }

    /// Whether an inbox holds notifications.
    pub(super) fn holds_mail(&self, project: &ProjectName, name: &InboxName) -> bool {
        self.get(project, name).is_some_and(|it| !it.is_empty())
    }

    /// Returns the pending items of a project with `key`, from one sender or from any.
    pub fn keyed(&self, project: &ProjectName, from: Option<&InboxName>, key: &str) -> Vec<Seq> {
        let inboxes = self.iter(Some(project));
        inboxes.flat_map(|(_, _, it)| it.keyed(from, key)).collect()
    }

    pub(super) fn is_pending(&self, seq: Seq) -> bool {
        self.pending.contains_key(&seq)
    }

    /// Returns the inboxes in which a notification is pending.
    pub fn pending_in(&self, seq: Seq) -> Vec<(ProjectName, InboxName)> {
        let it = self.pending.get(&seq).into_iter();
        let inboxes = it.flat_map(|it| it.inboxes.iter().map(|name| (&it.project, name)));
        inboxes
            .map(|(project, name)| (project.clone(), name.clone()))
            .collect()
    }

    /// Returns the pending notifications below `seq`, ascending.
    pub(super) fn pending_below(&self, seq: Seq) -> impl Iterator<Item = Seq> {
        self.pending.range(..seq).map(|(&id, _)| id)
    }

    /// Returns the expired notifications, earliest expiry first.
    pub(super) fn due(&self, now: Timestamp) -> impl Iterator<Item = Seq> {
        self.deadlines.due(now).copied()
    }

    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.next()
    }

    /// Makes a notification pending in its target inboxes.
    pub(super) fn put(&mut self, seq: Seq, route: &Route, size: u32) {
        if self.pending.contains_key(&seq) {
            return;
        }
        for target in &route.targets {
            let item = Item::new(seq, route, target, size);
            self.put_item(&route.project, &target.inbox, item);
        }
    }

    fn get_mut(&mut self, project: &ProjectName, name: &InboxName) -> Option<&mut Inbox> {
        self.projects.get_mut(project)?.get_mut(name)
    }

    /// Changes the delivery of items.
    pub(super) fn change(
        &mut self,
        project: &ProjectName,
        name: &InboxName,
        ids: &[Seq],
        change: impl Fn(&mut Item),
    ) {
        if let Some(inbox) = self.get_mut(project, name) {
            for id in ids {
                inbox.change(*id, &change);
            }
            self.note_unproven(project, name);
        }
    }

    /// Returns the inboxes with deliveries that no hook event has proved yet.
    pub(super) fn unproven(&self) -> impl Iterator<Item = (&ProjectName, &InboxName, &Inbox)> {
        let places = self.unproven.iter();
        places.filter_map(|(project, name)| Some((project, name, self.get(project, name)?)))
    }

    fn note_unproven(&mut self, project: &ProjectName, name: &InboxName) {
        let known = !self.unproven.is_empty();
        let open = self
            .get(project, name)
            .is_some_and(|inbox| !inbox.unproven().is_empty());
        if open {
            self.unproven.insert((project.clone(), name.clone()));
        } else if known {
            self.unproven.remove(&(project.clone(), name.clone()));
        }
    }

    fn put_item(&mut self, project: &ProjectName, name: &InboxName, item: Item) {
        let inbox = self.open(project, name);
        if inbox.get(item.seq).is_some() {
            return;
        }
        let (seq, expires_at) = (item.seq, item.expires_at);
        inbox.put(item);
        self.index(project, name, seq, expires_at);
    }

    fn open(&mut self, project: &ProjectName, name: &InboxName) -> &mut Inbox {
        let inboxes = self.projects.entry(project.clone()).or_default();
        self.count += usize::from(!inboxes.contains_key(name));
        inboxes.entry(name.clone()).or_default()
    }

    fn index(&mut self, project: &ProjectName, name: &InboxName, seq: Seq, expires_at: Timestamp) {
        let place = self.pending.entry(seq).or_insert_with(|| PendingIn {
            project: project.clone(),
            inboxes: Vec::with_capacity(1),
            expires_at,
        });
        if let Err(at) = place.inboxes.binary_search(name) {
            place.inboxes.insert(at, name.clone());
        }
        self.deadlines.insert(expires_at, seq);
    }

    /// Removes a notification from one inbox. Returns whether it was pending there.
    pub(super) fn take_from(&mut self, project: &ProjectName, name: &InboxName, seq: Seq) -> bool {
        let inbox = self.get_mut(project, name);
        if inbox.and_then(|inbox| inbox.take(seq)).is_none() {
            return false;
        }
        if let Some(place) = self.pending.get_mut(&seq) {
            place.inboxes.retain(|other| other != name);
            if place.inboxes.is_empty() {
                self.deadlines.remove(place.expires_at, seq);
                self.pending.remove(&seq);
            }
        }
        self.note_unproven(project, name);
        true
    }

    /// Removes a notification from every inbox. Returns whether it was pending in any.
    pub(super) fn take(&mut self, seq: Seq) -> bool {
        let Some(place) = self.pending.remove(&seq) else {
            return false;
        };
        self.deadlines.remove(place.expires_at, seq);
        if let Some(inboxes) = self.projects.get_mut(&place.project) {
            for name in &place.inboxes {
                inboxes.get_mut(name).and_then(|inbox| inbox.take(seq));
            }
        }
        for name in &place.inboxes {
            self.note_unproven(&place.project, name);
        }
        true
    }

    /// Removes an inbox. Returns the notifications that were pending there.
    pub(super) fn close(&mut self, project: &ProjectName, name: &InboxName) -> Vec<Seq> {
        let Some(inbox) = self.get(project, name) else {
            return Vec::new();
        };
        let pending: Vec<Seq> = inbox.pending().map(|item| item.seq).collect();
        for &seq in &pending {
            self.take_from(project, name, seq);
        }
        if let Some(inboxes) = self.projects.get_mut(project) {
            inboxes.remove(name);
            self.count -= 1;
            if inboxes.is_empty() {
                self.projects.remove(project);
            }
        }
        pending
    }

    /// Removes every inbox of a project. Returns the notifications that were pending there.
    pub(super) fn close_all(&mut self, project: &ProjectName) -> Vec<Seq> {
        let names: Vec<InboxName> = self
            .iter(Some(project))
            .map(|(_, name, _)| name.clone())
            .collect();
        names
            .iter()
            .flat_map(|name| self.close(project, name))
            .collect()
    }

    /// Moves every expiry time by `delta_ms`.
    pub(super) fn shift(&mut self, delta_ms: i64) {
        for inbox in self.projects.values_mut().flat_map(BTreeMap::values_mut) {
            inbox.shift(delta_ms);
        }
        self.deadlines.clear();
        for (seq, place) in &mut self.pending {
            place.expires_at = place.expires_at.plus_millis(delta_ms);
            self.deadlines.insert(place.expires_at, *seq);
        }
    }
}

impl State {
    pub(super) fn decide_close(
        &self,
        project: &ProjectName,
        name: &InboxName,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let Some(inbox) = self.inboxes.get(project, name) else {
            return Err(Refusal::UnknownInbox {
                project: project.clone(),
                inbox: name.clone(),
                nearest: self.nearest_inbox(project, name),
                elsewhere: self.sessions.elsewhere(project, name).cloned(),
            });
        };
        let pending = inbox.pending().map(|item| item.seq).collect();
        let (place, dropped) = (Some((project, name)), SettleReason::Dropped);
        let mut records = settled(pending, place, dropped, None, now);
        records.push(Record::InboxClosed(InboxClosed {
            project: project.clone(),
            inbox: name.clone(),
            at: now,
        }));
        Ok(records)
    }

    pub(super) fn apply_inbox_closed(&mut self, it: &InboxClosed) {
        for id in self.inboxes.close(&it.project, &it.inbox) {
            self.settle(id, SettleReason::Dropped);
        }
        self.sessions.forget_ended(&it.project, &it.inbox);
    }
}

impl Serialize for Inboxes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.projects.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Inboxes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut inboxes = Self::default();
        let mut pending: Vec<(Seq, PendingIn)> = Vec::new();
        for (project, stored) in ByProject::<Inbox>::deserialize(deserializer)? {
            for (name, inbox) in &stored {
                let place = |item: &Item| PendingIn {
                    project: project.clone(),
                    inboxes: vec![name.clone()],
                    expires_at: item.expires_at,
                };
                pending.extend(inbox.pending().map(|item| (item.seq, place(item))));
            }
            inboxes.count += stored.len();
            let unproven = stored
                .iter()
                .filter(|(_, inbox)| !inbox.unproven().is_empty());
            let unproven: Vec<_> = unproven.map(|(name, _)| name.clone()).collect();
            inboxes.projects.insert(project.clone(), stored);
            for name in unproven {
                inboxes.note_unproven(&project, &name);
            }
        }
        // The inboxes of a notification come in the order of their names, and stay in it.
        pending.sort_by_key(|(seq, _)| *seq);
        pending.dedup_by(|(seq, again), (known, first)| {
            let is_same = seq == known;
            if is_same {
                first.inboxes.append(&mut again.inboxes);
            }
            is_same
        });
        let deadlines = pending.iter().map(|(seq, it)| (it.expires_at, *seq));
        inboxes.deadlines = deadlines.collect();
        inboxes.pending = pending.into_iter().collect();
        Ok(inboxes)
    }
}
