//! Repeated kill -9 while clients publish, read and acknowledge.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hub_harness::{Answer, Client, Hub};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

const KILLS: usize = 50;
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
    async fn insist(&self, ask: impl Fn() -> hub_harness::Ask) -> Answer {
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
            let post = json!({ "msg": text, "to": inbox, "from": format!("p{publisher}"), "data": "x".repeat(n % 997) });
            let ask = || {
                self.client
                    .post("/notify")
                    .header("idempotency-key", &text)
                    .json(&post)
            };
            let id = self.insist(ask).await.json()["id"]
                .as_u64()
                .expect("stored");
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
            let path = format!("/inboxes/{inbox}/ack");
            self.promised.lock().unwrap().tried.extend(&ids);
            self.insist(|| self.client.post(&path).json(&json!({ "lease": lease })))
                .await
                .expect(200);
            self.promised.lock().unwrap().acked.extend(ids);
            let _ = self.answers.send(());
        }
    }

    /// Reads an inbox and acknowledges each batch with the next wait.
    async fn read_on(self, inbox: String) {
        let mut last = (Vec::new(), String::new());
        while !self.end.is_cancelled() {
            self.promised.lock().unwrap().tried.extend(&last.0);
            let next = self.batch(&inbox, &last.1).await;
            let next = next.unwrap_or_default();
            assert!(
                next.0.iter().all(|id| !last.0.contains(id)),
                "acknowledged by this request and in its answer"
            );
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
        let ids = ids(&reply);
        let promised = self.promised.lock().unwrap();
        // This request has already acknowledged its ids, although they are noted a moment later.
        let undone: Vec<_> = ids
            .iter()
            .filter(|id| promised.acked.contains(id))
            .collect();
        assert!(
            undone.is_empty(),
            "acknowledged and offered again: {undone:?}"
        );
        Some((ids, reply["lease"].as_str().expect("a lease").to_owned()))
    }
}

fn ids(reply: &Value) -> Vec<u64> {
    let all = reply["notifications"].as_array().expect("a list");
    all.iter()
        .filter_map(|notification| notification["id"].as_u64())
        .collect()
}

#[tokio::test]
async fn after_50_kills_every_response_is_still_true() {
    let mut hub = Hub::builder()
        .set("snapshot.every_records=300")
        .set("retention.max_bytes=600000")
        .start();
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
    for _ in 0..KILLS {
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
    verify(&world).await;
}

/// Asserts that every stored notification is pending exactly once, unless it was acknowledged.
async fn verify(world: &World) {
    let mut left = BTreeSet::new();
    for inbox in (0..2 * READERS).map(|n| format!("inbox{n}")) {
        let mut ack = String::new();
        while let Some((ids, lease)) = world.batch(&inbox, &ack).await {
            for id in ids {
                assert!(
                    left.insert(id),
                    "{id} was offered twice without a lease running out"
                );
            }
            ack = lease;
        }
    }
    let promised = world.promised.lock().unwrap();
    let unique: BTreeSet<u64> = promised.stored.values().copied().collect();
    assert_eq!(
        unique.len(),
        promised.stored.len(),
        "each number was given once"
    );
    for (text, id) in &promised.stored {
        assert!(
            left.contains(id) || promised.tried.contains(id),
            "{text} ({id}) is lost"
        );
    }
    assert!(promised.stored.len() > KILLS * PUBLISHERS, "much was said");
}
