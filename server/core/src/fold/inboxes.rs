//! The inboxes of all projects, and an index of each pending notification's inboxes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hub_protocol::{InboxName, ProjectName, Seq, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::deadlines::Deadlines;
use super::delivery::Delivery;
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
    /// The notifications in a row that go to the same inboxes share one place.
    pending: BTreeMap<Seq, Arc<PendingIn>>,
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
        if route.targets.is_empty() || self.pending.contains_key(&seq) {
            return;
        }
        for target in &route.targets {
            let inbox = self.open(&route.project, &target.inbox);
            if inbox.get(seq).is_none() {
                inbox.put(Item::new(seq, route, target, size));
            }
        }
        let mut inboxes: Vec<_> = route.targets.iter().map(|it| it.inbox.clone()).collect();
        inboxes.sort_unstable();
        inboxes.dedup();
        let project = route.project.clone();
        let place = PendingIn { project, inboxes };
        let last = self.pending.last_key_value().map(|(_, last)| last);
        let same = last.filter(|last| ***last == place).cloned();
        self.pending
            .insert(seq, same.unwrap_or_else(|| Arc::new(place)));
        self.deadlines.insert(route.expires_at, seq);
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
        change: impl Fn(&mut Delivery),
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

    fn open(&mut self, project: &ProjectName, name: &InboxName) -> &mut Inbox {
        let inboxes = self.projects.entry(project.clone()).or_default();
        self.count += usize::from(!inboxes.contains_key(name));
        inboxes.entry(name.clone()).or_default()
    }

    /// Removes a notification from one inbox. Returns whether it was pending there.
    pub(super) fn take_from(&mut self, project: &ProjectName, name: &InboxName, seq: Seq) -> bool {
        let inbox = self.get_mut(project, name);
        let Some(item) = inbox.and_then(|inbox| inbox.take(seq)) else {
            return false;
        };
        if let Entry::Occupied(mut place) = self.pending.entry(seq) {
            if place.get().inboxes.len() > 1 {
                let place = Arc::make_mut(place.get_mut());
                place.inboxes.retain(|other| other != name);
            } else {
                place.remove();
                self.deadlines.remove(item.expires_at, seq);
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
        for name in &place.inboxes {
            let inbox = self.get_mut(&place.project, name);
            if let Some(item) = inbox.and_then(|inbox| inbox.take(seq)) {
                self.deadlines.remove(item.expires_at, seq);
            }
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
        self.deadlines = deadlines(&self.projects);
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

/// Returns the pending notifications by the time at which they expire.
fn deadlines(projects: &ByProject<Inbox>) -> Deadlines<Seq> {
    let pending = each(projects, None).flat_map(|(_, _, inbox)| inbox.pending());
    pending.map(|item| (item.expires_at, item.seq)).collect()
}

impl Serialize for Inboxes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.projects.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Inboxes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut inboxes = Self::default();
        let mut pending: Vec<(Seq, Arc<PendingIn>)> = Vec::new();
        for (project, stored) in ByProject::<Inbox>::deserialize(deserializer)? {
            for (name, inbox) in &stored {
                let place = Arc::new(PendingIn {
                    project: project.clone(),
                    inboxes: vec![name.clone()],
                });
                pending.extend(inbox.pending().map(|item| (item.seq, Arc::clone(&place))));
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
                let inboxes = &mut Arc::make_mut(first).inboxes;
                inboxes.extend(again.inboxes.iter().cloned());
            }
            is_same
        });
        inboxes.deadlines = deadlines(&inboxes.projects);
        inboxes.pending = pending.into_iter().collect();
        Ok(inboxes)
    }
}

#[cfg(test)]
mod tests {
    use hub_protocol::Kind;

    use super::*;
    use crate::record::Target;
    use crate::testing;

    #[test]
    fn notifications_in_a_row_share_the_place_where_they_are_pending_also_once_they_are_read_back()
    {
        let mut route = testing::route("worker", Kind::Message, Timestamp::default());
        let mut inboxes = Inboxes::default();
        let names: [InboxName; 2] = ["a", "b"].map(|name| name.parse().unwrap());
        let target = |inbox: &InboxName| Target {
            inbox: inbox.clone(),
            wakes: true,
        };
        route.targets = vec![target(&names[0])];
        (1..=2).for_each(|seq| inboxes.put(seq, &route, 100));
        let read = serde_json::from_value(serde_json::to_value(&inboxes).unwrap()).unwrap();
        assert_eq!(inboxes, read);
        for it in [&inboxes, &read] {
            assert!(Arc::ptr_eq(&it.pending[&1], &it.pending[&2]));
        }

        // What leaves one of its inboxes has a place of its own.
        route.targets = names.iter().map(target).collect();
        (3..=4).for_each(|seq| inboxes.put(seq, &route, 100));
        assert!(Arc::ptr_eq(&inboxes.pending[&3], &inboxes.pending[&4]));
        assert!(inboxes.take_from(&route.project, &names[0], 3));
        assert_eq!(inboxes.pending[&3].inboxes, names[1..]);
        assert_eq!(inboxes.pending[&4].inboxes, names);
    }
}
