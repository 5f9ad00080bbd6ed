//! Redelivery of notifications that were handed out before the hub ended.

use std::path::{Path, PathBuf};

use hub_harness::{Client, Hub, each, until};
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

/// Starts a session of Claude Code; returns the file that it watches.
async fn watched_file(client: &Client, session: &str) -> PathBuf {
    let start = json!({ "hook_event_name": "SessionStart" });
    let started = client.hook("watches=true", session, start).await;
    let paths = &started["hookSpecificOutput"]["watchPaths"];
    paths[0].as_str().expect("a path").into()
}

/// Waits until the content of a file is neither empty nor `before`; returns it.
fn until_changed(file: &Path, before: &str) -> String {
    until("the watched file has changed", || {
        let content = std::fs::read_to_string(file).expect("the watched file");
        (!content.is_empty() && content != before).then_some(content)
    })
}

fn until_removed(file: &Path) {
    until("the watched file is removed", || {
        (!file.exists()).then_some(())
    });
}

/// Lets an idle session be woken by its file; returns the content.
async fn wake(client: &Client, session: &str, file: &Path) -> String {
    let stop = json!({ "hook_event_name": "Stop" });
    client.hook("", session, stop).await;
    client.notify(json!({ "to": session, "msg": "look" })).await;
    until_changed(file, "")
}

#[tokio::test]
async fn a_watched_file_changes_again_if_the_agent_did_not_see_the_first_change() {
    let (_hub, client) = disk_hub();
    let file = watched_file(&client, "w1").await;
    let first = wake(&client, "w1", &file).await;
    until_changed(&file, &first);
}

#[tokio::test]
async fn the_watched_file_of_a_session_with_a_client_stays_until_the_session_ends() {
    let (_hub, client) = disk_hub();
    let by_client = async |event: Value| {
        let mut payload = json!({ "session_id": "w1", "cwd": "/r/w1" });
        payload
            .as_object_mut()
            .unwrap()
            .extend(event.as_object().unwrap().clone());
        let taken = client.post_json("/hooks/acp?agent=claude", &payload).await;
        assert!(taken.status < 300, "{}", taken.text());
    };
    let file = watched_file(&client, "w1").await;
    by_client(json!({ "hook_event_name": "acp.prompt", "prompt": "go" })).await;
    let other = watched_file(&client, "w2").await;
    wake(&client, "w2", &other).await;
    let end = json!({ "hook_event_name": "SessionEnd", "reason": "other" });
    client.hook("", "w2", end).await;
    until_removed(&other);
    assert!(file.exists());
    by_client(json!({ "hook_event_name": "acp.ended" })).await;
    until_removed(&file);
}
