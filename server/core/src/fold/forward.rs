//! How far each forward is.

use std::collections::BTreeMap;

use hub_protocol::{Seq, Timestamp};
use serde::{Deserialize, Serialize};

use crate::record::{ForwardNoted, Record};

/// The position of a forward.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardCursor {
    /// The last record that it is done with.
    pub up_to: Seq,
    /// The target's id of the last answer that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// The positions of all forwards, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Forwards(BTreeMap<String, ForwardCursor>);

impl Forwards {
    /// Returns the position of a forward; `None` if it has not started yet.
    pub fn get(&self, name: &str) -> Option<&ForwardCursor> {
        self.0.get(name)
    }

    pub(super) fn decide(
        &self,
        name: &str,
        up_to: Option<Seq>,
        answer: Option<&str>,
        at: Timestamp,
    ) -> Vec<Record> {
        let record = ForwardNoted {
            name: name.to_owned(),
            up_to,
            answer: answer.map(str::to_owned),
            at,
        };
        let known = self.get(name).cloned();
        let new = advanced(known.clone().unwrap_or_default(), &record);
        if known.as_ref() == Some(&new) {
            return Vec::new();
        }
        vec![Record::ForwardNoted(record)]
    }

    pub(super) fn note(&mut self, record: &ForwardNoted) {
        let cursor = self.0.entry(record.name.clone()).or_default();
        *cursor = advanced(std::mem::take(cursor), record);
    }
}

/// The position after a record. It never goes back.
fn advanced(cursor: ForwardCursor, record: &ForwardNoted) -> ForwardCursor {
    ForwardCursor {
        up_to: cursor.up_to.max(record.up_to.unwrap_or(0)),
        answer: record.answer.clone().or(cursor.answer),
    }
}
