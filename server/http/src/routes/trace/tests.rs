use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use hub_core::record::{Emitted, Notified};
use hub_core::testing::route;
use hub_log::journal::memory::MemoryJournal;
use hub_log::journal::{Health, Journal};
use hub_log::testing::{TestJournal, entry};
use hub_protocol::{Epoch, Kind};

use super::*;

/// A log in parts: the story of its first notification, and those of others between its steps.
struct Stories {
    journal: Arc<MemoryJournal>,
    log: Arc<Log>,
    reads: Arc<AtomicUsize>,
}

impl Stories {
    fn new() -> Self {
        let journal = Arc::new(MemoryJournal::new(Epoch(7)));
        add(&journal, &notified());
        add_others(&journal);
        let (project, inbox) = place();
        add(
            &journal,
            &Record::Emitted(Emitted {
                project,
                inbox,
                ids: vec![1],
                way: Way::Module,
                by: None,
                at: Timestamp::default(),
            }),
        );
        add_others(&journal);
        add(&journal, &acked(1));
        add_others(&journal);
        let (log, reads) = opened(&journal);
        Self {
            journal,
            log,
            reads,
        }
    }

    /// Opens the log again, as a restart does.
    fn reopen(&mut self) {
        (self.log, self.reads) = opened(&self.journal);
    }

    /// Returns the steps of the first notification, and how often the journal was read for them.
    async fn trace(&self) -> (Vec<String>, usize) {
        let before = self.reads.load(Ordering::Relaxed);
        let (mut states, mut after) = (Vec::new(), Some(0));
        // A slow machine gives it in parts.
        while let Some(from) = after {
            let log = Arc::clone(&self.log);
            let found = stored::scan(move |allowance| steps(&log, 1, None, from, allowance)).await;
            let (steps, next) = found.unwrap();
            states.extend(steps.into_iter().map(|it| it.state.to_string()));
            after = next;
        }
        (states, self.reads.load(Ordering::Relaxed) - before)
    }
}

fn opened(journal: &Arc<MemoryJournal>) -> (Arc<Log>, Arc<AtomicUsize>) {
    let reads = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reads);
    let journal = TestJournal {
        inner: Arc::clone(journal),
        health: Box::new(|| Health::Sound),
        before_append: Box::new(|| ()),
        before_read: Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        }),
    };
    (Arc::new(Log::new(Arc::new(journal))), reads)
}

fn place() -> (ProjectName, InboxName) {
    (ProjectName::default(), "w1".parse().unwrap())
}

fn add(journal: &MemoryJournal, record: &Record) {
    journal
        .append(&[entry(journal.head() + 1, record)])
        .unwrap();
}

/// Adds notifications that are acknowledged at once, of a few megabytes.
fn add_others(journal: &MemoryJournal) {
    for _ in 0..2000 {
        add(journal, &notified());
        add(journal, &acked(journal.head()));
    }
}

fn notified() -> Record {
    let mut route = route("a", Kind::Message, Timestamp::default());
    let (_, inbox) = place();
    route.targets = vec![Target { inbox, wakes: true }];
    let json = Bytes::from(format!(r#"{{"msg":"{}"}}"#, "x".repeat(600)));
    Record::Notified(Notified { route, json })
}

fn acked(id: Seq) -> Record {
    Record::Settled(Settled {
        ids: vec![id],
        inbox: Some(place()),
        how: SettleReason::Acked,
        by: None,
        at: Timestamp::default(),
    })
}

#[tokio::test]
async fn the_trace_of_an_old_notification_is_complete_and_reads_little_of_the_log() {
    let mut stories = Stories::new();
    let (whole, many) = stories.trace().await;
    assert_eq!(whole, ["stored", "emitted", "acked"]);
    assert!(many > 15, "the log is short: {many}");
    stories.log.extend_index(usize::MAX).unwrap();
    // A part for each step, and the end of the log.
    let (indexed, few) = stories.trace().await;
    assert_eq!((indexed, few <= 4), (whole.clone(), true), "{few} reads");

    stories.reopen();
    assert_eq!(stories.trace().await, (whole.clone(), many));
    stories.log.extend_index(many / 2 * CHUNK_BYTES).unwrap();
    let (half, fewer) = stories.trace().await;
    assert_eq!((half, fewer < many), (whole, true), "{fewer} reads");
}

#[tokio::test]
async fn a_trace_has_every_step_that_retention_has_left() {
    let mut stories = Stories::new();
    stories.log.extend_index(usize::MAX).unwrap();
    stories.journal.trim(3000).unwrap();
    let (left, few) = stories.trace().await;
    assert_eq!(
        (left, few <= 3),
        (vec!["emitted".into(), "acked".into()], true)
    );
    stories.reopen();
    stories.log.extend_index(usize::MAX).unwrap();
    assert_eq!(stories.trace().await.0, ["emitted", "acked"]);
}
