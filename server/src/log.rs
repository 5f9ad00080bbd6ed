//! The log: the reading side of the journal, which SSE, long-poll and history share.
//!
//! A reader has a cursor and no queue. Recent events come from a ring of shared events, older ones from the journal.
//! A slow reader therefore costs no memory and misses no event.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use bytes::Bytes;
use hub_protocol::{Epoch, ProjectName, Seq};
use tokio::sync::watch;

use crate::core::record::{Notified, Record, notification_json};
use crate::log::journal::{Entry, Journal, JournalError};
use fanout::{Choose, Fanout, Subscription, Topic};

pub mod archive;
pub mod fanout;
mod hidden;
pub mod journal;
pub mod view;

/// The number of events kept in memory, at about 1 KiB each; more than a live reader falls behind in a burst.
const RING_EVENTS: usize = 4096;
/// The most payload bytes kept in memory, for large events.
const RING_BYTES: usize = 8 << 20;
/// Payload bytes that one reader reads from the journal at once.
pub const CHUNK_BYTES: usize = 256 << 10;

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

    /// Returns the entry's kind byte, see [`crate::core::record::kinds`].
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

#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<Arc<Event>>,
    bytes: usize,
}

/// The log, for its readers.
pub struct Log {
    journal: Arc<dyn Journal>,
    ring: RwLock<Ring>,
    head: watch::Sender<Seq>,
    fanout: Fanout,
    hidden: hidden::Hidden,
}

impl Log {
    /// Creates the log of `journal`.
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        let head = watch::Sender::new(journal.head());
        Self {
            journal,
            ring: RwLock::default(),
            head,
            fanout: Fanout::default(),
            hidden: hidden::Hidden::default(),
        }
    }

    /// Hides all notifications of a project below the number `below` from readers.
    pub fn hide(&self, project: &ProjectName, below: Seq) {
        self.hidden.hide(project, below);
    }

    /// Whether `event` is a hidden notification, which no reader may show.
    pub fn hides(&self, event: &Event) -> bool {
        self.hidden.has(event)
    }

    /// Returns the identity of the journal.
    pub fn epoch(&self) -> Epoch {
        self.journal.epoch()
    }

    /// Returns the last durable record.
    pub fn head(&self) -> Seq {
        *self.head.borrow()
    }

    /// Returns the first kept record.
    pub fn earliest(&self) -> Seq {
        self.journal.earliest()
    }

    /// Returns the journal, for code that reads it from end to end.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// Returns a receiver of the head, which is notified of every commit.
    pub fn subscribe(&self) -> watch::Receiver<Seq> {
        self.head.subscribe()
    }

    /// Adds a stream to the fan-out, which writes new events to it.
    pub fn join(self: &Arc<Self>, topic: Topic, choose: Choose) -> Subscription {
        self.fanout.join(self, topic, choose)
    }

    /// Publishes the events of a durable commit to the readers, and wakes them.
    pub fn publish(&self, events: &[Arc<Event>]) {
        let Some(head) = events.last().map(|event| event.seq()) else {
            return;
        };
        for event in events {
            if let Some(Record::Reset(reset)) = event.record()
                && reset.history
            {
                self.hide(&reset.project, event.seq());
            }
        }
        self.ring
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(events);
        self.head.send_replace(head);
        self.fanout.wake();
    }

    /// Returns up to `max` events after `after` from memory; `None` if the ring no longer contains the first of them.
    pub fn recent(&self, after: Seq, max: usize) -> Option<Vec<Arc<Event>>> {
        let ring = self.ring.read().unwrap_or_else(PoisonError::into_inner);
        let first = ring
            .events
            .front()
            .map_or_else(|| self.head() + 1, |event| event.seq());
        let skip = usize::try_from((after + 1).checked_sub(first)?).ok()?;
        Some(ring.events.iter().skip(skip).take(max).cloned().collect())
    }

    /// Returns events after `after`, from memory or disk; empty at the head. May block on the disk.
    pub fn read(&self, after: Seq, max_bytes: usize) -> Result<Vec<Arc<Event>>, JournalError> {
        if let Some(events) = self.recent(after, 256) {
            return Ok(events);
        }
        let entries = self.journal.read(after + 1, max_bytes)?;
        Ok(entries
            .into_iter()
            .map(|entry| Arc::new(Event::from(entry)))
            .collect())
    }

    /// Returns the event with the number `seq`; `None` if it is not kept. May block on the disk.
    pub fn get(&self, seq: Seq) -> Result<Option<Arc<Event>>, JournalError> {
        if seq == 0 || seq > self.head() || seq < self.earliest() {
            return Ok(None);
        }
        let events = match self.recent(seq - 1, 1) {
            Some(events) => events,
            None => self
                .journal
                .read(seq, 1)?
                .into_iter()
                .map(|entry| Arc::new(Event::from(entry)))
                .collect(),
        };
        Ok(events.into_iter().next().filter(|event| event.seq() == seq))
    }
}

impl Ring {
    fn push(&mut self, events: &[Arc<Event>]) {
        for event in events {
            self.bytes += event.entry.payload.len();
            self.events.push_back(Arc::clone(event));
        }
        while self.events.len() > RING_EVENTS || (self.bytes > RING_BYTES && self.events.len() > 1)
        {
            if let Some(oldest) = self.events.pop_front() {
                self.bytes -= oldest.entry.payload.len();
            }
        }
    }
}
