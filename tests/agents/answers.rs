//! Claude Code's types allow every answer that the hub gives to its hooks.

use std::path::PathBuf;

use hub_harness::{Client, Hub};
use serde_json::{Value, json};

use crate::support::{assert_valid_replies, assert_valid_reply};

/// Returns every recorded payload of Claude Code with its file's name.
fn recorded() -> Vec<(String, Value)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/hooks/claude");
    let files = std::fs::read_dir(dir).expect("fixtures").flatten();
    let read = |file: std::fs::DirEntry| {
        let text = std::fs::read_to_string(file.path()).expect("a fixture");
        let name = file.file_name().to_string_lossy().into_owned();
        (name, serde_json::from_str(&text).expect("JSON"))
    };
    let mut all: Vec<_> = files.map(read).collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

/// Returns the hub's answer to a hook; `null` if the hub answers without a body.
async fn answer(client: &Client, payload: &Value) -> Value {
    let id = payload["session_id"].as_str().expect("an id");
    client.hook("", id, payload.clone()).await
}

async fn send(client: &Client, to: &Value, msg: &str, priority: &str) {
    let news = json!({"from": "tester", "to": to, "type": "message", "msg": msg,
        "priority": priority});
    client.notify(news).await;
}

#[tokio::test(flavor = "current_thread")]
async fn answers_to_every_recorded_payload_with_pending_notifications_are_valid() {
    let hub = Hub::start();
    let client = hub.client();
    let (mut replies, mut carrying) = (Vec::new(), Vec::new());
    let held = |file: &str| file.starts_with("PermissionRequest");
    for (file, payload) in recorded().into_iter().filter(|(file, _)| !held(file)) {
        let event = payload["hook_event_name"].as_str().expect("an event");
        // SessionEnd is one of the payloads, so each payload gets a new SessionStart first.
        let begun = json!({"hook_event_name": "SessionStart", "session_id": payload["session_id"]});
        answer(&client, &begun).await;
        send(&client, &payload["session_id"], "some news", "normal").await;
        let reply = answer(&client, &payload).await;
        if reply.to_string().contains("some news") {
            carrying.push(file);
        }
        if !reply.is_null() {
            replies.push((event.to_owned(), reply));
        }
    }
    assert_valid_replies(&replies);
    let expected = [
        "PostToolUse.AskUserQuestion.json",
        "PostToolUse.Bash.json",
        "PostToolUse.background.json",
        "PostToolUseFailure.Bash.json",
        "Stop.background.json",
        "Stop.json",
        "UserPromptSubmit.json",
    ];
    assert_eq!(carrying, expected);
}

#[tokio::test(flavor = "current_thread")]
async fn answers_to_an_approved_and_a_denied_permission_are_valid() {
    let hub = Hub::start();
    let (client, person) = (hub.client(), hub.person().await);
    let mut all = recorded().into_iter();
    let payload = all.find(|(file, _)| file == "PermissionRequest.Bash.json");
    let (_, payload) = payload.expect("a fixture");
    for (said, behavior) in [("allow", "allow"), ("deny: not here", "deny")] {
        let decide = async {
            let id = open_question(&client).await;
            person.answer(id, said).await.expect(201);
        };
        let (reply, ()) = tokio::join!(answer(&client, &payload), decide);
        assert_valid_reply("PermissionRequest", &reply);
        let decision = &reply["hookSpecificOutput"]["decision"];
        assert_eq!(decision["behavior"], behavior);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn the_answer_to_a_dialog_is_valid() {
    let hub = Hub::start();
    let (client, person) = (hub.client(), hub.person().await);
    let mut all = recorded().into_iter();
    let payload = all.find(|(file, _)| file == "PermissionRequest.AskUserQuestion.json");
    let (_, payload) = payload.expect("a fixture");
    let decide = async {
        let id = open_question(&client).await;
        person.answer(id, "Red").await.expect(201);
    };
    let (reply, ()) = tokio::join!(answer(&client, &payload), decide);
    assert_valid_reply("PermissionRequest", &reply);
    let decision = &reply["hookSpecificOutput"]["decision"];
    assert_eq!(decision["behavior"], "allow");
    let question = &payload["tool_input"]["questions"][0]["question"];
    let answers = json!({question.as_str().expect("a text"): "Red"});
    assert_eq!(decision["updatedInput"]["answers"], answers);
}

async fn open_question(client: &Client) -> u64 {
    loop {
        // An answered one is listed until its session has the answer.
        let listed = client.read("/questions").await;
        let mut listed = listed["questions"].as_array().expect("questions").iter();
        if let Some(open) = listed.find(|it| it["state"] == "open") {
            return open["id"].as_u64().expect("an id");
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_stop_starts_no_turn_for_notifications_that_wake_nobody() {
    let hub = Hub::start();
    let client = hub.client();
    let hook = async |event: &str| {
        client
            .hook("", "s1", json!({"hook_event_name": event}))
            .await
    };
    hook("SessionStart").await;
    send(&client, &json!("s1"), "by the way", "low").await;
    assert_eq!(hook("Stop").await, Value::Null);
    send(&client, &json!("s1"), "look at this", "normal").await;
    let told = hook("Stop").await.to_string();
    for part in ["by the way", "look at this"] {
        assert!(told.contains(part), "{told}");
    }
}
