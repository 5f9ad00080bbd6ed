//! Notification hooks: idle and permission prompts, and nothing else.

use hub_harness::Hub;
use serde_json::json;

use super::drain;

async fn notified(hub: &Hub, kind: &str) {
    let payload = json!({
        "session_id": "abc123",
        "transcript_path": "/path/to/transcript.jsonl",
        "cwd": "/path/to/workspace",
        "permission_mode": "default",
        "hook_event_name": "Notification",
        "message": "Claude Code needs your attention",
        "title": "Idle",
        "notification_type": kind
    });
    let hook = hub.client().post("/hooks/claude").json(&payload);
    hook.send().await.expect(204);
}

#[tokio::test]
async fn an_idle_prompt_says_that_the_agent_waits() {
    let hub = Hub::builder().memory().start();
    notified(&hub, "idle_prompt").await;
    let got = drain(&hub.client(), "primary").await;
    assert_eq!(
        (&got[0]["type"], &got[0]["from"]),
        (&json!("waiting"), &json!("abc123"))
    );
}

#[tokio::test]
async fn a_permission_prompt_is_for_the_person() {
    let hub = Hub::builder().memory().start();
    notified(&hub, "permission_prompt").await;
    assert_eq!(drain(&hub.client(), "person").await[0]["type"], "approval");
}

#[tokio::test]
async fn other_notices_say_nothing() {
    let hub = Hub::builder().memory().start();
    for kind in ["auth_success", "elicitation_complete"] {
        notified(&hub, kind).await;
    }
    for inbox in ["primary", "person"] {
        assert!(drain(&hub.client(), inbox).await.is_empty(), "{inbox}");
    }
}

#[tokio::test]
async fn idle_then_a_nudge_then_complete() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    notified(&hub, "idle_prompt").await;
    assert_eq!(drain(&client, "primary").await[0]["type"], "waiting");
    client
        .notify(json!({ "msg": "go on", "to": "abc123", "type": "message" }))
        .await;
    let prompt = json!({ "session_id": "abc123", "hook_event_name": "UserPromptSubmit", "prompt": "<task-notification>" });
    let nudged = client
        .post("/hooks/claude")
        .json(&prompt)
        .send()
        .await
        .expect(200);
    assert!(nudged.text().contains("go on"), "{}", nudged.text());
    let stop = json!({ "session_id": "abc123", "hook_event_name": "Stop", "last_assistant_message": "Done.", "stop_hook_active": false });
    client
        .post("/hooks/claude")
        .json(&stop)
        .send()
        .await
        .expect(204);
    assert_eq!(drain(&client, "primary").await[0]["type"], "complete");
}
