//! The readers' fold: a second fold of the log, which queries and the archive share, so that neither runs on the writer
//! thread.
//!
//! It lags behind until someone reads it: a read first applies the events that are durable by then. The archive does so
//! every second, so a read after a long silence has little to apply.

use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard};

use hub_core::fold::State;
use hub_core::record::Record;
use hub_core::sync::{lock, read, write};
use hub_protocol::Seq;

use super::archive::{RecoverError, Recovered};
use super::journal::JournalError;
use super::timeline::Timeline;
use super::{CHUNK_BYTES, Event, Log};

/// The readers' fold.
pub struct View {
    log: Arc<Log>,
    fold: RwLock<Followed>,
    /// Locked while the timeline is built.
    building: Mutex<()>,
}

/// How far the fold has followed the log.
#[derive(Debug)]
pub(super) struct Followed {
    /// The last record that the fold includes.
    pub(super) seq: Seq,
    /// The size of the payloads that were applied since the hub started, in bytes.
    pub(super) bytes: u64,
    pub(super) state: State,
    /// `None` until the first query of the timeline.
    timeline: Option<Timeline>,
}

/// The most records from which the timeline is built.
const MAX_REPLAYED: u64 = 200_000;

impl View {
    /// A view of `log` that continues from `recovered`.
    pub fn new(log: Arc<Log>, recovered: Recovered) -> Self {
        let Recovered { seq, state, .. } = recovered;
        let fold = RwLock::new(Followed {
            seq,
            bytes: 0,
            state,
            timeline: None,
        });
        let building = Mutex::default();
        Self {
            log,
            fold,
            building,
        }
    }

    /// Returns a copy of the fold, as far as it has followed the log.
    pub fn copy(&self) -> State {
        self.followed().state.clone()
    }

    /// Runs a query on the fold of every record that is durable now.
    pub fn read<T>(&self, query: impl FnOnce(&State) -> T) -> Result<T, RecoverError> {
        Ok(query(&self.at_least(self.log.head())?.state))
    }

    /// Runs a query on the timeline and the fold of every record that is durable now. The first call reads the log, so it
    /// may block for seconds.
    pub fn read_timeline<T>(
        &self,
        query: impl FnOnce(&State, &Timeline) -> T,
    ) -> Result<T, RecoverError> {
        self.build_timeline()?;
        let followed = self.at_least(self.log.head())?;
        let nothing = Timeline::default();
        Ok(query(
            &followed.state,
            followed.timeline.as_ref().unwrap_or(&nothing),
        ))
    }

    /// Returns the log that it follows.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    fn build_timeline(&self) -> Result<(), RecoverError> {
        let _building = lock(&self.building);
        if self.followed().timeline.is_some() {
            return Ok(());
        }
        let head = self.followed().seq;
        let first = self.log.earliest().max(1);
        let first = first.max((head + 1).saturating_sub(MAX_REPLAYED));
        let mut replay = Followed {
            seq: first - 1,
            bytes: 0,
            state: State::default(),
            timeline: Some(Timeline::default()),
        };
        replay.follow(&self.log, head)?;
        let mut followed = write(&self.fold);
        replay.follow(&self.log, followed.seq)?;
        followed.timeline = replay.timeline;
        Ok(())
    }

    /// Applies every record that the journal holds, and returns the fold.
    pub(super) fn follow(&self) -> Result<RwLockReadGuard<'_, Followed>, RecoverError> {
        self.at_least(self.log.journal().head())
    }

    /// Returns the fold as far as it was followed.
    pub(super) fn followed(&self) -> RwLockReadGuard<'_, Followed> {
        read(&self.fold)
    }

    fn at_least(&self, head: Seq) -> Result<RwLockReadGuard<'_, Followed>, RecoverError> {
        let followed = self.followed();
        if followed.seq >= head {
            return Ok(followed);
        }
        drop(followed);
        let mut followed = write(&self.fold);
        followed.follow(&self.log, head)?;
        drop(followed);
        Ok(self.followed())
    }
}

impl Followed {
    fn follow(&mut self, log: &Log, head: Seq) -> Result<(), RecoverError> {
        while self.seq < head {
            for event in events_after(log, self.seq)? {
                let (seq, entry) = (event.seq(), event.entry());
                if seq > self.seq + 1 {
                    super::archive::check_not_lost(&**log.journal(), self.seq + 1)?;
                }
                if let Some(record) = event.record() {
                    self.state.apply(seq, record);
                    if let Some(timeline) = &mut self.timeline {
                        timeline.note(&self.state, record);
                    }
                } else {
                    // The event does not keep why it could not be decoded.
                    Record::decode(entry.kind, &entry.payload)
                        .map_err(|error| RecoverError::Record { seq, error })?;
                }
                self.seq = seq;
                self.bytes += entry.payload.len() as u64;
            }
        }
        Ok(())
    }
}

/// Returns events after `seq`. A durable record may not be in the ring yet.
fn events_after(log: &Log, seq: Seq) -> Result<Vec<Arc<Event>>, JournalError> {
    let recent = log.read(seq, CHUNK_BYTES)?;
    if !recent.is_empty() {
        return Ok(recent);
    }
    let entries = log.journal().read(seq + 1, CHUNK_BYTES)?;
    Ok(entries.into_iter().map(|it| Arc::new(it.into())).collect())
}

#[cfg(test)]
mod tests {
    use hub_protocol::{Epoch, Timestamp};

    use super::*;
    use crate::journal::memory::MemoryJournal;
    use crate::testing::entry;
    use hub_core::testing::seen;

    fn event(seq: Seq) -> Arc<Event> {
        let record = seen(seq, true, Timestamp::default());
        Arc::new(Event::new(entry(seq, &record), record))
    }

    #[test]
    fn a_read_includes_every_published_event_in_memory_or_not() {
        let log = Arc::new(Log::new(Arc::new(MemoryJournal::new(Epoch(7)))));
        let view = View::new(Arc::clone(&log), Recovered::default());
        let mut head = 0;
        // More events than the ring holds, in one silence of the readers.
        for events in [1, 3, 10_000, 1] {
            for _ in 0..events {
                head += 1;
                log.journal()
                    .append(&[event(head).entry().clone()])
                    .unwrap();
                log.publish(&[event(head)]);
            }
            assert_eq!(view.read(State::head).unwrap(), head);
        }
        assert!((1..=head).all(|id| view.followed().state.seen.contains(id)));
    }
}
