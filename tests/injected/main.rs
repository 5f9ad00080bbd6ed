//! The API in process, on a journal in memory that is full or unreadable. Every single failing call is simulated, see
//! `tests/sim`.

mod faulty;
mod hub;

use std::time::Duration;

use faulty::{Fault, Faulty};
use hub::InProcess;
use serde_json::{Value, json};

fn texts(reply: &Value) -> Vec<&str> {
    let all = reply["notifications"].as_array().into_iter().flatten();
    all.filter_map(|it| it["msg"].as_str()).collect()
}

#[tokio::test]
async fn on_a_full_disk_waits_and_acks_continue_and_due_notifications_are_published_later() {
    let journal = Faulty::new();
    let hub = InProcess::start(journal.clone());
    let clock = hub.clock();
    hub.publish("k", "read me").await;
    let (_, first) = hub.get("/wait?timeout=0").await;
    let listens = "/sessions/w1/listeners/boss?within=1";
    assert_eq!(hub.put(listens).await.0, 201);
    journal.inject(Fault::Low);
    // Longer than the listener's deadline of one second.
    let waited = hub.get("/wait?inbox=elsewhere&timeout=2");
    let waited = tokio::time::timeout(Duration::from_secs(20), waited).await;
    assert_eq!(waited.expect("a wait ends").0, 204);
    assert_eq!(hub.publish("k2", "no room").await.0, 507);
    let lease = json!({ "lease": first["lease"] });
    let (status, acked) = hub.post("/inboxes/primary/ack", &lease).await;
    assert_eq!((status, &acked["acked"]), (200, &json!([1])));
    assert_eq!(hub.storage_errors(), 0, "nothing was tried in vain");
    journal.heal();
    let (_, late) = hub.get("/wait?inbox=boss&timeout=20").await;
    let all = texts(&late).join("");
    assert!(all.contains("Expected w1 within"), "{late}");
    clock.abort();
    hub.stop();
}

#[tokio::test]
async fn a_reader_gets_a_gap_for_unreadable_records() {
    let journal = Faulty::new();
    let hub = InProcess::start(journal.clone());
    hub.publish("k", "lost").await;
    hub.stop();
    // After the restart no record is in memory, so the reader depends on the disk.
    let hub = InProcess::start(journal.clone());
    journal.inject(Fault::Corrupt);
    let text = hub
        .first_events("/events?since=0", "\"reason\":\"corrupt\"")
        .await;
    assert!(
        text.contains("event: gap\ndata: {\"from\":1,\"to\":2,\"reason\":\"corrupt\"}"),
        "{text}"
    );
    hub.stop();
}
