//! Collapse: a newer item replaces a pending one with the same key, inbox and sender.

use std::collections::BTreeMap;

use bytes::Bytes;
use hub_protocol::{InboxName, Priority, Seq};
use serde::Deserialize;
use serde_json::value::RawValue;

/// An index of one inbox's pending items that have a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Collapse {
    /// Usually one item for each key; several if older ones were leased when newer ones arrived.
    senders: BTreeMap<InboxName, BTreeMap<String, Vec<Seq>>>,
}

impl Collapse {
    pub(super) fn get(&self, from: &InboxName, key: &str) -> &[Seq] {
        self.senders
            .get(from)
            .and_then(|keys| keys.get(key))
            .map_or(&[], Vec::as_slice)
    }

    pub(super) fn of_any_sender(&self, key: &str) -> impl Iterator<Item = Seq> {
        self.senders
            .values()
            .filter_map(move |keys| keys.get(key))
            .flatten()
            .copied()
    }

    pub(super) fn insert(&mut self, from: &InboxName, key: &str, seq: Seq) {
        if !self.senders.contains_key(from) {
            self.senders.insert(from.clone(), BTreeMap::new());
        }
        let keys = self.senders.get_mut(from).expect("it was just made");
        let seqs = keys.entry(key.to_owned()).or_default();
        seqs.push(seq);
        // A snapshot inserts items in the order of delivery, the log in the order of their numbers.
        seqs.sort_unstable();
    }

    pub(super) fn remove(&mut self, from: &InboxName, key: &str, seq: Seq) {
        let Some(keys) = self.senders.get_mut(from) else {
            return;
        };
        if let Some(seqs) = keys.get_mut(key) {
            seqs.retain(|&other| other != seq);
            if seqs.is_empty() {
                keys.remove(key);
            }
        }
        if keys.is_empty() {
            self.senders.remove(from);
        }
    }
}

/// Returns the notification's JSON with this priority. All other bytes stay the same, including the order and spelling
/// of its data.
pub(super) fn with_priority(json: &Bytes, priority: Priority) -> Bytes {
    #[derive(Deserialize)]
    struct Spoken<'a> {
        #[serde(borrow)]
        priority: &'a RawValue,
    }
    let Ok(spoken) = serde_json::from_slice::<Spoken<'_>>(json) else {
        return json.clone();
    };
    replaced(json, spoken.priority, priority.as_str())
}

/// Replaces the value `old`, which was borrowed from `json`, by the text `new`.
fn replaced(json: &Bytes, old: &RawValue, new: &str) -> Bytes {
    // A borrowed raw value is a slice of the text it was parsed from, so its offset is known.
    let old = old.get();
    let start = old.as_ptr() as usize - json.as_ptr() as usize;
    let (before, after) = (&json[..start], &json[start + old.len()..]);
    let new = format!("\"{new}\"");
    [before, new.as_bytes(), after].concat().into()
}
