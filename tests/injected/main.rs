//! The API in process, on a journal in memory that fails each of its calls in turn.

mod faulty;
mod hub;

use std::time::Duration;

use faulty::{Fault, Faulty};
use hub::InProcess;
use serde_json::{Value, json};

/// Successful responses, which must stay true.
#[derive(Default)]
struct Promised {
    /// Key, text and id of each stored request.
    stored: Vec<(String, String, u64)>,
    /// Key and text of each request without a successful response: it may be stored or not, and may be sent again.
    failed: Vec<(String, String)>,
    acked: Vec<u64>,
}

/// Publishes alone and in a batch, reads, acknowledges and withdraws.
async fn scenario(hub: &InProcess) -> Promised {
    let mut promised = Promised::default();
    for n in 0..4 {
        publish(hub, &mut promised, format!("key-{n}"), format!("text {n}")).await;
    }
    if let (200, reply) = hub.get("/wait?timeout=0&as=reader").await {
        let lease = json!({ "lease": reply["lease"] });
        if let (200, acked) = hub.post("/inboxes/primary/ack", &lease).await {
            let acked: Vec<u64> = serde_json::from_value(acked["acked"].clone()).unwrap();
            promised.acked.extend(acked);
        }
    }
    for n in 4..8 {
        publish(hub, &mut promised, format!("key-{n}"), format!("text {n}")).await;
    }
    hub.get("/notifications").await;
    hub.get("/notifications/1/trace").await;
    hub.get("/inboxes").await;
    promised
}

async fn publish(hub: &InProcess, promised: &mut Promised, key: String, text: String) {
    match hub.publish(&key, &text).await {
        (200 | 201, reply) => promised
            .stored
            .push((key, text, reply["id"].as_u64().unwrap())),
        (status, problem) => {
            assert!((500..600).contains(&status), "{status} {problem}");
            promised.failed.push((key, text));
        }
    }
}

/// Asserts that everything promised holds, and that a failed request can be sent again and is stored once.
async fn check(hub: &InProcess, mut promised: Promised, case: &str) {
    for (key, text) in std::mem::take(&mut promised.failed) {
        publish(hub, &mut promised, key, text).await;
    }
    assert!(
        promised.failed.is_empty(),
        "{case}: a sound journal refuses"
    );
    for (key, text, id) in &promised.stored {
        let (status, again) = hub.publish(key, text).await;
        assert_eq!(
            (status, again["id"].as_u64()),
            (200, Some(*id)),
            "{case}: {key} is known"
        );
        let (_, found) = hub.get(&format!("/notifications/{id}")).await;
        assert_eq!(found["msg"], json!(text), "{case}");
    }
    let (_, history) = hub.get("/notifications?limit=500").await;
    assert_eq!(
        texts(&history).len(),
        promised.stored.len(),
        "{case}: each is there once"
    );
    let (_, rest) = hub.get("/wait?timeout=0&as=reader").await;
    let offered = ids(&rest);
    for (_, _, id) in &promised.stored {
        let acked = promised.acked.contains(id);
        assert!(
            !(acked && offered.contains(id)),
            "{case}: {id} was acknowledged and comes again"
        );
        // An acknowledgement with an error response may have been stored.
        let (_, found) = hub.get(&format!("/notifications/{id}")).await;
        assert!(
            offered.contains(id) || found["status"] == "acked",
            "{case}: {id} is lost"
        );
    }
}

fn ids(reply: &Value) -> Vec<u64> {
    let all = reply["notifications"].as_array().into_iter().flatten();
    all.filter_map(|it| it["id"].as_u64()).collect()
}

fn texts(reply: &Value) -> Vec<&str> {
    let all = reply["notifications"].as_array().into_iter().flatten();
    all.filter_map(|it| it["msg"].as_str()).collect()
}

async fn calls_of_a_sound_run() -> usize {
    let journal = Faulty::new(None);
    let hub = InProcess::start(journal.clone());
    let promised = scenario(&hub).await;
    assert!(promised.failed.is_empty());
    assert_eq!(promised.acked.len(), 4);
    check(&hub, promised, "no fault").await;
    let calls = journal.calls();
    hub.stop();
    calls
}

/// Injects the fault at every call in turn; then a hub restarts on the stored records and is checked.
async fn survive(fault: fn(usize) -> Fault) {
    for call in 0..calls_of_a_sound_run().await {
        let fault = fault(call);
        let case = format!("{fault:?}");
        let journal = Faulty::new(Some(fault));
        let hub = InProcess::start(journal.clone());
        let promised = scenario(&hub).await;
        hub.stop();
        journal.heal();
        let hub = InProcess::start(journal);
        check(&hub, promised, &case).await;
        hub.stop();
    }
}

#[tokio::test]
async fn a_full_disk_at_any_call_breaks_no_promise() {
    survive(|call| Fault::Full { call }).await;
}

#[tokio::test]
async fn a_failing_write_at_any_call_breaks_no_promise() {
    survive(|call| Fault::Io {
        call,
        stored: false,
    })
    .await;
}

#[tokio::test]
async fn a_write_that_is_stored_and_reported_as_failed_breaks_no_promise() {
    survive(|call| Fault::Io { call, stored: true }).await;
}

#[tokio::test]
async fn after_a_full_disk_the_same_hub_continues() {
    for call in 0..calls_of_a_sound_run().await {
        let journal = Faulty::new(Some(Fault::Full { call }));
        let hub = InProcess::start(journal);
        let promised = scenario(&hub).await;
        check(&hub, promised, &format!("full at {call}, no restart")).await;
        hub.stop();
    }
}

#[tokio::test]
async fn on_a_full_disk_waits_and_acks_continue_and_due_notifications_are_published_later() {
    let journal = Faulty::new(None);
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
    let journal = Faulty::new(None);
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
