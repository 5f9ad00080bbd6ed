//! The thread of the fan-out, and the streams that it writes to.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::thread::Thread;

use hub_core::sync;
use hub_protocol::Seq;
use slab::Slab;
use tokio::time::Instant;

use super::Topic;
use super::subscriber::{EventBatch, Subscriber};
use crate::{Event, Log};

/// The most events written to a stream at once.
const BATCH_EVENTS: usize = 256;
/// The number of streams collected under the lock at once. It is free while they are written to, so others can join.
const AT_ONCE: usize = 64;

/// The streams by topic.
type StreamsByTopic = HashMap<Topic, Slab<Arc<Subscriber>>>;

pub(super) struct FanoutThread {
    members: Mutex<StreamsByTopic>,
    /// Every event up to this one was offered to every parked member.
    seen: AtomicU64,
    handle: OnceLock<Thread>,
}

impl FanoutThread {
    /// Starts the thread, which ends with the log.
    pub(super) fn start(log: &Arc<Log>) -> Arc<Self> {
        let fanout = Arc::new(Self {
            members: Mutex::default(),
            seen: AtomicU64::new(log.head()),
            handle: OnceLock::new(),
        });
        let (own, log) = (Arc::clone(&fanout), Arc::downgrade(log));
        let thread = std::thread::Builder::new()
            .name("fanout".into())
            .spawn(move || own.run(&log))
            .expect("a thread can be started for the first stream");
        let _ = fanout.handle.set(thread.thread().clone());
        fanout
    }

    /// Lets the thread read the log, if there are members.
    pub(super) fn wake(&self) {
        // A stream that joins later finds the new events in the log itself; the lock decides which of the two was
        // first.
        if !self.members().is_empty() {
            self.unpark();
        }
    }

    /// Lets the thread read the log, or end if the log was dropped.
    pub(super) fn unpark(&self) {
        if let Some(handle) = self.handle.get() {
            handle.unpark();
        }
    }

    pub(super) fn seen(&self) -> Seq {
        self.seen.load(Ordering::Acquire)
    }

    pub(super) fn add(&self, topic: Topic, member: Arc<Subscriber>, log: &Log) -> usize {
        let mut members = self.members();
        if members.is_empty() {
            // There was no member for the earlier events.
            self.seen.store(log.head(), Ordering::Release);
        }
        members.entry(topic).or_default().insert(member)
    }

    pub(super) fn remove(&self, topic: &Topic, key: usize) {
        let mut members = self.members();
        let Some(group) = members.get_mut(topic) else {
            return;
        };
        let member = group.remove(key);
        if group.is_empty() {
            members.remove(topic);
        }
        // The member may own the last handle of a socket; do not close that under the lock.
        drop(members);
        drop(member);
    }

    fn members(&self) -> MutexGuard<'_, StreamsByTopic> {
        sync::lock(&self.members)
    }

    fn run(&self, log: &Weak<Log>) {
        while let Some(log) = log.upgrade() {
            let (head, seen) = (log.head(), self.seen());
            if head <= seen {
                drop(log);
                std::thread::park();
                continue;
            }
            // If an event panics, the fan-out wakes all tasks: each stream handles the event itself, and the others
            // go on.
            let advanced = catch_unwind(AssertUnwindSafe(|| self.advance(&log, seen, head)));
            let seen = advanced.ok().flatten().unwrap_or_else(|| {
                self.wake_all();
                head
            });
            self.seen.store(seen, Ordering::Release);
        }
    }

    /// Offers the next events to the members. Returns the last of them; `None` if memory no longer contains them.
    fn advance(&self, log: &Log, seen: Seq, head: Seq) -> Option<Seq> {
        // Stop at the head, though memory may reach further: a stream parks at the head and would miss the events
        // after it.
        let count = usize::try_from(head - seen).unwrap_or(BATCH_EVENTS);
        let events = log.recent(seen, count.min(BATCH_EVENTS))?;
        let last = events.last()?.seq();
        let mut batch = EventBatch {
            events: &events,
            now: Instant::now(),
            buffer: Vec::new(),
        };
        self.each(&Topic::Everything, |it| it.deliver(log, &mut batch));
        for topic in self.touched(&events) {
            self.each(&topic, |it| it.deliver(log, &mut batch));
        }
        Some(last)
    }

    /// Wakes every parked task, to read the log itself.
    fn wake_all(&self) {
        let topics: Vec<_> = self.members().keys().cloned().collect();
        for topic in topics {
            self.each(&topic, Subscriber::wake);
        }
    }

    /// Returns the topics of inboxes that the events touch.
    fn touched(&self, events: &[Arc<Event>]) -> HashSet<Topic> {
        let mut topics = HashSet::new();
        if self.members().keys().all(|it| *it == Topic::Everything) {
            return topics;
        }
        for record in events.iter().filter_map(|event| event.record()) {
            let touched = record.touches();
            topics.extend(
                touched.map(|(project, inbox)| Topic::Inbox(project.clone(), inbox.clone())),
            );
        }
        topics
    }

    fn each(&self, topic: &Topic, mut act: impl FnMut(&Subscriber)) {
        let mut next = 0;
        let mut some = Vec::with_capacity(AT_ONCE);
        loop {
            if let Some(group) = self.members().get(topic) {
                while next < group.capacity() && some.len() < AT_ONCE {
                    some.extend(group.get(next).cloned());
                    next += 1;
                }
            }
            if some.is_empty() {
                return;
            }
            for member in some.drain(..) {
                act(&member);
            }
        }
    }
}
