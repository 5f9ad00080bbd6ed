//! The log: the reading side of the journal, which SSE, long-poll and history share.
//!
//! A reader has a cursor and no queue. Recent events come from the ring, older ones from the journal. A slow reader
//! therefore costs no memory and misses no event.

use std::sync::{Arc, RwLock};

use hub_core::record::Record;
use hub_core::sync;
use hub_protocol::{Epoch, InboxName, ProjectName, Seq};
use tokio::sync::watch;

use crate::journal::{Journal, JournalError};
use fanout::{Fanout, FrameFilter, Subscription, Topic};
use ring::Ring;

pub mod archive;
mod event;
pub mod fanout;
mod hidden;
mod index;
pub mod journal;
mod ring;
#[doc(hidden)]
pub mod testing;
pub mod timeline;
pub mod view;

pub use event::Event;

/// Payload bytes that one reader reads from the journal at once.
pub const CHUNK_BYTES: usize = 256 << 10;

/// The log, for its readers.
pub struct Log {
    journal: Arc<dyn Journal>,
    ring: RwLock<Ring>,
    head: watch::Sender<Seq>,
    fanout: Fanout,
    hidden: hidden::HiddenProjects,
    index: RwLock<index::LogIndex>,
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
            hidden: hidden::HiddenProjects::default(),
            index: RwLock::default(),
        }
    }

    /// Hides all notifications of a project below the number `below` from readers.
    pub fn hide(&self, project: &ProjectName, below: Seq) {
        self.hidden.hide(project, below);
    }

    /// Whether `event` is a hidden notification, which no reader may show.
    pub fn hides(&self, event: &Event) -> bool {
        self.hidden.hides(event)
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
    pub fn join(self: &Arc<Self>, topic: Topic, filter: FrameFilter) -> Subscription {
        self.fanout.join(self, topic, filter)
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
        sync::write(&self.ring).push(events);
        self.head.send_replace(head);
        self.fanout.wake();
    }

    /// Returns up to `max` events after `after` from memory; `None` if the ring no longer contains the first of them.
    pub fn recent(&self, after: Seq, max: usize) -> Option<Vec<Arc<Event>>> {
        sync::read(&self.ring).after(after, max, || self.head())
    }

    /// Returns events after `after`, from memory or disk; empty at the head. May block on the disk.
    pub fn read(&self, after: Seq, max_bytes: usize) -> Result<Vec<Arc<Event>>, JournalError> {
        if let Some(events) = self.recent(after, 256) {
            return Ok(events);
        }
        self.stored(after + 1, max_bytes)
    }

    /// Returns the event with the number `seq`; `None` if it is not kept. May block on the disk.
    pub fn get(&self, seq: Seq) -> Result<Option<Arc<Event>>, JournalError> {
        if seq == 0 || seq > self.head() || seq < self.earliest() {
            return Ok(None);
        }
        let events = match self.recent(seq - 1, 1) {
            Some(events) => events,
            None => self.stored(seq, 1)?,
        };
        Ok(events.into_iter().next().filter(|event| event.seq() == seq))
    }

    /// Returns the position at or after `after` behind which the next record that one of the notifications `ids` has in
    /// its trace may be. Everything between the two concerns none of them.
    pub fn before_next_step(&self, after: Seq, ids: &[Seq]) -> Seq {
        sync::read(&self.index).pass(after, ids)
    }

    /// Returns the newest range of records below `before` that may be in the conversations of one of `inboxes`: its first
    /// number and its end. Everything between the two places is in none of them. `None` at the beginning of the log.
    pub fn said_before(
        &self,
        before: Seq,
        inboxes: &[(&ProjectName, &InboxName)],
    ) -> Option<(Seq, Seq)> {
        let (first, end) = sync::read(&self.index).said_before(before, inboxes)?;
        let first = first.max(self.earliest());
        (first < end).then_some((first, end))
    }

    /// Continues the index, by about `max_bytes` of payload. Only one thread may call it.
    pub fn extend_index(&self, max_bytes: usize) -> Result<(), JournalError> {
        sync::write(&self.index).drop_below(self.earliest());
        let mut read = 0;
        while read < max_bytes {
            let until = sync::read(&self.index).until();
            let events = self.read(until.max(self.earliest() - 1), CHUNK_BYTES)?;
            if events.is_empty() {
                break;
            }
            read += { events.iter() }
                .map(|it| it.entry().payload.len())
                .sum::<usize>();
            sync::write(&self.index).add(&events);
        }
        Ok(())
    }

    /// Returns events from `from` on, from the journal.
    fn stored(&self, from: Seq, max_bytes: usize) -> Result<Vec<Arc<Event>>, JournalError> {
        let entries = self.journal.read(from, max_bytes)?.into_iter();
        Ok(entries.map(|entry| Arc::new(entry.into())).collect())
    }
}
