//! An event: an entry of the log as its readers share it.

use std::sync::OnceLock;

use bytes::Bytes;
use hub_core::record::{Notified, Record, notification_json};
use hub_protocol::Seq;

use crate::journal::Entry;

/// An entry of the log. Its record is decoded at the first use and shared by all readers.
#[derive(Debug)]
pub struct Event {
    entry: Entry,
    record: OnceLock<Option<Record>>,
    frame: OnceLock<Option<Bytes>>,
}

impl Event {
    /// Creates an event whose record is already decoded.
    pub fn new(entry: Entry, record: Record) -> Self {
        Self {
            entry,
            record: OnceLock::from(Some(record)),
            frame: OnceLock::new(),
        }
    }

    /// Returns the entry's number.
    pub fn seq(&self) -> Seq {
        self.entry.seq
    }

    /// Returns the entry's kind byte, see [`hub_core::record::kinds`].
    pub fn kind(&self) -> u8 {
        self.entry.kind
    }

    /// Returns the entry in its stored form.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Returns the decoded record; `None` if this build cannot decode it.
    pub fn record(&self) -> Option<&Record> {
        let decode = || Record::decode(self.entry.kind, &self.entry.payload).ok();
        self.record.get_or_init(decode).as_ref()
    }

    /// Returns the notification; `None` if the record is of another kind.
    pub fn notified(&self) -> Option<&Notified> {
        match self.record()? {
            Record::Notified(notified) => Some(notified),
            _ => None,
        }
    }

    /// Returns the notification's immutable JSON without decoding the record; `None` if the record contains none.
    pub fn json(&self) -> Option<Bytes> {
        let json = notification_json(self.entry.kind, &self.entry.payload)?;
        Some(self.entry.payload.slice_ref(json))
    }

    /// Returns the same bytes as [`Self::json`], borrowed.
    pub fn json_bytes(&self) -> Option<&[u8]> {
        notification_json(self.entry.kind, &self.entry.payload)
    }

    /// Returns the frame that `make` returned at the first call; all readers share it.
    pub fn frame(&self, make: impl FnOnce(&Self) -> Option<Bytes>) -> Option<&Bytes> {
        self.frame.get_or_init(|| make(self)).as_ref()
    }
}

impl From<Entry> for Event {
    fn from(entry: Entry) -> Self {
        Self {
            entry,
            record: OnceLock::new(),
            frame: OnceLock::new(),
        }
    }
}
