use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hub_protocol::ProjectName;

use super::*;

use crate::testing::{events, log, say};

/// A sink that accepts at most `room` bytes of each write.
struct Pipe {
    got: Mutex<Vec<u8>>,
    room: AtomicUsize,
}

impl Pipe {
    fn with_room(room: usize) -> Arc<Self> {
        Arc::new(Self {
            got: Mutex::default(),
            room: room.into(),
        })
    }

    fn write(&self, bytes: &[u8]) {
        self.got.lock().unwrap().extend_from_slice(bytes);
    }

    fn got(&self) -> String {
        String::from_utf8(self.got.lock().unwrap().clone()).unwrap()
    }

    async fn until(&self, expected: &str) {
        let there = async {
            while self.got() != expected {
                tokio::task::yield_now().await;
            }
        };
        let limit = Duration::from_secs(60);
        let done = tokio::time::timeout(limit, there).await;
        done.unwrap_or_else(|_| panic!("{} instead of {expected}", self.got()));
    }
}

impl Sink for Pipe {
    fn offer(&self, bytes: &[u8]) -> usize {
        let room = self.room.load(Ordering::Relaxed).min(bytes.len());
        self.write(&bytes[..room]);
        room
    }
}

fn inbox(name: &str) -> Topic {
    Topic::Inbox(ProjectName::default(), name.parse().unwrap())
}

fn frame(event: &Event) -> Option<&Bytes> {
    event.frame(|event| Some(format!("{} ", event.seq()).into()))
}

/// Accepts every event, or those that touch one inbox.
fn filter(topic: Topic) -> FrameFilter {
    Box::new(move |_, event| {
        let mut touched = event.record()?.touches();
        let wanted = match &topic {
            Topic::Everything => true,
            Topic::Inbox(project, inbox) => touched.any(|it| it == (project, inbox)),
        };
        wanted.then(|| frame(event))?
    })
}

fn join(log: &Arc<Log>, topic: Topic, pipe: &Arc<Pipe>) -> Subscription {
    let stream = log.join(topic.clone(), filter(topic));
    stream.outlet().connect(pipe.clone());
    stream
}

/// Returns a stream that is parked at the start of a log.
fn parked(room: usize) -> (Arc<Log>, Arc<Pipe>, Subscription) {
    let (log, pipe) = (log(), Pipe::with_room(room));
    let stream = join(&log, Topic::Everything, &pipe);
    assert!(stream.park(0));
    (log, pipe, stream)
}

#[tokio::test]
async fn new_events_are_written_to_a_parked_stream() {
    let (log, pipe, stream) = parked(100);
    say(&log, &["a", "b"]);
    pipe.until("1 2 ").await;
    say(&log, &["a"]);
    pipe.until("1 2 3 ").await;
    let progress = stream.unpark();
    assert_eq!((progress.cursor, progress.unsent), (3, Bytes::new()));
    assert!(progress.last_write.is_some());
    say(&log, &["a"]);
    let last = join(&log, Topic::Everything, &Pipe::with_room(0));
    assert!(last.park(4));
    say(&log, &["a"]);
    last.woken().await;
    // The stream is not parked, so its task writes the next event.
    assert_eq!(pipe.got(), "1 2 3 ");
}

#[tokio::test]
async fn a_stream_that_is_behind_cannot_park() {
    let (log, pipe) = (log(), Pipe::with_room(100));
    say(&log, &["a"]);
    let stream = join(&log, Topic::Everything, &pipe);
    assert!(!stream.park(0));
    assert!(stream.park(1));
}

/// Parks a stream at `cursor` that was away for the first event. During the check for new events, a second event is
/// published, and the fan-out gets enough time to offer it.
fn away_for_the_first(cursor: Seq) -> (Arc<Log>, Arc<Pipe>, Subscription, bool) {
    let (log, pipe) = (log(), Pipe::with_room(100));
    let stream = join(&log, Topic::Everything, &pipe);
    let passed = |seq, limit| {
        let begun = std::time::Instant::now();
        while stream.thread.seen() < seq && begun.elapsed() < limit {
            std::thread::yield_now();
        }
    };
    say(&log, &["a"]);
    passed(1, Duration::from_secs(60));
    let parks = stream.subscriber.park(cursor, || {
        let head = log.head();
        say(&log, &["a"]);
        passed(2, Duration::from_millis(200));
        head
    });
    (log, pipe, stream, parks)
}

#[tokio::test]
async fn a_stream_that_fails_to_park_is_not_written_to() {
    let (log, pipe, stream, parks) = away_for_the_first(0);
    assert!(!parks);
    while stream.thread.seen() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(pipe.got(), "", "the second, and the first is lost");
    drop(log);
}

#[tokio::test]
async fn an_event_during_parking_is_written() {
    let (_log, pipe, _place, parks) = away_for_the_first(1);
    assert!(parks);
    pipe.until("2 ").await;
}

#[tokio::test]
async fn an_event_that_is_in_memory_before_the_head_moves_is_written() {
    let (log, pipe) = (log(), Pipe::with_room(100));
    let stream = join(&log, Topic::Everything, &pipe);
    // The writer between two commits: memory contains both, and the head is at the first.
    log.ring.write().unwrap().push(&events(&log, &["a", "a"]));
    log.head.send_replace(1);
    log.fanout.wake();
    while stream.thread.seen() < 1 {
        tokio::task::yield_now().await;
    }
    assert!(stream.park(1));
    log.head.send_replace(2);
    log.fanout.wake();
    pipe.until("2 ").await;
    // A stream that has read memory to its end is not behind.
    stream.unpark();
    log.ring.write().unwrap().push(&events(&log, &["a"]));
    assert!(stream.park(3));
}

#[tokio::test]
async fn a_full_socket_wakes_the_task_with_the_rest() {
    let (log, pipe, stream) = parked(3);
    say(&log, &["a", "b"]);
    stream.woken().await;
    let progress = stream.unpark();
    assert_eq!((progress.cursor, &progress.unsent[..]), (2, &b" "[..]));
    assert_eq!(pipe.got(), "1 2");
}

#[tokio::test]
async fn an_event_wakes_the_task_of_an_unconnected_stream() {
    let log = log();
    let stream = log.join(Topic::Everything, filter(Topic::Everything));
    assert!(stream.park(0));
    say(&log, &["a"]);
    stream.woken().await;
    let progress = stream.unpark();
    assert_eq!((progress.cursor, &progress.unsent[..]), (1, &b"1 "[..]));
}

#[tokio::test]
async fn a_long_frame_wakes_the_task() {
    let (log, pipe) = (log(), Pipe::with_room(usize::MAX));
    let filter: FrameFilter =
        Box::new(|_, event| event.frame(|_| Some(vec![b'x'; 65 << 10].into())));
    let stream = log.join(Topic::Everything, filter);
    stream.outlet().connect(pipe.clone());
    assert!(stream.park(0));
    say(&log, &["a"]);
    stream.woken().await;
    assert_eq!(stream.unpark(), StreamProgress::default());
    assert_eq!(pipe.got(), "");
}

#[tokio::test]
async fn a_stream_of_one_inbox_is_not_offered_other_events() {
    let (log, pipe) = (log(), Pipe::with_room(100));
    let offered = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&offered);
    let filter: FrameFilter = Box::new(move |_, event| {
        counter.fetch_add(1, Ordering::Relaxed);
        frame(event)
    });
    let stream = log.join(inbox("a"), filter);
    stream.outlet().connect(pipe.clone());
    assert!(stream.park(0));
    let all = join(&log, Topic::Everything, &Pipe::with_room(0));
    assert!(all.park(0));
    say(&log, &["b"; 10]);
    all.woken().await;
    say(&log, &["a"]);
    pipe.until("11 ").await;
    assert_eq!(offered.load(Ordering::Relaxed), 1);
    say(&log, &["b"]);
    while stream.thread.seen() < 12 {
        tokio::task::yield_now().await;
    }
    // The stream need not read the other event later either.
    assert_eq!(stream.unpark().cursor, 12);
}

#[tokio::test]
async fn an_event_that_left_memory_wakes_the_task() {
    let (log, _, stream) = parked(0);
    // More events than the ring keeps: the first ones are gone when the thread reads it.
    say(&log, &vec!["a"; 5000]);
    stream.woken().await;
    assert_eq!(stream.unpark(), StreamProgress::default());
}

#[tokio::test]
async fn an_event_that_panics_wakes_the_task_and_the_next_is_written() {
    let (log, pipe) = (log(), Pipe::with_room(100));
    let filter: FrameFilter = Box::new(|_, event| {
        assert!(event.seq() != 1, "on purpose");
        frame(event)
    });
    let stream = log.join(Topic::Everything, filter);
    stream.outlet().connect(pipe.clone());
    assert!(stream.park(0));
    say(&log, &["a"]);
    stream.woken().await;
    assert_eq!(stream.unpark(), StreamProgress::default());
    assert!(stream.park(1));
    say(&log, &["a"]);
    pipe.until("2 ").await;
}

#[test]
fn the_fanout_thread_ends_with_the_log() {
    let log = log();
    let stream = join(&log, Topic::Everything, &Pipe::with_room(0));
    let thread = Arc::downgrade(&stream.thread);
    drop((log, stream));
    let begun = std::time::Instant::now();
    while thread.upgrade().is_some() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "the thread lives on"
        );
        std::thread::yield_now();
    }
}

/// Runs a stream's task over a pipe whose room changes constantly, until it has received `expected`.
async fn read(log: Arc<Log>, topic: Topic, mut dice: u64, expected: Arc<str>) {
    let pipe = Pipe::with_room(0);
    let filter = filter(topic.clone());
    let stream = join(&log, topic, &pipe);
    let mut cursor = 0;
    while pipe.got() != *expected {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let room = usize::try_from(dice >> 60).unwrap() * 4;
        pipe.room.store(room, Ordering::Relaxed);
        let events = log.recent(cursor, 256).unwrap();
        for event in &events {
            cursor = event.seq();
            if let Some(frame) = filter(&log, event) {
                pipe.write(frame);
            }
        }
        if !events.is_empty() || pipe.got() == *expected {
            continue;
        }
        if !stream.park(cursor) {
            continue;
        }
        // Some tasks wake up by themselves, for example to send a comment.
        let patience = Duration::from_millis(dice >> 61);
        let _ = tokio::time::timeout(patience, stream.woken()).await;
        let progress = stream.unpark();
        cursor = cursor.max(progress.cursor);
        pipe.write(&progress.unsent);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_stream_receives_every_event_once_and_in_order() {
    const COMMITS: usize = 1000;
    let log = log();
    let (mut all, mut some) = (String::new(), String::new());
    let sizes = (1..=4).cycle().take(COMMITS);
    let commits: Vec<&[&str]> = sizes.map(|size| &["a", "b", "a", "a"][..size]).collect();
    for (inbox, seq) in commits.iter().copied().flatten().zip(1..) {
        let frame = format!("{seq} ");
        all.push_str(&frame);
        some.push_str(if *inbox == "a" { &frame } else { "" });
    }
    let (all, some): (Arc<str>, Arc<str>) = (all.into(), some.into());
    let readers: Vec<_> = (0..100)
        .map(|n| match n % 2 {
            0 => tokio::spawn(read(log.clone(), Topic::Everything, n, all.clone())),
            _ => tokio::spawn(read(log.clone(), inbox("a"), n, some.clone())),
        })
        .collect();
    let publisher = tokio::task::spawn_blocking(move || {
        for commit in commits {
            say(&log, commit);
            std::thread::yield_now();
        }
    });
    publisher.await.unwrap();
    for reader in readers {
        let done = tokio::time::timeout(Duration::from_secs(60), reader).await;
        done.expect("a stream lost something").unwrap();
    }
}
