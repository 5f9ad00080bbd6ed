//! The thread of the fan-out, and the streams that it writes to.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::Thread;

use hub_protocol::Seq;
use slab::Slab;
use tokio::time::Instant;

use super::Topic;
use super::subscriber::{Batch, Subscriber};
use crate::log::{Event, Log};

/// Events that are written at once.
const BATCH_EVENTS: usize = 256;
/// Streams that are written to until others may come and go.
const AT_ONCE: usize = 64;

/// Streams by what they are about.
type Members = HashMap<Topic, Slab<Arc<Subscriber>>>;

pub(super) struct Deliverer {
    members: Mutex<Members>,
    /// Everything up to here was offered to every member that was parked.
    seen: AtomicU64,
    thread: OnceLock<Thread>,
}

impl Deliverer {
    /// Starts a thread that ends with the log.
    pub(super) fn start(log: &Arc<Log>) -> Arc<Self> {
        let deliverer = Arc::new(Self {
            members: Mutex::default(),
            seen: AtomicU64::new(log.head()),
            thread: OnceLock::new(),
        });
        let (own, log) = (Arc::clone(&deliverer), Arc::downgrade(log));
        let thread = std::thread::Builder::new()
            .name("fanout".into())
            .spawn(move || own.run(&log))
            .expect("a thread can be started for the first stream");
        let _ = deliverer.thread.set(thread.thread().clone());
        deliverer
    }

    /// Lets the thread look at the log, where that is of use to somebody.
    pub(super) fn wake(&self) {
        // Whoever joins after this look finds what is new in the log by itself: the lock says who was first.
        if !self.members().is_empty() {
            self.look();
        }
    }

    /// Lets the thread look at the log, which may be gone.
    pub(super) fn look(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    pub(super) fn seen(&self) -> Seq {
        self.seen.load(Ordering::Acquire)
    }

    pub(super) fn add(&self, topic: Topic, member: Arc<Subscriber>, log: &Log) -> usize {
        let mut members = self.members();
        if members.is_empty() {
            // Nobody was here for what came before.
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
        // It may hold the last of a socket: closing that is no business of the others.
        drop(members);
        drop(member);
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, log: &Weak<Log>) {
        while let Some(log) = log.upgrade() {
            let (head, seen) = (log.head(), self.seen());
            if head <= seen {
                drop(log);
                std::thread::park();
                continue;
            }
            // Where an event cannot be shown, each stream's task comes to that by itself, and the others go on.
            let advanced = catch_unwind(AssertUnwindSafe(|| self.advance(&log, seen, head)));
            let seen = advanced.ok().flatten().unwrap_or_else(|| {
                self.call_all();
                head
            });
            self.seen.store(seen, Ordering::Release);
        }
    }

    /// Offers the next events to the members. The last of them; `None` where memory does not reach so far back.
    fn advance(&self, log: &Log, seen: Seq, head: Seq) -> Option<Seq> {
        // Not beyond the head, though memory may be: who parks knows the head, and would miss what lies between.
        let count = usize::try_from(head - seen).unwrap_or(BATCH_EVENTS);
        let events = log.recent(seen, count.min(BATCH_EVENTS))?;
        let last = events.last()?.seq();
        let mut batch = Batch {
            events: &events,
            now: Instant::now(),
            buffer: Vec::new(),
        };
        self.each(&Topic::Everything, |member| {
            member.deliver(log, &mut batch);
        });
        for topic in self.touched(&events) {
            self.each(&topic, |member| member.deliver(log, &mut batch));
        }
        Some(last)
    }

    /// Leaves it to everybody to find out what is new.
    fn call_all(&self) {
        let topics: Vec<_> = self.members().keys().cloned().collect();
        for topic in topics {
            self.each(&topic, Subscriber::call);
        }
    }

    /// What the events touch of that which a member is about.
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
