//! Redelivery of notifications that were handed out before the hub ended.

use hub_harness::{Client, Hub, each};
use serde_json::{Value, json};

use crate::disk_hub;

/// Returns which of the notifications that a reader gets at once are marked as redelivered.
async fn redelivered(client: &Client) -> Value {
    each(&client.take("").await["notifications"], "redelivered")
}

#[tokio::test]
async fn after_kill_9_earlier_pending_notifications_are_redelivered() {
    let (mut hub, client) = disk_hub();
    client.say("handed out").await;
    assert_eq!(redelivered(&client).await, json!([null]));
    // Two kills, because the first delivery after a kill is not acknowledged either.
    for kill in 1..=2 {
        hub.crash();
        assert_eq!(redelivered(&client).await, json!([true]), "kill {kill}");
    }
    // Notifications published after the start were not handed out before.
    client.say("new").await;
    assert_eq!(redelivered(&client).await, json!([null]));
}

#[tokio::test]
async fn after_a_clean_stop_only_handed_out_notifications_are_redelivered() {
    let (mut hub, client) = disk_hub();
    client.say("first").await;
    hub.restart();
    assert_eq!(redelivered(&client).await, json!([null]));
    client.say("second").await;
    // Two restarts, without a delivery between them.
    hub.restart();
    hub.restart();
    assert_eq!(redelivered(&client).await, json!([true, null]));
}

#[tokio::test]
async fn a_run_in_memory_does_not_hide_an_earlier_kill_9() {
    let (mut hub, client) = disk_hub();
    client.say("handed out").await;
    redelivered(&client).await;
    hub.kill_9();
    let mut other = Hub::builder().memory().state_dir(hub.state_dir()).start();
    assert!(other.stop().success());
    hub.start_again();
    assert_eq!(redelivered(&client).await, json!([true]));
}
