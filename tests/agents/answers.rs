//! Claude Code's types allow every answer that the hub gives to its hooks.

use std::path::PathBuf;

use hub_harness::{Client, Hub};
use serde_json::{Value, json};

use crate::support::{assert_valid_replies, assert_valid_reply};

/// Returns every recorded payload of Claude Code with its file's name.
fn recorded() -> Vec<(String, Value)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/hooks/claude");
    let files = std::fs::read_dir(dir).expect("fixtures").flatten();
    let mut all: Vec<_> = files
        .map(|file| {
            let text = std::fs::read_to_string(file.path()).expect("a fixture");
            let name = file.file_name().to_string_lossy().into_owned();
            (name, serde_json::from_str(&text).expect("JSON"))
        })
        .collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

/// Returns the hub's answer to a hook, or `None` if the hub answers without a body.
async fn answer(client: &Client, payload: &Value) -> Option<Value> {
    let answer = client.post("/hooks/claude").json(payload).send().await;
    match answer.status {
        204 => None,
        _ => Some(answer.expect(200).json()),
    }
}

#[tokio::test(flavor = "current_thread")]
async fn answers_to_every_recorded_payload_with_pending_notifications_are_valid() {
    let hub = Hub::start();
    let client = hub.client();
    let (mut replies, mut carrying) = (Vec::new(), Vec::new());
    for (file, payload) in recorded() {
        let event = payload["hook_event_name"].as_str().expect("an event");
        // SessionEnd is one of the payloads, so each payload gets a new SessionStart first.
        let begun = json!({"hook_event_name": "SessionStart", "session_id": payload["session_id"]});
        answer(&client, &begun).await;
        let to = payload["session_id"].as_str().expect("an id");
        let news = json!({"from": "tester", "to": to, "type": "message", "msg": "some news"});
        client.notify(news).await;
        let Some(reply) = answer(&client, &payload).await else {
            continue;
        };
        if reply.to_string().contains("some news") {
            carrying.push(file);
        }
        replies.push((event.to_owned(), reply));
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
    let hub = Hub::builder().set("approvals=true").start();
    let (client, person) = (hub.client(), hub.person().await);
    let all = recorded();
    let (_, payload) = all
        .iter()
        .find(|(file, _)| file == "PermissionRequest.Bash.json")
        .expect("a fixture");
    for (said, behavior) in [("allow", "allow"), ("deny: not here", "deny")] {
        let reply = async { answer(&client, payload).await.expect("a decision") };
        let decide = async {
            let id = open_question(&client).await;
            let path = format!("/questions/{id}/answer");
            let answer = json!({"answer": said});
            person.post(&path).json(&answer).send().await.expect(201);
        };
        let (reply, ()) = tokio::join!(reply, decide);
        assert_valid_reply("PermissionRequest", &reply);
        let decision = &reply["hookSpecificOutput"]["decision"];
        assert_eq!(decision["behavior"], behavior);
    }
}

async fn open_question(client: &Client) -> u64 {
    loop {
        let open = client.get("/questions?state=open").send().await;
        let open = open.expect(200).json();
        if let Some(id) = open["questions"][0]["id"].as_u64() {
            return id;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_stop_starts_no_turn_for_notifications_that_wake_nobody() {
    let hub = Hub::start();
    let client = hub.client();
    let start = json!({"hook_event_name": "SessionStart", "session_id": "s1"});
    let stop = json!({"hook_event_name": "Stop", "session_id": "s1"});
    answer(&client, &start).await;
    let say = |msg: &str, priority: &str| json!({"from": "tester", "to": "s1", "type": "message", "msg": msg, "priority": priority});
    client.notify(say("by the way", "low")).await;
    assert_eq!(answer(&client, &stop).await, None);
    client.notify(say("look at this", "normal")).await;
    let told = answer(&client, &stop).await.expect("a reply").to_string();
    assert!(
        told.contains("by the way") && told.contains("look at this"),
        "{told}"
    );
}
