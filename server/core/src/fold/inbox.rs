//! One inbox: its pending notifications in the order of delivery.
//!
//! A notification that was routed to an inbox and is not pending there is settled. Only exceptions to acknowledgement
//! are stored (`status.rs`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use hub_protocol::{InboxName, Kind, Priority, Seq, Timestamp, Way};
use serde::de::{self, SeqAccess, Visitor};
use serde::ser::SerializeSeq as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::collapse::CollapseIndex;
use super::delivery::{Delivery, OFFERED, UnprovenDeliveries};
use crate::record::{Route, Target};

/// A notification that is pending in an inbox. There may be a million in each fold, so what few have is in boxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The notification's number.
    pub seq: Seq,
    /// The sender.
    pub from: InboxName,
    /// The notification's type.
    pub kind: Kind,
    /// The priority that orders it.
    pub priority: Priority,
    /// When it was sent.
    pub ts: Timestamp,
    /// When it expires; a jump of the wall clock moves this time.
    pub expires_at: Timestamp,
    /// Whether it wakes the waiter here; otherwise it is delivered with the next item that does.
    pub wakes: bool,
    /// The number of replies between it and the first notification of its thread.
    pub hops: u32,
    /// The size of its JSON in bytes.
    pub size: u32,
    /// The collapse key: a newer item of the same sender with this key replaces it.
    pub key: Option<Box<str>>,
    /// `None` while no reader has shown it.
    delivery: Option<Box<Delivery>>,
}

impl Item {
    /// The item of a notification in one of its target inboxes, offered to its reader.
    pub(super) fn new(seq: Seq, route: &Route, target: &Target, size: u32) -> Self {
        Self {
            seq,
            from: route.from.clone(),
            kind: route.kind,
            priority: route.priority,
            ts: route.ts,
            expires_at: route.expires_at,
            wakes: target.wakes,
            hops: route.hops,
            size,
            key: route.key.as_deref().map(Box::from),
            delivery: None,
        }
    }

    /// Returns how far its delivery is.
    pub fn delivery(&self) -> &Delivery {
        self.delivery.as_deref().unwrap_or(&OFFERED)
    }
}

/// The pending notifications of one inbox. A notification that was routed here and is not pending is settled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inbox {
    /// One queue for each priority, most important first.
    queues: [BTreeMap<Seq, Item>; 4],
    collapse: CollapseIndex,
    unproven: UnprovenDeliveries,
}

impl Inbox {
    /// Returns the pending items in the order of delivery: highest priority first, then oldest first.
    pub fn pending(&self) -> impl Iterator<Item = &Item> {
        self.queues.iter().flat_map(BTreeMap::values)
    }

    /// Returns the pending items of one priority, oldest first.
    pub fn of_priority(&self, priority: Priority) -> impl Iterator<Item = &Item> {
        self.queues[priority as usize].values()
    }

    /// Returns the items that can be offered to a reader: pending and not shown yet.
    pub fn offerable(&self) -> impl Iterator<Item = &Item> {
        self.pending()
            .filter(|item| item.delivery().emitted.is_none())
    }

    /// Returns the deliveries that no hook event has proved yet.
    pub fn unproven(&self) -> &UnprovenDeliveries {
        &self.unproven
    }

    /// Returns the item with this number, if it is pending here.
    pub fn get(&self, seq: Seq) -> Option<&Item> {
        self.queues.iter().find_map(|queue| queue.get(&seq))
    }

    /// Returns the number of pending items.
    pub fn len(&self) -> usize {
        self.queues.iter().map(BTreeMap::len).sum()
    }

    /// Whether no item is pending.
    pub fn is_empty(&self) -> bool {
        self.queues.iter().all(BTreeMap::is_empty)
    }

    /// Returns the oldest pending item.
    pub fn oldest(&self) -> Option<&Item> {
        self.queues
            .iter()
            .filter_map(|queue| queue.values().next())
            .min_by_key(|item| item.seq)
    }

    /// Returns the pending items with `key`, from one sender or from any.
    pub(super) fn keyed(&self, from: Option<&InboxName>, key: &str) -> Vec<Seq> {
        match from {
            Some(from) => self.collapse.get(from, key).to_vec(),
            None => self.collapse.of_any_sender(key).collect(),
        }
    }

    /// Adds an item whose number must not be pending here yet.
    pub(super) fn put(&mut self, item: Item) {
        self.index(&item);
        self.queues[item.priority as usize].insert(item.seq, item);
    }

    fn index(&mut self, item: &Item) {
        if let Some(key) = &item.key {
            self.collapse.insert(&item.from, key, item.seq);
        }
        self.unproven.insert(item);
    }

    pub(super) fn take(&mut self, seq: Seq) -> Option<Item> {
        let item = self
            .queues
            .iter_mut()
            .find_map(|queue| queue.remove(&seq))?;
        if let Some(key) = &item.key {
            self.collapse.remove(&item.from, key, seq);
        }
        self.unproven.remove(&item);
        Some(item)
    }

    /// Changes the delivery of an item.
    pub(super) fn change(&mut self, seq: Seq, change: impl FnOnce(&mut Delivery)) {
        let found = self.queues.iter_mut().find_map(|queue| queue.get_mut(&seq));
        if let Some(item) = found {
            self.unproven.remove(item);
            let mut delivery = item.delivery.take().unwrap_or_default();
            change(&mut delivery);
            item.delivery = Some(delivery).filter(|it| **it != OFFERED);
            self.unproven.insert(item);
        }
    }

    pub(super) fn shift(&mut self, delta_ms: i64) {
        for item in self.queues.iter_mut().flat_map(BTreeMap::values_mut) {
            item.expires_at = item.expires_at.plus_millis(delta_ms);
            self.unproven.remove(item);
            if let Some(delivery) = &mut item.delivery {
                delivery.shift(delta_ms);
            }
            self.unproven.insert(item);
        }
    }
}

/// As the list of its fields, without the last ones while nothing has been delivered: in a snapshot with a million items, the
/// names of the fields would be most of it. Snapshots of earlier versions have objects, which are read too.
impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let has_more = self.key.is_some() || self.delivery.is_some();
        let mut list = serializer.serialize_seq(None)?;
        list.serialize_element(&self.seq)?;
        list.serialize_element(&self.from)?;
        list.serialize_element(&self.kind)?;
        list.serialize_element(&self.priority)?;
        list.serialize_element(&self.ts.as_millis())?;
        list.serialize_element(&self.expires_at.as_millis())?;
        list.serialize_element(&self.wakes)?;
        list.serialize_element(&self.hops)?;
        list.serialize_element(&self.size)?;
        if has_more {
            let delivery = self.delivery();
            list.serialize_element(&self.key)?;
            list.serialize_element(&delivery.emitted)?;
            list.serialize_element(&delivery.tried)?;
            list.serialize_element(&delivery.returned)?;
            list.serialize_element(&delivery.escalated)?;
        }
        list.end()
    }
}

/// An [`Item`] in a snapshot.
#[derive(Deserialize)]
struct StoredItem<'a> {
    seq: Seq,
    #[serde(borrow)]
    from: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: Kind,
    priority: Priority,
    #[serde(deserialize_with = "millis_or_text")]
    ts: Timestamp,
    #[serde(deserialize_with = "millis_or_text")]
    expires_at: Timestamp,
    wakes: bool,
    #[serde(default)]
    hops: u32,
    #[serde(default)]
    size: u32,
    #[serde(default)]
    key: Option<Box<str>>,
    #[serde(default)]
    emitted: Option<(Timestamp, Way)>,
    #[serde(default)]
    tried: Vec<Way>,
    #[serde(default)]
    returned: Option<Timestamp>,
    #[serde(default, rename = "told")]
    escalated: bool,
}

impl StoredItem<'_> {
    /// Returns the item, whose sender is read before.
    fn sent_by(self, from: InboxName) -> Item {
        let delivery = Delivery {
            emitted: self.emitted,
            tried: self.tried,
            returned: self.returned,
            escalated: self.escalated,
        };
        Item {
            seq: self.seq,
            from,
            kind: self.kind,
            priority: self.priority,
            ts: self.ts,
            expires_at: self.expires_at,
            wakes: self.wakes,
            hops: self.hops,
            size: self.size,
            key: self.key,
            delivery: (delivery != OFFERED).then(|| Box::new(delivery)),
        }
    }
}

/// Reads a time that is stored as milliseconds, or as text by earlier versions.
fn millis_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    struct Either;
    impl Visitor<'_> for Either {
        type Value = Timestamp;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("milliseconds since 1970, or a time in RFC 3339")
        }

        fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Timestamp, E> {
            Ok(Timestamp::from_millis(
                i64::try_from(millis).unwrap_or(i64::MAX),
            ))
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
            text.parse().map_err(E::custom)
        }
    }
    deserializer.deserialize_any(Either)
}

impl Serialize for Inbox {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.pending())
    }
}

impl<'de> Deserialize<'de> for Inbox {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(InboxVisitor)
    }
}

/// Reads the items of an inbox one by one: a list of a million of them would be most of the memory of a start.
struct InboxVisitor;

impl<'de> Visitor<'de> for InboxVisitor {
    type Value = Inbox;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the pending notifications of an inbox")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Inbox, A::Error> {
        let mut inbox = Inbox::default();
        let mut queues: [Vec<(Seq, Item)>; 4] = Default::default();
        let mut sender = InboxName::default();
        while let Some(stored) = items.next_element::<StoredItem>()? {
            // One text for a row of items of one sender.
            if sender.as_str() != stored.from {
                sender = stored.from.parse().map_err(de::Error::custom)?;
            }
            let item = stored.sent_by(sender.clone());
            inbox.index(&item);
            queues[item.priority as usize].push((item.seq, item));
        }
        // Built as a whole, the nodes of a tree are full.
        inbox.queues = queues.map(BTreeMap::from_iter);
        Ok(inbox)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pending_item_is_small() {
        // Each of the two folds of a hub has a million of them in memory, and fills as much at the start.
        assert!(size_of::<Item>() <= 80, "{}", size_of::<Item>());
    }

    #[test]
    fn an_inbox_is_read_back_as_it_was_also_if_an_earlier_version_has_written_it() {
        let plain = json!({
            "seq": 7, "from": "worker", "type": "complete", "priority": "high", "wakes": true, "hops": 1, "size": 300,
            "ts": "2026-11-28T14:31:31.880Z", "expires_at": "2026-12-05T14:31:31.880Z",
        });
        let mut shown = plain.clone();
        let delivery = json!({
            "seq": 8, "key": "k", "emitted": ["2026-11-28T14:31:32.000Z", "wait"], "tried": ["pane"],
            "returned": "2026-11-28T14:31:33.000Z", "told": true,
        });
        let delivery = delivery.as_object().expect("an object").clone();
        shown.as_object_mut().expect("an object").extend(delivery);
        let inbox: Inbox = serde_json::from_value(json!([plain, shown])).unwrap();
        assert_eq!(inbox.get(8).unwrap().key.as_deref(), Some("k"));
        assert!(inbox.get(8).unwrap().delivery().escalated);
        let written = serde_json::to_value(&inbox).unwrap();
        let first = json!([
            7,
            "worker",
            "complete",
            "high",
            1_795_876_291_880_i64,
            1_796_481_091_880_i64,
            true,
            1,
            300
        ]);
        assert_eq!(written[0], first);
        assert_eq!(serde_json::from_value::<Inbox>(written).unwrap(), inbox);
    }
}
