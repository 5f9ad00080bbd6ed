//! `GET /stats`.

use hub_harness::{Client, Hub};
use serde_json::{Value, json};

use crate::memory_hub;

async fn stats(client: &Client, query: &str) -> Value {
    let stats = client.get(&format!("/stats{query}")).send().await;
    stats.expect(200).json()
}

/// Returns the number of a type's notifications in the window.
fn count(stats: &Value, kind: &str) -> u64 {
    let minutes = stats["minutes"].as_array().expect("a list");
    let counts = minutes.iter().filter_map(|it| it["counts"][kind].as_u64());
    counts.sum()
}

async fn ask(client: &Client, from: &str, kind: &str) -> u64 {
    client
        .notify(json!({ "msg": "?", "from": from, "type": kind }))
        .await
}

async fn answer(client: &Client, id: u64) {
    let answer = json!({ "answer": "allow" });
    client
        .post_json(&format!("/questions/{id}/answer"), &answer)
        .await
        .expect(201);
}

#[tokio::test]
async fn an_empty_hub_returns_its_minutes_with_zeros() {
    let hub = Hub::builder().memory().start();
    let empty = stats(&hub.client(), "?minutes=3").await;
    assert_eq!(empty["minutes"].as_array().expect("a list").len(), 3);
    assert_eq!(empty["minutes"][0]["at"], empty["from"]);
    let rest = json!([
        empty["answers"],
        empty["oldest_open"],
        empty["wakes"],
        empty["partial"]
    ]);
    let none = json!({ "count": 0, "median_ms": null, "p90_ms": null, "recent": [] });
    assert_eq!(rest, json!([[], null, none, false]));
}

#[tokio::test]
async fn notifications_are_counted_by_type_also_after_a_restart() {
    let mut hub = Hub::start();
    let lines: Vec<Value> = (0..1000)
        .map(|_| json!({ "msg": "x", "type": "progress" }))
        .collect();
    // More than the ring holds and than one read of the disk returns, so that the second read begins at a position of
    // its own.
    for _ in 0..5 {
        hub.client().post_json("/notify", &lines).await.expect(201);
    }
    hub.client().say("one").await;
    let late = json!({ "msg": "x", "type": "error", "ts": "2026-02-17T14:30:05Z" });
    hub.client().notify(late).await;
    hub.restart();
    let stats = stats(&hub.client(), "").await;
    let counts = ["progress", "message", "error"].map(|kind| count(&stats, kind));
    assert_eq!((counts, &stats["partial"]), ([5000, 1, 0], &json!(false)));
}

#[tokio::test]
async fn response_times_are_grouped_by_agent_and_the_oldest_open_question_stays() {
    let (hub, client) = memory_hub();
    let info = json!({ "agent": "claude" });
    client.put_json("/sessions/w1", &info).await.expect(201);
    for (from, kind) in [("w1", "question"), ("w1", "approval"), ("ci", "question")] {
        let id = ask(&client, from, kind).await;
        answer(&hub.person().await, id).await;
    }
    let oldest = ask(&client, "w1", "approval").await;
    ask(&client, "ci", "question").await;
    let stats = stats(&client, "").await;
    let agents = stats["answers"].as_array().expect("a list").iter();
    let agents: Vec<Value> = agents.map(|it| json!([it["agent"], it["count"]])).collect();
    assert_eq!(json!(agents), json!([["claude", 2], ["unknown", 1]]));
    assert_eq!(stats["oldest_open"]["id"], oldest);
}

#[tokio::test]
async fn a_wake_counts_if_a_waiter_acknowledged_it() {
    let (hub, client) = memory_hub();
    let mut presence = client.events("?kinds=presence").await;
    let waits = hub.client().get("/wait?timeout=60&as=me");
    let waits = tokio::spawn(async move { waits.send().await });
    presence.until_waiting("primary").await;
    client.say("woken").await;
    let batch = waits.await.expect("an answer").expect(200).json();
    assert_eq!(
        stats(&client, "").await["wakes"]["count"],
        0,
        "it may have got lost"
    );
    let lease = json!({ "lease": batch["lease"] });
    client
        .post_json("/inboxes/primary/ack", &lease)
        .await
        .expect(200);
    // Without a waiter nothing is woken, however soon the notification is read.
    client.say("found").await;
    let found = client.read("/wait?timeout=0").await;
    let lease = json!({ "lease": found["lease"] });
    client
        .post_json("/inboxes/primary/ack", &lease)
        .await
        .expect(200);
    let wakes = stats(&client, "").await["wakes"].clone();
    assert_eq!(wakes["count"], 1, "{wakes}");
    assert_eq!(wakes["recent"][0]["ms"], wakes["median_ms"]);
}
