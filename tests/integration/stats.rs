//! `GET /stats`.

use hub_harness::{Client, each};
use serde_json::{Value, json};

use crate::{assert_fields, disk_hub, memory_hub};

async fn ask(client: &Client, from: &str, kind: &str) -> u64 {
    let post = json!({ "msg": "?", "from": from, "type": kind });
    client.notify(post).await
}

#[tokio::test]
async fn an_empty_hub_returns_its_minutes_with_zeros() {
    let (_hub, client) = memory_hub();
    let empty = client.read("/stats?minutes=3").await;
    assert_eq!(empty["minutes"].as_array().expect("a list").len(), 3);
    assert_eq!(empty["minutes"][0]["at"], empty["from"]);
    let wakes = json!({ "count": 0, "median_ms": null, "p90_ms": null, "recent": [] });
    let rest = json!({ "answers": [], "oldest_open": null, "wakes": wakes, "partial": false });
    assert_fields(&empty, rest);
}

#[tokio::test]
async fn notifications_are_counted_by_type_also_after_a_restart() {
    let (mut hub, client) = disk_hub();
    let lines = vec![json!({ "msg": "x", "type": "progress" }); 1000];
    // More than the ring holds and than one read of the disk returns, so that the second read begins at a position of
    // its own.
    for _ in 0..5 {
        client.post_json("/notify", &lines).await.expect(201);
    }
    client.say("one").await;
    let late = json!({ "msg": "x", "type": "error", "ts": "2026-02-17T14:30:05Z" });
    client.notify(late).await;
    hub.restart();
    let stats = client.read("/stats").await;
    let minutes = each(&stats["minutes"], "counts");
    let count = |kind| {
        let counts = minutes.as_array().expect("a list").iter();
        counts.filter_map(|it| it[kind].as_u64()).sum::<u64>()
    };
    assert_eq!(["progress", "message", "error"].map(count), [5000, 1, 0]);
    assert_eq!(stats["partial"], false);
}

#[tokio::test]
async fn response_times_are_grouped_by_agent_and_the_oldest_open_question_stays() {
    let (hub, client) = memory_hub();
    client.register("w1", json!({ "agent": "claude" })).await;
    for (from, kind) in [("w1", "question"), ("w1", "approval"), ("ci", "question")] {
        let id = ask(&client, from, kind).await;
        hub.person().await.answer(id, "allow").await.expect(201);
    }
    let oldest = ask(&client, "w1", "approval").await;
    ask(&client, "ci", "question").await;
    let stats = client.read("/stats").await;
    let expected = json!(["claude", "unknown"]);
    assert_eq!(each(&stats["answers"], "agent"), expected);
    assert_eq!(each(&stats["answers"], "count"), json!([2, 1]));
    let by_session = &stats["answers_by_session"];
    assert_eq!(each(by_session, "session"), json!(["ci", "w1"]));
    assert_eq!(each(by_session, "count"), json!([1, 2]));
    assert_eq!(stats["oldest_open"]["id"], oldest);
}

#[tokio::test]
async fn a_wake_whose_turn_did_nothing_is_false_also_after_a_restart() {
    let (mut hub, client) = disk_hub();
    let start = json!({ "hook_event_name": "SessionStart" });
    client.hook("", "w1", start).await;
    let used = |tool: &str, on: &str| {
        json!({ "hook_event_name": "PostToolUse", "tool_name": tool, "tool_use_id": on,
            "tool_input": { "command": on } })
    };
    let stop = || json!({ "hook_event_name": "Stop", "background_tasks": [] });
    for tool in [
        None,
        Some(used("Bash", "hubctl wait")),
        Some(used("Bash", "make")),
    ] {
        let wait = "session=w1&way=rewake&timeout=60";
        let waits = client.waiter(wait, "w1").await;
        let post = json!({ "msg": "news", "from": "ci", "to": "w1", "type": "message" });
        client.notify(post).await;
        let batch: Value = waits.await.expect("an answer").expect(200).json();
        client.ack("w1", batch).await;
        let woken = "<task-notification>\n<summary>Notifications from the hub</summary>";
        let woken = json!({ "hook_event_name": "UserPromptSubmit", "prompt": woken });
        client.hook("", "w1", woken).await;
        if let Some(tool) = tool {
            client.hook("", "w1", tool).await;
        }
        client.hook("", "w1", stop()).await;
    }
    let before = client.read("/stats").await;
    assert_fields(&before["false_wakes"], json!({ "wakes": 3, "idle": 2 }));
    assert_eq!(before["proofs"]["count"], 3);
    let by = &before["tokens_by_sender"];
    assert_eq!(each(by, "from"), json!(["ci"]));
    assert_eq!(each(by, "notifications"), json!([3]));
    assert!(by[0]["tokens"].as_u64().expect("a number") > 30, "{by}");
    let summary = before["summary"].as_str().expect("a text");
    assert!(
        summary.contains("2 of 3 wakes led to nothing (67 %)"),
        "{summary}"
    );
    hub.restart();
    let after = client.read("/stats").await;
    for field in ["false_wakes", "proofs", "tokens_by_sender"] {
        assert_eq!(before[field], after[field], "{field}");
    }
}

#[tokio::test]
async fn a_wake_counts_if_a_waiter_acknowledged_it() {
    let (_hub, client) = memory_hub();
    let waits = client.waiter("timeout=60&as=me", "primary").await;
    client.say("woken").await;
    let batch: Value = waits.await.expect("an answer").expect(200).json();
    let wakes = client.read("/stats").await["wakes"].clone();
    assert_eq!(wakes["count"], 0, "it may have got lost");
    client.ack("primary", batch).await;
    // Without a waiter nothing is woken, however soon the notification is read.
    client.say("found").await;
    client.ack("primary", client.take("").await).await;
    let wakes = client.read("/stats").await["wakes"].clone();
    assert_eq!(wakes["count"], 1, "{wakes}");
    assert_eq!(wakes["recent"][0]["ms"], wakes["median_ms"]);
}
