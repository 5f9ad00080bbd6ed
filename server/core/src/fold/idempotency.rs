//! Idempotency: a request with a key is carried out once.

use std::collections::{BTreeMap, HashMap};

use hub_protocol::{Seq, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ranges::Ranges;
use crate::command::{Command, IdempotencyKey, Refusal};
use crate::record::{KeyUsed, Record};

/// How long a key is remembered, in milliseconds.
const REMEMBERED_MS: i64 = 24 * 60 * 60 * 1000;
/// The most keys that are remembered.
const MAX_KEYS: usize = 100_000;

/// The keys of past requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdempotencyKeys {
    /// By the number of the record, so the oldest is first.
    used: BTreeMap<Seq, Used>,
    by_key: HashMap<String, Seq>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Used {
    key: String,
    digest: String,
    ids: Ranges,
    at: Timestamp,
}

impl IdempotencyKeys {
    /// Whether a request with this key was carried out before.
    pub fn contains(&self, once: &IdempotencyKey) -> bool {
        self.by_key.contains_key(&once.key)
    }

    /// Returns the notifications that a command stored if it was carried out before. Refuses a key of a different
    /// request.
    pub(super) fn stored_by(
        &self,
        command: &Command,
        now: Timestamp,
    ) -> Result<Option<Vec<Seq>>, Refusal> {
        let Some(once) = command.once().filter(|it| self.contains(it)) else {
            return Ok(None);
        };
        let used = &self.used[&self.by_key[&once.key]];
        if is_over(used.at, now) {
            return Ok(None);
        }
        if used.digest != once.digest {
            return Err(Refusal::KeyReused);
        }
        Ok(Some(used.ids.numbers().collect()))
    }

    /// Remembers a key, and forgets keys that are too old or too many.
    pub(super) fn note(&mut self, seq: Seq, record: &KeyUsed) {
        self.insert(
            seq,
            Used {
                key: record.key.clone(),
                digest: record.digest.clone(),
                ids: record.ids.iter().copied().collect(),
                at: record.at,
            },
        );
        while let Some(oldest) = self.used.first_entry() {
            if self.by_key.len() <= MAX_KEYS && !is_over(oldest.get().at, record.at) {
                break;
            }
            let forgotten = oldest.remove();
            self.by_key.remove(&forgotten.key);
        }
    }

    fn insert(&mut self, seq: Seq, used: Used) {
        if let Some(before) = self.by_key.insert(used.key.clone(), seq) {
            self.used.remove(&before);
        }
        self.used.insert(seq, used);
    }

    pub(super) fn shift(&mut self, delta_ms: i64) {
        for used in self.used.values_mut() {
            used.at = used.at.plus_millis(delta_ms);
        }
    }
}

/// Returns the record that remembers a command's key, whose first record has the number `first`; `None` if it has no key or changes nothing.
pub(super) fn key_used(
    command: &Command,
    records: &[Record],
    first: Seq,
    at: Timestamp,
) -> Option<Record> {
    let once = command.once().filter(|_| !records.is_empty())?;
    // The notifications of a command come first. Those to listeners follow the drafts and are not the request's own.
    let count = match command {
        Command::Notify { drafts, .. } => drafts.len(),
        _ => records.iter().filter(|it| it.is_notification()).count(),
    };
    Some(Record::KeyUsed(KeyUsed {
        key: once.key.clone(),
        digest: once.digest.clone(),
        ids: (first..).take(count).collect(),
        at,
    }))
}

fn is_over(at: Timestamp, now: Timestamp) -> bool {
    at.plus_millis(REMEMBERED_MS) <= now
}

impl Serialize for IdempotencyKeys {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.used.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for IdempotencyKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut keys = Self::default();
        for (seq, used) in BTreeMap::deserialize(deserializer)? {
            keys.insert(seq, used);
        }
        Ok(keys)
    }
}
