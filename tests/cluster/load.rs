//! Publishers and readers that go on through faults, and what they may expect.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hub_harness::{Client, Hub};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::support::{TAKEOVER, publish_by};

/// The pause between two notifications of a publisher, so that the readers keep up.
const PAUSE: Duration = Duration::from_millis(20);
/// The pause before a request is sent again.
const RETRY: Duration = Duration::from_millis(100);

/// The inboxes: a publisher at each hub, and the one waiter of its inbox at the other one.
const INBOXES: [&str; 2] = ["a", "b"];

#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    /// When the last notification was acknowledged, and the longest time between two in this round.
    last: Mutex<Option<(Instant, Duration)>>,
}

impl Shared {
    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    fn note(&self) {
        let mut last = self.last.lock().unwrap();
        let (before, longest) = last.unwrap_or((Instant::now(), Duration::ZERO));
        *last = Some((Instant::now(), longest.max(before.elapsed())));
    }
}

/// The load of a test.
pub(crate) struct Load {
    shared: Arc<Shared>,
    publishers: Vec<JoinHandle<Vec<(u64, String)>>>,
    readers: Vec<Reader>,
}

struct Reader {
    read: Arc<Mutex<BTreeSet<u64>>>,
    task: JoinHandle<()>,
}

/// The acknowledged notifications of each publisher, in order.
pub(crate) struct Published(Vec<Vec<(u64, String)>>);

impl Load {
    pub(crate) fn start(hubs: &[Hub; 2]) -> Self {
        let shared = Arc::<Shared>::default();
        let publishers = INBOXES
            .iter()
            .zip(hubs)
            .map(|(inbox, hub)| tokio::spawn(publisher(inbox, hub.client(), Arc::clone(&shared))));
        let readers = INBOXES.iter().zip(hubs.iter().rev()).map(|(inbox, hub)| {
            let read = Arc::default();
            let task = tokio::spawn(reader(inbox, hub.client(), Arc::clone(&read)));
            Reader { read, task }
        });
        Self {
            publishers: publishers.collect(),
            readers: readers.collect(),
            shared,
        }
    }

    /// Forgets the silence so far.
    pub(crate) fn begin_round(&self) {
        *self.shared.last.lock().unwrap() = None;
        self.shared.note();
    }

    /// Returns the longest time of this round in which no notification was acknowledged.
    pub(crate) async fn silence(&self) -> Duration {
        // Until the publishers go on.
        let seen = Instant::now();
        loop {
            let (last, longest) = self.shared.last.lock().unwrap().expect("a round");
            if last > seen {
                return longest;
            }
            assert!(seen.elapsed() < TAKEOVER, "the publishers have stopped");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Ends the publishers, and returns when each inbox is read.
    pub(crate) async fn stop(self) -> Published {
        self.shared.stopped.store(true, Ordering::SeqCst);
        let mut all = Vec::new();
        for (publisher, reader) in self.publishers.into_iter().zip(self.readers) {
            let acknowledged = publisher.await.expect("it ends");
            let ids: BTreeSet<u64> = acknowledged.iter().map(|it| it.0).collect();
            let began = Instant::now();
            while !reader.read.lock().unwrap().is_superset(&ids) {
                let read = reader.read.lock().unwrap().len();
                assert!(!reader.task.is_finished(), "a reader failed");
                assert!(began.elapsed() < TAKEOVER, "read {read} of {}", ids.len());
                tokio::time::sleep(RETRY).await;
            }
            reader.task.abort();
            all.push(acknowledged);
        }
        Published(all)
    }
}

impl Published {
    /// Checks that `stored` has each key once, in the order of its publisher, with the number that it was told.
    pub(crate) fn check(self, stored: &[(u64, String)]) {
        for (inbox, acknowledged) in INBOXES.iter().zip(self.0) {
            println!("{} notifications to {inbox}", acknowledged.len());
            assert!(!acknowledged.is_empty());
            let own = stored.iter();
            let own = own.filter(|(_, text)| text.starts_with(&format!("{inbox}-")));
            assert!(
                own.eq(&acknowledged),
                "a key of {inbox} is lost, doubled, or out of order"
            );
        }
    }
}

/// Publishes numbered keys one after another; returns each with the number that it was told.
async fn publisher(inbox: &str, client: Client, shared: Arc<Shared>) -> Vec<(u64, String)> {
    let mut acknowledged = Vec::new();
    while !shared.is_stopped() {
        let key = format!("{inbox}-{}", acknowledged.len());
        acknowledged.push((publish_by(&client, &key, inbox).await, key));
        shared.note();
        tokio::time::sleep(PAUSE).await;
    }
    acknowledged
}

/// Waits for one batch after another. A notification that comes again must be marked as such.
async fn reader(inbox: &str, client: Client, read: Arc<Mutex<BTreeSet<u64>>>) {
    let mut ack = String::new();
    loop {
        let path = format!("/wait?inbox={inbox}&timeout=10{ack}");
        let answer = match client.get(&path).try_send().await {
            Ok(answer) if answer.status == 200 => answer.json(),
            Ok(answer) if answer.status == 204 => {
                ack.clear();
                continue;
            }
            // The hub is down, or the active one still holds the wait of before.
            _ => {
                tokio::time::sleep(RETRY).await;
                continue;
            }
        };
        for item in answer["notifications"].as_array().expect("a list") {
            let id = item["id"].as_u64().expect("a number");
            let is_new = read.lock().unwrap().insert(id);
            assert!(
                is_new || item["redelivered"] == Value::Bool(true),
                "{id} came twice"
            );
        }
        ack = format!("&ack={}", answer["lease"].as_str().expect("a lease"));
    }
}
