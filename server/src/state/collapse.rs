//! Collapse: a newer item with the same key, inbox and sender takes the place of a pending one.

use std::collections::BTreeMap;

use bytes::Bytes;
use hub_protocol::{InboxName, Priority, Seq};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The pending items of one inbox that have a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Collapse {
    /// Usually one item a key; several where older ones were leased when newer ones came.
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
        // A snapshot brings items in the order of delivery, the log in the order of numbers.
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

/// The notification's JSON with this priority; nothing else in it changes, not even the order or spelling of its data.
pub(super) fn with_priority(json: &Bytes, priority: Priority) -> Bytes {
    #[derive(Deserialize)]
    struct Spoken<'a> {
        #[serde(borrow)]
        priority: &'a RawValue,
    }
    let Ok(spoken) = serde_json::from_slice::<Spoken<'_>>(json) else {
        return json.clone();
    };
    // A borrowed raw value is a part of the text it was read from, so its place is known.
    let old = spoken.priority.get();
    let start = old.as_ptr() as usize - json.as_ptr() as usize;
    let (before, after) = (&json[..start], &json[start + old.len()..]);
    let new = format!("\"{priority}\"");
    [before, new.as_bytes(), after].concat().into()
}
