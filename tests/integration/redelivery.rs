//! Redelivery of notifications that were handed out before the hub ended.

use std::time::Duration;

use hub_harness::{Client, Hub, PATIENCE, each};
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

/// Waits until the content of a file is neither empty nor `before`; returns it.
async fn until_changed(path: &str, before: &str) -> String {
    let changed = async {
        loop {
            let content = std::fs::read_to_string(path).expect("the watched file");
            if !content.is_empty() && content != before {
                return content;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, changed).await;
    found.unwrap_or_else(|_| panic!("{path} has not changed"))
}

#[tokio::test]
async fn a_watched_file_changes_again_if_the_agent_did_not_see_the_first_change() {
    let (_hub, client) = disk_hub();
    let event = |name: &str| json!({ "hook_event_name": name });
    let started = client
        .hook("watches=true", "w1", event("SessionStart"))
        .await;
    let paths = &started["hookSpecificOutput"]["watchPaths"];
    let path = paths[0].as_str().expect("a path").to_owned();
    client.hook("", "w1", event("Stop")).await;
    client.notify(json!({ "to": "w1", "msg": "look" })).await;
    let first = until_changed(&path, "").await;
    until_changed(&path, &first).await;
}
