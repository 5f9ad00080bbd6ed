use std::path::Path;
use std::sync::mpsc::{self, Receiver};

use bytes::Bytes;
use hub_core::disk::OsDisk;
use hub_core::fold::State;
use hub_core::record::{Notified, Record, Rewritten, SettleReason, Settled, Target, Trimmed};
use hub_protocol::{Epoch, Kind, Priority};

use super::*;
use crate::Log;
use crate::journal::disk::DiskJournal;
use crate::journal::memory::MemoryJournal;
use crate::journal::sled::{Files, JournalOrigin, Options, SledStore};
use crate::journal::snapshot;
use crate::testing::{TestJournal, entry};
use hub_core::testing::route;

const NOW: i64 = 1_800_000_000_000;
const DAY: i64 = 24 * 60 * 60 * 1000;

const RARELY: SnapshotPolicy = SnapshotPolicy {
    records: 50_000,
    bytes: 16 << 20,
};
const EVERY_10: SnapshotPolicy = SnapshotPolicy {
    records: 10,
    ..RARELY
};
const MONTH: RetentionPolicy = RetentionPolicy {
    max_age_ms: 30 * DAY,
    max_bytes: 1 << 30,
};

struct Hub {
    journal: Arc<dyn Journal>,
    dir: tempfile::TempDir,
    commands: Receiver<Command>,
    worker: ArchiveWorker,
}

/// A hub whose journal has ten notifications that are too old and one that is not.
fn old() -> Hub {
    let hub = hub(RARELY, MONTH);
    hub.append(&vec![notified(NOW - 31 * DAY); 10]);
    hub.append(&[notified(NOW)]);
    hub
}

fn hub(due: SnapshotPolicy, retention: RetentionPolicy) -> Hub {
    hub_on(Arc::new(MemoryJournal::new(Epoch(7))), due, retention)
}

fn hub_on(journal: Arc<dyn Journal>, due: SnapshotPolicy, retention: RetentionPolicy) -> Hub {
    let dir = tempfile::tempdir().unwrap();
    let (sender, commands) = mpsc::channel();
    let inputs = ArchiveInputs {
        last_snapshot: 0,
        snapshots: at(dir.path()),
        due,
        retention,
        clock: Box::new(|| Timestamp::from_millis(NOW)),
    };
    let submit = Box::new(move |command| sender.send(command).is_ok());
    let worker = ArchiveWorker::new(inputs, view(journal.clone(), dir.path()), submit);
    Hub {
        journal,
        dir,
        commands,
        worker,
    }
}

fn view(journal: Arc<dyn Journal>, dir: &Path) -> Arc<View> {
    let recovered = recover(&*journal, &at(dir)).unwrap();
    Arc::new(View::new(Arc::new(Log::new(journal)), recovered))
}

fn at(dir: &Path) -> Snapshots {
    Snapshots::new(dir, Epoch(7))
}

fn small(bytes: u64) -> RetentionPolicy {
    RetentionPolicy {
        max_bytes: bytes,
        ..MONTH
    }
}

impl Hub {
    fn append(&self, records: &[Record]) {
        let numbered = records.iter().zip(self.journal.head() + 1..);
        let entries: Vec<_> = numbered.map(|(it, seq)| entry(seq, it)).collect();
        self.journal.append(&entries).unwrap();
    }

    /// Writes a submitted trim as the writer does. Returns its bound and the carried ids.
    fn write_trim(&self) -> (Seq, Vec<Seq>) {
        let Command::Trim {
            below,
            rewritten: carried,
            ..
        } = self.commands.try_recv().unwrap()
        else {
            panic!("no trim")
        };
        let ids = carried.iter().map(|(id, _)| *id).collect();
        let rewritten = |(id, json)| Record::Rewritten(Rewritten { id, json });
        let mut records: Vec<_> = carried.into_iter().map(rewritten).collect();
        let at = Timestamp::from_millis(NOW);
        records.push(Record::Trimmed(Trimmed { below, at }));
        self.append(&records);
        (below, ids)
    }

    fn recovered(&self) -> Result<State, RecoverError> {
        recover(&*self.journal, &at(self.dir.path())).map(|recovered| recovered.state)
    }
}

/// A notification that fills more than a block.
fn large(millis: i64) -> Record {
    let Record::Notified(mut it) = notified(millis) else {
        unreachable!("it is one");
    };
    it.json = format!(r#"{{"id":1,"msg":"{}"}}"#, "x".repeat(5000)).into();
    Record::Notified(it)
}

fn notified(millis: i64) -> Record {
    let ts = Timestamp::from_millis(millis);
    let mut route = route("a", Kind::Message, ts);
    route.targets = vec![Target {
        inbox: "primary".parse().unwrap(),
        wakes: true,
    }];
    let json = Bytes::from_static(br#"{"id":1}"#);
    Record::Notified(Notified { route, json })
}

fn settled(ids: std::ops::RangeInclusive<Seq>) -> Record {
    settled_as(ids.collect(), SettleReason::Acked)
}

fn evicted(ids: &[Seq]) -> Record {
    settled_as(ids.to_vec(), SettleReason::Evicted)
}

fn settled_as(ids: Vec<Seq>, how: SettleReason) -> Record {
    let at = Timestamp::from_millis(NOW);
    Record::Settled(Settled {
        ids,
        inbox: None,
        how,
        by: None,
        at,
    })
}

#[test]
fn a_snapshot_and_the_later_records_give_the_whole_fold() {
    let mut hub = hub(EVERY_10, MONTH);
    hub.append(&vec![notified(NOW); 12]);
    hub.worker.round().unwrap();
    hub.append(&[settled(3..=5), notified(NOW)]);
    let whole = recover(&*hub.journal, &at(Path::new("/nonexistent"))).unwrap();
    assert_eq!(hub.recovered().unwrap(), whole.state);
}

#[test]
fn snapshots_are_made_when_due() {
    let mut hub = hub(EVERY_10, MONTH);
    hub.append(&vec![notified(NOW); 9]);
    hub.worker.round().unwrap();
    assert!(!snapshot::exist_in(&OsDisk, hub.dir.path()));
    hub.append(&[notified(NOW)]);
    hub.worker.round().unwrap();
    assert_eq!(snapshot::newest_seq(&OsDisk, hub.dir.path()), 10);
}

#[test]
fn the_older_snapshot_is_used_if_the_newer_is_broken() {
    let mut hub = hub(EVERY_10, MONTH);
    for _ in 0..2 {
        hub.append(&vec![notified(NOW); 10]);
        hub.worker.round().unwrap();
    }
    let before = hub.recovered().unwrap();
    std::fs::write(&snapshot::list(&OsDisk, hub.dir.path()).unwrap()[0].1, b"x").unwrap();
    assert_eq!(hub.recovered().unwrap(), before);
}

#[test]
fn old_records_are_dropped_and_pending_notifications_carried() {
    let mut hub = hub(RARELY, MONTH);
    hub.append(&vec![notified(NOW - 31 * DAY); 10]);
    hub.append(&[settled(1..=8)]);
    hub.append(&vec![notified(NOW); 10]);
    hub.worker.round().unwrap();
    assert_eq!(hub.write_trim(), (11, vec![9, 10]));
}

#[test]
fn an_open_question_that_was_read_is_carried() {
    let mut hub = hub(RARELY, MONTH);
    let mut question = notified(NOW - 31 * DAY);
    if let Record::Notified(it) = &mut question {
        it.route.kind = Kind::Question;
    }
    hub.append(&[
        question,
        notified(NOW - 31 * DAY),
        settled(1..=2),
        notified(NOW),
    ]);
    hub.worker.round().unwrap();
    assert_eq!(hub.write_trim(), (3, vec![1]));
    hub.worker.round().unwrap();
    assert_eq!(hub.recovered().unwrap().location(1), Some(5));
}

#[test]
fn blocks_are_dropped_only_when_two_snapshots_include_them() {
    let mut hub = old();
    hub.worker.round().unwrap();
    hub.write_trim();
    hub.worker.round().unwrap();
    assert_eq!(hub.journal.earliest(), 1);
    hub.recovered().expect("a crash here loses nothing");
    hub.append(&[notified(NOW)]);
    hub.worker.round().unwrap();
    assert_eq!(hub.journal.earliest(), 1);
    hub.worker.round().unwrap();
    assert_eq!(hub.journal.earliest(), 11);
}

/// A journal on the disk whose store is to be made anew.
fn damaged(dir: &Path) -> Arc<DiskJournal> {
    let options = Options {
        origin: Some(JournalOrigin {
            epoch: Epoch(7),
            first: 1,
            chain: 0,
        }),
        ..Options::default()
    };
    drop(DiskJournal::open(dir, options).unwrap());
    std::fs::write(dir.join("suspect"), b"a sync failed").unwrap();
    let store = Arc::new(SledStore::open(dir, options).unwrap());
    Arc::new(DiskJournal::over(store, &Files::new(dir), options).unwrap())
}

#[test]
fn blocks_that_a_repair_holds_are_dropped_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let journal = damaged(dir.path());
    let mut hub = hub_on(journal.clone(), RARELY, MONTH);
    hub.append(&vec![large(NOW - 31 * DAY); 10]);
    hub.append(&[large(NOW)]);
    hub.worker.round().unwrap();
    assert_eq!(hub.write_trim().0, 11);
    hub.worker.round().unwrap();
    hub.append(&[notified(NOW)]);
    for _ in 0..3 {
        hub.worker.round().unwrap();
    }
    assert_eq!(journal.earliest(), 1);
    journal.copy();
    hub.worker.round().unwrap();
    // The new store has only the first commit so far.
    assert_eq!(journal.earliest(), 10);
    journal.copy_all(drop).unwrap();
    hub.worker.round().unwrap();
    assert_eq!(journal.earliest(), 11);
}

#[test]
fn at_the_byte_cap_the_oldest_pending_notifications_are_not_carried() {
    let size = notified(NOW).encode().1.len() as u64;
    let mut hub = hub(RARELY, small(50 * size));
    hub.append(&vec![notified(NOW); 60]);
    hub.worker.round().unwrap();
    let (below, carried) = hub.write_trim();
    assert!(below > 10 && below < 20, "{below}");
    assert_eq!(*carried.last().unwrap(), below - 1);
}

#[test]
fn after_a_clock_jump_retention_by_age_pauses() {
    let mut hub = hub(RARELY, MONTH);
    hub.append(&vec![notified(NOW - 31 * DAY); 10]);
    hub.append(&[clock_moved(), notified(NOW)]);
    hub.worker.round().unwrap();
    assert!(hub.commands.try_recv().is_err());
}

#[test]
fn after_a_clock_jump_retention_by_size_drops_nothing_for_its_age() {
    let mut hub = hub(RARELY, small(40_000));
    hub.append(&vec![large(NOW - 31 * DAY); 10]);
    hub.append(&[clock_moved()]);
    hub.worker.round().unwrap();
    assert_eq!(hub.write_trim().0, 4);
}

fn clock_moved() -> Record {
    Record::ClockMoved(hub_core::record::ClockMoved {
        delta_ms: 40 * DAY,
        at: Timestamp::from_millis(NOW - 1000),
    })
}

#[test]
fn a_record_from_the_future_does_not_stop_retention() {
    let mut hub = hub(RARELY, MONTH);
    let ages = [-31, 900, -31, 0, 0];
    hub.append(&ages.map(|days| notified(NOW + days * DAY)));
    hub.worker.round().unwrap();
    assert_eq!(hub.write_trim().0, 4);
}

#[test]
fn a_clock_that_was_set_back_drops_nothing_before_its_time() {
    let mut hub = hub(RARELY, MONTH);
    hub.append(&[20, 20, 0, 0].map(|days| notified(NOW + days * DAY)));
    hub.worker.round().unwrap();
    assert!(hub.commands.try_recv().is_err());
    hub.worker.inputs.clock = Box::new(|| Timestamp::from_millis(NOW + 31 * DAY));
    hub.worker.round().unwrap();
    assert!(hub.commands.try_recv().is_err());
    hub.worker.inputs.clock = Box::new(|| Timestamp::from_millis(NOW + 51 * DAY));
    hub.worker.round().unwrap();
    assert_eq!(hub.write_trim().0, 4);
}

#[test]
fn records_of_another_clock_are_dropped_with_the_next_ones() {
    let mut hub = hub(RARELY, MONTH);
    hub.append(&[900, 900, -31, -31, 900, 0].map(|days| notified(NOW + days * DAY)));
    hub.worker.round().unwrap();
    assert_eq!(hub.write_trim().0, 5);
}

#[test]
fn one_trim_is_submitted_at_a_time() {
    let mut hub = old();
    hub.worker.round().unwrap();
    hub.worker.round().unwrap();
    assert_eq!(hub.commands.try_iter().count(), 1);
}

#[test]
fn on_a_full_disk_no_snapshot_is_saved() {
    for (health, saved) in [(Health::Sound, 3), (Health::Full, 0)] {
        let inner = Arc::new(MemoryJournal::new(Epoch(7)));
        let mut hub = hub_on(inner.clone(), RARELY, MONTH);
        hub.append(&vec![notified(NOW); 3]);
        let journal = Arc::new(TestJournal {
            inner,
            health: Box::new(move || health.clone()),
            before_append: Box::new(|| ()),
            before_read: Box::new(|| ()),
        });
        hub.worker.view = view(journal, hub.dir.path());
        hub.worker.finish().unwrap();
        assert_eq!(snapshot::newest_seq(&OsDisk, hub.dir.path()), saved);
    }
}

#[test]
fn the_thread_saves_a_snapshot_when_it_ends() {
    let hub = hub(RARELY, MONTH);
    hub.append(&vec![notified(NOW); 3]);
    drop(Archive::spawn(hub.worker.inputs, hub.worker.view, hub.worker.submit).unwrap());
    assert_eq!(snapshot::newest_seq(&OsDisk, hub.dir.path()), 3);
}

#[test]
fn the_person_is_asked_to_take_note_of_what_was_evicted() {
    let mut hub = hub(RARELY, MONTH);
    hub.append(&[notified(NOW), notified(NOW), evicted(&[1, 2])]);
    hub.worker.round().unwrap();
    let Command::Notify { drafts, .. } = hub.commands.try_recv().unwrap() else {
        panic!("no question")
    };
    let it = &drafts[0].body;
    assert_eq!((it.kind, it.priority), (Kind::Question, Priority::Urgent));
    assert_eq!(it.to, "person".parse().ok());
    assert!(it.msg.starts_with("Lost: 2 notifications"), "{}", it.msg);
    hub.worker.round().unwrap();
    assert_eq!(
        hub.commands.try_iter().count(),
        1,
        "it is not in the log yet"
    );
    let mut asked = route("hub", Kind::Question, it.ts);
    asked.key = it.key.clone();
    let json = Bytes::from_static(br#"{"id":4}"#);
    hub.append(&[Record::Notified(Notified { route: asked, json })]);
    hub.worker.round().unwrap();
    assert!(hub.commands.try_recv().is_err());
}
