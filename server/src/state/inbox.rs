//! One inbox: what is pending there, in the order of delivery.

use std::collections::BTreeMap;

use hub_protocol::{InboxName, Kind, Priority, Seq, Timestamp, Way};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::collapse::Collapse;
use super::receipt::Receipts;

/// A notification that is pending in an inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its number.
    pub seq: Seq,
    /// Who said it.
    pub from: InboxName,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// How it is ordered.
    pub priority: Priority,
    /// When it was said.
    pub ts: Timestamp,
    /// When it stops being offered, moved as the wall clock was.
    pub expires_at: Timestamp,
    /// Whether it wakes the waiter here, or rides along.
    pub wakes: bool,
    /// How many replies lie before it.
    #[serde(default)]
    pub hops: u32,
    /// Bytes of its JSON.
    #[serde(default)]
    pub size: u32,
    /// What it replaces, and what replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Since when its reader has it, by its own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emitted: Option<(Timestamp, Way)>,
    /// Ways in which it did not arrive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Way>,
    /// When nothing had proved that it arrived, until somebody was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned: Option<Timestamp>,
    /// Whether the person was told that it reaches nobody.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
}

/// What is pending in one inbox. Whatever was routed here and is not pending is settled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inbox {
    /// One queue for each priority, most important first.
    queues: [BTreeMap<Seq, Item>; 4],
    collapse: Collapse,
    receipts: Receipts,
}

impl Inbox {
    /// What is pending, in the order of delivery: most important first, then oldest first.
    pub fn pending(&self) -> impl Iterator<Item = &Item> {
        self.queues.iter().flat_map(BTreeMap::values)
    }

    /// What can be offered to a reader: what is pending and was not shown to one.
    pub fn offerable(&self) -> impl Iterator<Item = &Item> {
        self.pending().filter(|item| item.emitted.is_none())
    }

    /// How many items a reader has, by its own word, and nothing proved yet.
    pub fn emitted(&self) -> &Receipts {
        &self.receipts
    }

    /// The item with this number, if it is pending here.
    pub fn get(&self, seq: Seq) -> Option<&Item> {
        self.queues.iter().find_map(|queue| queue.get(&seq))
    }

    /// How many items are pending.
    pub fn len(&self) -> usize {
        self.queues.iter().map(BTreeMap::len).sum()
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.queues.iter().all(BTreeMap::is_empty)
    }

    /// The oldest pending item.
    pub fn oldest(&self) -> Option<&Item> {
        self.queues
            .iter()
            .filter_map(|queue| queue.values().next())
            .min_by_key(|item| item.seq)
    }

    /// The pending items that a newer one from `from` with `key` would replace.
    pub(super) fn replaceable(&self, from: &InboxName, key: &str) -> &[Seq] {
        self.collapse.get(from, key)
    }

    /// The pending items with `key`, from one sender or from any.
    pub(super) fn keyed(&self, from: Option<&InboxName>, key: &str) -> Vec<Seq> {
        match from {
            Some(from) => self.collapse.get(from, key).to_vec(),
            None => self.collapse.of_any_sender(key).collect(),
        }
    }

    /// Adds an item with a number that is not pending here.
    pub(super) fn put(&mut self, item: Item) {
        if let Some(key) = &item.key {
            self.collapse.insert(&item.from, key, item.seq);
        }
        self.receipts.insert(&item);
        self.queues[item.priority as usize].insert(item.seq, item);
    }

    pub(super) fn take(&mut self, seq: Seq) -> Option<Item> {
        let item = self
            .queues
            .iter_mut()
            .find_map(|queue| queue.remove(&seq))?;
        if let Some(key) = &item.key {
            self.collapse.remove(&item.from, key, seq);
        }
        self.receipts.remove(&item);
        Some(item)
    }

    /// Changes what is known of an item's delivery.
    pub(super) fn deliver(&mut self, seq: Seq, change: impl FnOnce(&mut Item)) {
        let found = self.queues.iter_mut().find_map(|queue| queue.get_mut(&seq));
        if let Some(item) = found {
            self.receipts.remove(item);
            change(item);
            self.receipts.insert(item);
        }
    }

    pub(super) fn shift(&mut self, delta_ms: i64) {
        for item in self.queues.iter_mut().flat_map(BTreeMap::values_mut) {
            item.expires_at = item.expires_at.plus_millis(delta_ms);
            self.receipts.remove(item);
            if let Some((at, _)) = &mut item.emitted {
                *at = at.plus_millis(delta_ms);
            }
            item.returned = item.returned.map(|at| at.plus_millis(delta_ms));
            self.receipts.insert(item);
        }
    }
}

impl Serialize for Inbox {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.pending())
    }
}

impl<'de> Deserialize<'de> for Inbox {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut inbox = Self::default();
        for item in Vec::<Item>::deserialize(deserializer)? {
            inbox.put(item);
        }
        Ok(inbox)
    }
}
