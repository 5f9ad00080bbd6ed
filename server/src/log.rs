//! The reading side of the journal: what SSE, long-poll and history share.
//!
//! Readers hold a cursor, never a queue. What was written lately is served from a ring of shared events, the rest from
//! the journal, so a slow reader costs no memory and loses nothing.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use bytes::Bytes;
use hub_protocol::{Epoch, ProjectName, Seq};
use tokio::sync::watch;

use crate::journal::{Entry, Journal, JournalError};
use crate::record::{Notified, Record, notification_json};
use fanout::{Choose, Fanout, Subscription, Topic};

pub mod fanout;
mod hidden;

/// Events kept in memory: more than a burst that a live reader may fall behind by, at about 1 KiB each.
const RING_EVENTS: usize = 4096;
/// Bytes kept in memory, where events are large.
const RING_BYTES: usize = 8 << 20;
/// Payload read from the journal at once by one reader.
pub const CHUNK_BYTES: usize = 256 << 10;

/// One entry of the log, decoded when somebody asks, once for all readers.
#[derive(Debug)]
pub struct Event {
    entry: Entry,
    record: OnceLock<Option<Record>>,
    frame: OnceLock<Option<Bytes>>,
}

impl Event {
    /// An event whose record is known.
    pub fn new(entry: Entry, record: Record) -> Self {
        Self {
            entry,
            record: OnceLock::from(Some(record)),
            frame: OnceLock::new(),
        }
    }

    /// Its number.
    pub fn seq(&self) -> Seq {
        self.entry.seq
    }

    /// Its kind byte.
    pub fn kind(&self) -> u8 {
        self.entry.kind
    }

    /// The entry as it is stored.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The record; `None` if this build cannot read it.
    pub fn record(&self) -> Option<&Record> {
        let decode = || Record::decode(self.entry.kind, &self.entry.payload).ok();
        self.record.get_or_init(decode).as_ref()
    }

    /// The notification, if that is what it is.
    pub fn notified(&self) -> Option<&Notified> {
        match self.record()? {
            Record::Notified(notified) => Some(notified),
            _ => None,
        }
    }

    /// The notification's immutable JSON, without decoding the rest.
    pub fn json(&self) -> Option<Bytes> {
        let json = notification_json(self.entry.kind, &self.entry.payload)?;
        Some(self.entry.payload.slice_ref(json))
    }

    /// [`Self::json`], to look at.
    pub fn json_bytes(&self) -> Option<&[u8]> {
        notification_json(self.entry.kind, &self.entry.payload)
    }

    /// What `make` makes of it, made once for all readers.
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

/// The log as its readers see it.
pub struct Log {
    journal: Arc<dyn Journal>,
    ring: RwLock<Ring>,
    head: watch::Sender<Seq>,
    fanout: Fanout,
    hidden: hidden::Hidden,
}

impl Log {
    /// The log in `journal`.
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

    /// Shows nothing any more of what was said in a project before `below`.
    pub fn hide(&self, project: &ProjectName, below: Seq) {
        self.hidden.hide(project, below);
    }

    /// Whether this is a notification that no reader is shown any more.
    pub fn hides(&self, event: &Event) -> bool {
        self.hidden.has(event)
    }

    /// The identity of the journal.
    pub fn epoch(&self) -> Epoch {
        self.journal.epoch()
    }

    /// The last durable record.
    pub fn head(&self) -> Seq {
        *self.head.borrow()
    }

    /// The first record kept.
    pub fn earliest(&self) -> Seq {
        self.journal.earliest()
    }

    /// The journal itself, for what reads it from end to end.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// Wakes whenever anything was committed.
    pub fn subscribe(&self) -> watch::Receiver<Seq> {
        self.head.subscribe()
    }

    /// A place for a stream: what is new is written for it.
    pub fn join(self: &Arc<Self>, topic: Topic, choose: Choose) -> Subscription {
        self.fanout.join(self, topic, choose)
    }

    /// Shows a durable commit to the readers, and wakes them.
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

    /// Up to `max` recent events after `after`, without touching the disk; `None` when that is further back.
    pub fn recent(&self, after: Seq, max: usize) -> Option<Vec<Arc<Event>>> {
        let ring = self.ring.read().unwrap_or_else(PoisonError::into_inner);
        let first = ring
            .events
            .front()
            .map_or_else(|| self.head() + 1, |event| event.seq());
        let skip = usize::try_from((after + 1).checked_sub(first)?).ok()?;
        Some(ring.events.iter().skip(skip).take(max).cloned().collect())
    }

    /// A chunk of events after `after`, from memory or disk; empty at the head. Blocks on the disk.
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

    /// The event with this number, if it is kept. Blocks on the disk.
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
