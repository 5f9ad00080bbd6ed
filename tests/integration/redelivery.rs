//! Redelivery of notifications that were handed out before the hub ended.

use hub_harness::{Client, Hub};
use serde_json::Value;

/// Returns the notifications that a reader gets at once.
async fn offered(client: &Client) -> Vec<Value> {
    let batch = client.get("/wait?timeout=0").send().await.expect(200);
    batch.json()["notifications"].as_array().unwrap().clone()
}

#[tokio::test]
async fn after_kill_9_earlier_pending_notifications_are_redelivered() {
    let mut hub = Hub::start();
    let client = hub.client();
    let id = client.say("handed out").await;
    assert_eq!(offered(&client).await[0].get("redelivered"), None);
    // Two kills, because the first delivery after a kill is not acknowledged either.
    for kill in 1..=2 {
        hub.kill_9();
        hub.start_again();
        let again = offered(&hub.client()).await;
        assert_eq!(again[0]["id"], id);
        assert_eq!(again[0]["redelivered"], true, "kill {kill}");
    }
    // Notifications published after the start were not handed out before.
    let client = hub.client();
    let new = client.say("new").await;
    let next = offered(&client).await;
    assert_eq!(next[0]["id"], new);
    assert_eq!(next[0].get("redelivered"), None);
}

#[tokio::test]
async fn after_a_clean_stop_only_handed_out_notifications_are_redelivered() {
    let mut hub = Hub::start();
    hub.client().say("first").await;
    hub.restart();
    let first = offered(&hub.client()).await;
    assert_eq!(first[0].get("redelivered"), None);
    hub.client().say("second").await;
    // Two restarts, without a delivery between them.
    hub.restart();
    hub.restart();
    let again = offered(&hub.client()).await;
    assert_eq!(again[0]["redelivered"], true);
    assert_eq!(again[1].get("redelivered"), None);
}

#[tokio::test]
async fn a_run_in_memory_does_not_hide_an_earlier_kill_9() {
    let mut hub = Hub::start();
    hub.client().say("handed out").await;
    offered(&hub.client()).await;
    hub.kill_9();
    let mut other = Hub::builder().memory().state_dir(hub.state_dir()).start();
    assert!(other.stop().success());
    hub.start_again();
    assert_eq!(offered(&hub.client()).await[0]["redelivered"], true);
}
