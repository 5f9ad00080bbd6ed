//! Listeners for the stop of another session.

use hub_harness::{Client, Hub};
use serde_json::json;

use super::{drain, texts};

const WORKER: &str = "worker-session-123";
const CALLERS: [&str; 2] = ["master-session-456", "master-session-789"];

async fn says(client: &Client, kind: &str, msg: &str) -> u64 {
    let post = json!({ "from": WORKER, "type": kind, "msg": msg });
    client.notify(post).await
}

async fn listen(client: &Client, caller: &str) -> bool {
    let path = format!("/sessions/{WORKER}/listeners/{caller}");
    let put = client.put(&path).await;
    let created = put.status == 201;
    assert_eq!(put.json()["created"], created);
    created
}

/// Starts a hub where the worker is at work.
async fn hub() -> (Hub, Client) {
    let (hub, client) = super::hub();
    says(&client, "progress", "at work").await;
    (hub, client)
}

#[tokio::test]
async fn several_callers_may_listen_once_each_and_a_duplicate_is_ignored() {
    let (_hub, client) = hub().await;
    for caller in CALLERS {
        assert!(listen(&client, caller).await);
        assert!(!listen(&client, caller).await, "a pair has one listener");
    }
    says(&client, "stop", "done").await;
    for caller in CALLERS {
        let text = format!("Session {WORKER} finished its turn. Look: hubctl look {WORKER}");
        assert_eq!(texts(&drain(&client, caller).await), [text.as_str()]);
    }
}

#[tokio::test]
async fn two_stops_at_once_fire_a_listener_once() {
    let (_hub, client) = hub().await;
    listen(&client, CALLERS[0]).await;
    tokio::join!(says(&client, "stop", "one"), says(&client, "stop", "two"));
    assert_eq!(drain(&client, CALLERS[0]).await.len(), 1);
}

#[tokio::test]
async fn a_request_for_input_is_delivered_with_how_to_answer() {
    let (_hub, client) = hub().await;
    listen(&client, CALLERS[0]).await;
    let id = says(&client, "input_request", "Which branch?").await;
    let text =
        format!("Session {WORKER} needs input: Which branch? Answer: hubctl answer {id} \"…\"");
    assert_eq!(texts(&drain(&client, CALLERS[0]).await), [text.as_str()]);
}

#[tokio::test]
async fn a_caller_that_unsubscribes_gets_nothing_and_the_worker_continues() {
    let (_hub, client) = hub().await;
    listen(&client, CALLERS[0]).await;
    let path = format!("/sessions/{WORKER}/listeners/{}", CALLERS[0]);
    for removed in [true, false] {
        let answer = client.delete(&path).await.expect(200).json();
        assert_eq!(answer["removed"], removed);
    }
    says(&client, "stop", "done").await;
    assert!(drain(&client, CALLERS[0]).await.is_empty());
}

#[tokio::test]
async fn a_caller_that_ends_during_a_stop_corrupts_nothing() {
    let (_hub, client) = hub().await;
    listen(&client, CALLERS[0]).await;
    client.register(CALLERS[0], json!({})).await;
    let end = client.end_session(CALLERS[0]);
    tokio::join!(says(&client, "stop", "done"), end);
    let told = drain(&client, CALLERS[0]).await;
    assert!(told.len() <= 1, "{told:?}");
    says(&client, "progress", "again").await;
    says(&client, "stop", "done").await;
    let told = drain(&client, CALLERS[0]).await;
    assert!(told.is_empty(), "it went with its caller");
}

#[tokio::test]
async fn the_text_names_the_computer_and_the_title() {
    let (_hub, client) = super::hub();
    let info = json!({ "host": "local", "title": "build feature" });
    client.register(WORKER, info).await;
    let who = format!("Session {WORKER} on local \"build feature\"");
    let look = format!("finished its turn. Look: hubctl look {WORKER}");
    for (kind, end) in [
        ("stop", &*look),
        ("input_request", "needs input: Which branch?"),
    ] {
        says(&client, "progress", "at work").await;
        listen(&client, CALLERS[0]).await;
        says(&client, kind, "Which branch?").await;
        let told = drain(&client, CALLERS[0]).await;
        let text = texts(&told)[0];
        assert!(text.starts_with(&format!("{who} {end}")), "{text}");
    }
}

#[tokio::test]
async fn the_targets_stop_hook_notifies_four_callers_once() {
    let (_hub, client) = super::hub();
    let hook = async |event: &str| {
        let payload = json!({ "hook_event_name": event, "prompt": "go",
            "last_assistant_message": "Done.", "stop_hook_active": false });
        client.hook("", WORKER, payload).await
    };
    let callers = ["a", "b", "c", "d"];
    hook("UserPromptSubmit").await;
    for caller in callers {
        listen(&client, caller).await;
    }
    for told in [1, 0] {
        hook("Stop").await;
        for caller in callers {
            assert_eq!(drain(&client, caller).await.len(), told, "{caller}");
        }
        hook("UserPromptSubmit").await;
    }
}
