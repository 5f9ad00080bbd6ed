//! Repeated kill -9 while clients publish, read and acknowledge.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hub_harness::{Answer, Ask, Client, Hub, repetitions};
use hub_protocol::Published;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

const PUBLISHERS: usize = 16;
/// Half of the readers acknowledge by a separate call, the others with their next wait.
const READERS: usize = 4;
/// Responses between two kills: enough for some commits of every kind.
const ANSWERS: usize = 60;
/// Interval between a client's retries while the hub is down.
const RETRY: Duration = Duration::from_millis(20);

/// Everything that a client received a successful response for.
#[derive(Default)]
struct Promised {
    /// Each text and its id.
    stored: BTreeMap<String, u64>,
    /// Ids that a reader tried to acknowledge, with or without success.
    tried: BTreeSet<u64>,
    /// Ids whose acknowledgement was answered.
    acked: BTreeSet<u64>,
}

#[derive(Clone)]
struct World {
    client: Client,
    promised: Arc<Mutex<Promised>>,
    answers: UnboundedSender<()>,
    end: CancellationToken,
}

impl World {
    /// Sends the request until a response arrives that is not a failure of the hub.
    async fn insist(&self, ask: impl Fn() -> Ask) -> Answer {
        loop {
            match ask().try_send().await {
                Ok(answer) if answer.status < 500 => return answer,
                _ => tokio::time::sleep(RETRY).await,
            }
        }
    }

    async fn publish(self, publisher: usize) {
        let mut n = 0;
        while !self.end.is_cancelled() {
            let text = format!("{publisher}-{n}");
            let inbox = format!("inbox{}", (publisher + n) % (2 * READERS));
            let (from, data) = (format!("p{publisher}"), "x".repeat(n % 997));
            let post = json!({ "msg": text, "to": inbox, "from": from, "data": data });
            let ask = || self.client.post("/notify").header("idempotency-key", &text);
            let answer = self.insist(|| ask().json(&post)).await;
            let id = answer.parse::<Published>().id;
            self.promised.lock().unwrap().stored.insert(text, id);
            let _ = self.answers.send(());
            n += 1;
        }
    }

    /// Reads an inbox and acknowledges each batch by a separate call.
    async fn read_and_ack(self, inbox: String) {
        while !self.end.is_cancelled() {
            let Some((ids, lease)) = self.batch(&inbox, "").await else {
                continue;
            };
            let (path, lease) = (format!("/inboxes/{inbox}/ack"), json!({ "lease": lease }));
            self.promised.lock().unwrap().tried.extend(&ids);
            let ack = || self.client.post(&path).json(&lease);
            self.insist(ack).await.expect(200);
            self.promised.lock().unwrap().acked.extend(ids);
            let _ = self.answers.send(());
        }
    }

    /// Reads an inbox and acknowledges each batch with the next wait.
    async fn read_on(self, inbox: String) {
        let mut last = (Vec::new(), String::new());
        while !self.end.is_cancelled() {
            self.promised.lock().unwrap().tried.extend(&last.0);
            let next = self.batch(&inbox, &last.1).await.unwrap_or_default();
            let again = next.0.iter().any(|id| last.0.contains(id));
            assert!(!again, "acknowledged by this request and in its answer");
            self.promised.lock().unwrap().acked.extend(&last.0);
            last = next;
            let _ = self.answers.send(());
        }
    }

    /// Waits for the next batch of an inbox, which must contain no acknowledged id.
    async fn batch(&self, inbox: &str, ack: &str) -> Option<(Vec<u64>, String)> {
        let path = format!("/wait?inbox={inbox}&as={inbox}&timeout=1&ack={ack}");
        let answer = self.insist(|| self.client.get(&path)).await;
        if answer.status == 204 {
            return None;
        }
        let reply = answer.expect(200).json();
        let all = reply["notifications"].as_array().expect("a list");
        let ids: Vec<u64> = all.iter().filter_map(|it| it["id"].as_u64()).collect();
        let promised = self.promised.lock().unwrap();
        // This request has already acknowledged its ids, although they are noted a moment later.
        let undone = ids.iter().find(|id| promised.acked.contains(id));
        assert_eq!(undone, None, "acknowledged and offered again");
        Some((ids, reply["lease"].as_str().expect("a lease").to_owned()))
    }
}

#[tokio::test]
async fn after_many_kills_every_response_is_still_true() {
    let hub = Hub::builder().set("snapshot.every_records=300");
    let mut hub = hub.set("retention.max_bytes=600000").start();
    let (answers, mut answered) = unbounded_channel();
    let world = World {
        client: hub.client(),
        promised: Arc::default(),
        answers,
        end: CancellationToken::new(),
    };
    let mut tasks = tokio::task::JoinSet::new();
    for publisher in 0..PUBLISHERS {
        tasks.spawn(world.clone().publish(publisher));
    }
    for reader in 0..READERS {
        tasks.spawn(world.clone().read_and_ack(format!("inbox{reader}")));
        tasks.spawn(world.clone().read_on(format!("inbox{}", READERS + reader)));
    }
    let kills = repetitions(10, 50);
    for _ in 0..kills {
        for _ in 0..ANSWERS {
            answered.recv().await.expect("somebody is left");
        }
        hub.kill_9();
        hub.start_again();
    }
    world.end.cancel();
    while let Some(task) = tasks.join_next().await {
        task.expect("nobody was told anything wrong");
    }
    verify(&world, kills as usize * PUBLISHERS).await;
}

/// Asserts that every stored notification is pending exactly once, unless it was acknowledged, and that there are more than `fewest`.
async fn verify(world: &World, fewest: usize) {
    let mut left = BTreeSet::new();
    for inbox in (0..2 * READERS).map(|n| format!("inbox{n}")) {
        let mut ack = String::new();
        while let Some((ids, lease)) = world.batch(&inbox, &ack).await {
            for id in ids {
                let new = left.insert(id);
                assert!(new, "{id} was offered twice without a lease running out");
            }
            ack = lease;
        }
    }
    let promised = world.promised.lock().unwrap();
    let unique: BTreeSet<u64> = promised.stored.values().copied().collect();
    let count = promised.stored.len();
    assert_eq!(unique.len(), count, "each number was given once");
    for (text, id) in &promised.stored {
        let is_known = left.contains(id) || promised.tried.contains(id);
        assert!(is_known, "{text} ({id}) is lost");
    }
    assert!(count > fewest, "{count} were published");
}
