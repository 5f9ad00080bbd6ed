//! A change of the clock while no hub watched it.

use hub_core::record::{ClockMoved, Record};
use hub_protocol::Timestamp;

use crate::journal::{Entry, Journal, JournalError};

const DAY_MS: i64 = 24 * 3600 * 1000;
/// A larger difference between the clock and the newest record counts as a change of the clock, because a hub is rarely
/// off for that long.
const MAX_OFF_MS: i64 = 30 * DAY_MS;
/// By how much the writer's time of the newest record may be later than the clock; more means that the clock was set back.
const MAX_AHEAD_MS: i64 = 60_000;
/// The number of records that are searched for the newest time, and the most bytes of one read.
const RECENT: u64 = 64;
const RECENT_BYTES: usize = 4 << 20;

/// Records a change of the clock if it is more than a month away from the newest record, either because the hub was off that
/// long or because the clock was set, and if it is more than a minute before it. Deadlines then move with the clock, as in
/// a running hub, and retention by age pauses for a day. So a wrong clock neither expires nor drops anything.
pub fn record_clock_jump(journal: &dyn Journal, now: Timestamp) -> Result<(), JournalError> {
    let head = journal.head();
    let from = head.saturating_sub(RECENT).max(journal.earliest());
    let Some((known, most_ahead_ms)) = newest(&recent(journal, from)?) else {
        return Ok(());
    };
    let delta_ms = now.as_millis() - known.as_millis();
    if (-most_ahead_ms..=MAX_OFF_MS).contains(&delta_ms) {
        return Ok(());
    }
    tracing::warn!(
        moved_ms = delta_ms,
        "the clock is far from the newest record: deadlines and phases move with it, and nothing is dropped for its age today"
    );
    let moved = Record::ClockMoved(ClockMoved { delta_ms, at: now });
    let (kind, payload) = moved.encode();
    let seq = head + 1;
    match journal.append(&[Entry { seq, kind, payload }]) {
        Err(JournalError::Full) => Ok(()),
        appended => appended,
    }
}

/// Reads the entries from `from` to the head. One read may end before it, where the store's part of the log does.
fn recent(journal: &dyn Journal, from: u64) -> Result<Vec<Entry>, JournalError> {
    let mut entries = Vec::new();
    let mut next = from;
    while next <= journal.head() {
        let part = journal.read(next, RECENT_BYTES)?;
        let Some(last) = part.last() else { break };
        next = last.seq + 1;
        entries.extend(part);
    }
    Ok(entries)
}

/// Returns the time by the clock of the last records, and by how much it may be later than the clock: of the last one that has the
/// writer's time, because a notification has its sender's time, which may be that of another clock; only without one, of the
/// newest notification.
fn newest(entries: &[Entry]) -> Option<(Timestamp, i64)> {
    let records = entries.iter().rev();
    let records = records.filter_map(|it| Record::decode(it.kind, &it.payload).ok());
    let (sent, others): (Vec<_>, Vec<_>) = records.partition(Record::is_notification);
    let last = others.iter().find_map(Record::at);
    let last = last.map(|at| (at, MAX_AHEAD_MS));
    last.or_else(|| Some((sent.iter().filter_map(Record::at).max()?, MAX_OFF_MS)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hub_core::testing::seen;
    use hub_protocol::Epoch;

    use super::*;
    use crate::archive::replay;
    use crate::journal::disk::DiskJournal;
    use crate::journal::memory::MemoryJournal;
    use crate::journal::sled::{Files, Options, SledStore};
    use crate::testing::entry;

    /// Returns a journal with one record, written that many milliseconds ago, and the current time.
    fn journal(ago_ms: i64) -> (MemoryJournal, Timestamp) {
        let (journal, now) = (MemoryJournal::new(Epoch(7)), Timestamp::now());
        let record = seen(1, true, now.plus_millis(-ago_ms));
        journal.append(&[entry(1, &record)]).unwrap();
        (journal, now)
    }

    #[test]
    fn a_clock_that_was_set_before_the_start_moves_deadlines_and_pauses_retention_by_age() {
        for delta_ms in [40 * DAY_MS, -40 * DAY_MS, -MAX_AHEAD_MS - 1] {
            let (journal, now) = journal(delta_ms);
            record_clock_jump(&journal, now).unwrap();
            let entries = journal.read(2, 1).unwrap();
            let moved = Record::decode(entries[0].kind, &entries[0].payload).unwrap();
            assert_eq!(moved, Record::ClockMoved(ClockMoved { delta_ms, at: now }));
            let paused = replay(&journal).unwrap().state.retention.paused_until();
            assert!(paused.is_some_and(|until| until > now));
        }
    }

    #[test]
    fn the_time_before_a_recorded_jump_is_not_compared() {
        let (journal, now) = journal(0);
        let (delta_ms, at) = (-40 * DAY_MS, now.plus_millis(-40 * DAY_MS));
        let moved = Record::ClockMoved(ClockMoved { delta_ms, at });
        journal.append(&[entry(2, &moved)]).unwrap();
        record_clock_jump(&journal, now).unwrap();
        let entries = journal.read(3, 1).unwrap();
        let moved = Record::decode(entries[0].kind, &entries[0].payload).unwrap();
        let delta_ms = 40 * DAY_MS;
        assert_eq!(moved, Record::ClockMoved(ClockMoved { delta_ms, at: now }));
    }

    #[test]
    fn the_end_of_the_log_is_read_where_the_store_ends_too() {
        let dir = tempfile::tempdir().unwrap();
        let store = Arc::new(SledStore::open(dir.path(), Options::default()).unwrap());
        let files = Files::new(dir.path());
        let journal = DiskJournal::over(store, &files, Options::default()).unwrap();
        let now = Timestamp::now();
        let old = seen(1, true, now.plus_millis(-40 * DAY_MS));
        journal.append(&[entry(1, &old)]).unwrap();
        journal.copy();
        journal.append(&[entry(2, &seen(1, false, now))]).unwrap();
        record_clock_jump(&journal, now).unwrap();
        assert_eq!(journal.head(), 2);
    }

    #[test]
    fn a_hub_that_was_off_for_some_days_keeps_its_deadlines() {
        for ago_ms in [20 * DAY_MS, -MAX_AHEAD_MS] {
            let (journal, now) = journal(ago_ms);
            record_clock_jump(&journal, now).unwrap();
            assert_eq!(journal.head(), 1);
        }
    }
}
