//! The inboxes of all projects, and an index of each pending notification's inboxes.

use std::collections::{BTreeMap, BTreeSet};

use hub_protocol::{InboxName, ProjectName, Seq, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::expiry::Deadlines;
use super::inbox::{Inbox, Item};
use crate::core::record::Route;

type Projects = BTreeMap<ProjectName, BTreeMap<InboxName, Inbox>>;

/// The inboxes, with indexes over their pending notifications.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Inboxes {
    projects: Projects,
    count: usize,
    places: BTreeMap<Seq, Place>,
    deadlines: Deadlines,
    /// Inboxes with deliveries that no hook event has proved yet.
    receipts: BTreeSet<(ProjectName, InboxName)>,
}

/// The inboxes in which a notification is pending.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    project: ProjectName,
    /// Sorted by name.
    inboxes: Vec<InboxName>,
    expires_at: Timestamp,
}

impl Inboxes {
    pub(super) fn get(&self, project: &ProjectName, name: &InboxName) -> Option<&Inbox> {
        self.projects.get(project)?.get(name)
    }

    pub(super) fn iter(
        &self,
        project: Option<&ProjectName>,
    ) -> impl Iterator<Item = (&ProjectName, &InboxName, &Inbox)> {
        let (one, all) = match project {
            Some(project) => (self.projects.get_key_value(project), None),
            None => (None, Some(&self.projects)),
        };
        one.into_iter()
            .chain(all.into_iter().flatten())
            .flat_map(|(project, inboxes)| {
                inboxes
                    .iter()
                    .map(move |(name, inbox)| (project, name, inbox))
            })
    }

    /// Returns the number of inboxes in all projects.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn count_in(&self, project: &ProjectName) -> usize {
        self.projects.get(project).map_or(0, BTreeMap::len)
    }

    pub(super) fn names(&self, project: &ProjectName) -> impl Iterator<Item = &InboxName> {
        let inboxes = self.projects.get(project).into_iter();
        inboxes.flat_map(BTreeMap::keys)
    }

    pub(super) fn is_pending(&self, seq: Seq) -> bool {
        self.places.contains_key(&seq)
    }

    /// Returns the inboxes in which a notification is pending.
    pub(super) fn places(&self, seq: Seq) -> Vec<(ProjectName, InboxName)> {
        let place = self.places.get(&seq).into_iter();
        place
            .flat_map(|it| {
                it.inboxes
                    .iter()
                    .map(|name| (it.project.clone(), name.clone()))
            })
            .collect()
    }

    /// Returns the pending notifications below `seq`, ascending.
    pub(super) fn pending_below(&self, seq: Seq) -> impl Iterator<Item = Seq> {
        self.places.range(..seq).map(|(&id, _)| id)
    }

    /// Returns the expired notifications, earliest expiry first.
    pub(super) fn due(&self, now: Timestamp) -> impl Iterator<Item = Seq> {
        self.deadlines.until(now)
    }

    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.next()
    }

    /// Makes a notification pending in its target inboxes.
    pub(super) fn put(&mut self, seq: Seq, route: &Route, size: u32) {
        if self.places.contains_key(&seq) {
            return;
        }
        for target in &route.targets {
            let item = Item {
                seq,
                from: route.from.clone(),
                kind: route.kind,
                priority: route.priority,
                ts: route.ts,
                expires_at: route.expires_at,
                wakes: target.wakes,
                hops: route.hops,
                size,
                key: route.key.clone(),
                emitted: None,
                tried: Vec::new(),
                returned: None,
                told: false,
            };
            self.put_item(&route.project, &target.inbox, item);
        }
    }

    /// Changes the state of an item's delivery.
    pub(super) fn deliver(
        &mut self,
        project: &ProjectName,
        name: &InboxName,
        seq: Seq,
        change: impl FnOnce(&mut Item),
    ) {
        let inbox = self
            .projects
            .get_mut(project)
            .and_then(|inboxes| inboxes.get_mut(name));
        if let Some(inbox) = inbox {
            inbox.deliver(seq, change);
            self.note_receipts(project, name);
        }
    }

    /// Returns the inboxes with deliveries that no hook event has proved yet.
    pub(super) fn unproven(&self) -> impl Iterator<Item = (&ProjectName, &InboxName, &Inbox)> {
        let found = |(project, name)| Some((project, name, self.get(project, name)?));
        self.receipts
            .iter()
            .filter_map(move |(project, name)| found((project, name)))
    }

    fn note_receipts(&mut self, project: &ProjectName, name: &InboxName) {
        let known = !self.receipts.is_empty();
        let open = self
            .get(project, name)
            .is_some_and(|inbox| !inbox.emitted().is_empty());
        if open {
            self.receipts.insert((project.clone(), name.clone()));
        } else if known {
            self.receipts.remove(&(project.clone(), name.clone()));
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
        if !self.projects.contains_key(project) {
            self.projects.insert(project.clone(), BTreeMap::new());
        }
        let inboxes = self.projects.get_mut(project).expect("it was just made");
        if !inboxes.contains_key(name) {
            inboxes.insert(name.clone(), Inbox::default());
            self.count += 1;
        }
        inboxes.get_mut(name).expect("it was just made")
    }

    fn index(&mut self, project: &ProjectName, name: &InboxName, seq: Seq, expires_at: Timestamp) {
        let place = self.places.entry(seq).or_insert_with(|| Place {
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
        let inbox = self
            .projects
            .get_mut(project)
            .and_then(|inboxes| inboxes.get_mut(name));
        if inbox.and_then(|inbox| inbox.take(seq)).is_none() {
            return false;
        }
        if let Some(place) = self.places.get_mut(&seq) {
            place.inboxes.retain(|other| other != name);
            if place.inboxes.is_empty() {
                self.deadlines.remove(place.expires_at, seq);
                self.places.remove(&seq);
            }
        }
        self.note_receipts(project, name);
        true
    }

    /// Removes a notification from every inbox. Returns whether it was pending in any.
    pub(super) fn take(&mut self, seq: Seq) -> bool {
        let Some(place) = self.places.remove(&seq) else {
            return false;
        };
        self.deadlines.remove(place.expires_at, seq);
        if let Some(inboxes) = self.projects.get_mut(&place.project) {
            for name in &place.inboxes {
                inboxes.get_mut(name).and_then(|inbox| inbox.take(seq));
            }
        }
        for name in &place.inboxes {
            self.note_receipts(&place.project, name);
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
        for place in self.places.values_mut() {
            place.expires_at = place.expires_at.plus_millis(delta_ms);
        }
        self.deadlines.shift(delta_ms);
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
        for (project, stored) in Projects::deserialize(deserializer)? {
            for (name, inbox) in &stored {
                for item in inbox.pending() {
                    inboxes.index(&project, name, item.seq, item.expires_at);
                }
            }
            inboxes.count += stored.len();
            let unproven = stored
                .iter()
                .filter(|(_, inbox)| !inbox.emitted().is_empty());
            let unproven: Vec<_> = unproven.map(|(name, _)| name.clone()).collect();
            inboxes.projects.insert(project.clone(), stored);
            for name in unproven {
                inboxes.note_receipts(&project, &name);
            }
        }
        Ok(inboxes)
    }
}
