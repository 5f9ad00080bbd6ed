//! Notification hooks: only idle and permission prompts count.

use hub_harness::Hub;
use hub_protocol::Kind;
use serde_json::{Value, json};

use super::drain;

async fn notified(hub: &Hub, kind: &str) {
    let payload = json!({
        "hook_event_name": "Notification",
        "message": "Claude Code needs your attention",
        "title": "Idle",
        "notification_type": kind
    });
    assert_eq!(event(hub, "", "abc123", payload).await, "");
}

#[tokio::test]
async fn an_idle_prompt_is_a_waiting_notification() {
    let hub = Hub::builder().memory().start();
    notified(&hub, "idle_prompt").await;
    let got = drain(&hub.client(), "primary").await;
    let expected = (Kind::Waiting, "abc123");
    assert_eq!((got[0].kind, got[0].from.as_str()), expected);
}

#[tokio::test]
async fn a_permission_prompt_is_for_the_person() {
    let hub = Hub::builder().memory().start();
    notified(&hub, "permission_prompt").await;
    let got = drain(&hub.client(), "person").await;
    assert_eq!(got[0].kind, Kind::Approval);
}

#[tokio::test]
async fn other_notices_are_ignored() {
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
    assert_eq!(drain(&client, "primary").await[0].kind, Kind::Waiting);
    client
        .notify(json!({ "msg": "go on", "to": "abc123", "type": "message" }))
        .await;
    let nudged = event(&hub, "", "abc123", prompt("<task-notification>")).await;
    assert!(nudged.contains("go on"), "{nudged}");
    assert_eq!(event(&hub, "", "abc123", stop("Done.")).await, "");
    assert_eq!(drain(&client, "primary").await[0].kind, Kind::Complete);
}

/// Posts an event of a session; returns the hub's reply to the agent.
async fn event(hub: &Hub, query: &str, session: &str, payload: Value) -> String {
    let mut all = json!({ "session_id": session, "transcript_path": "/path/to/transcript.jsonl",
        "cwd": "/path/to/workspace", "permission_mode": "default" });
    let fields = all.as_object_mut().expect("an object");
    fields.extend(payload.as_object().expect("an object").clone());
    let hook = hub.client().post(&format!("/hooks/claude?{query}"));
    let answer = hook.json(&all).send().await;
    assert!(answer.status < 300, "{}", answer.text());
    answer.text()
}

fn named(event: &str) -> Value {
    json!({ "hook_event_name": event })
}

fn prompt(text: &str) -> Value {
    json!({ "hook_event_name": "UserPromptSubmit", "prompt": text })
}

fn stop(text: &str) -> Value {
    json!({ "hook_event_name": "Stop", "last_assistant_message": text, "stop_hook_active": false })
}

#[tokio::test]
async fn a_dialog_before_it_is_shown_is_a_question() {
    for (tool, input, text) in [
        (
            "AskUserQuestion",
            json!({ "questions": [{ "question": "Which db?", "options": [{ "label": "sqlite" }] }] }),
            "Agent abc123 asks: Which db?",
        ),
        (
            "EnterPlanMode",
            json!({}),
            "Agent abc123 asks: May I plan this first?",
        ),
    ] {
        let hub = Hub::builder().memory().start();
        let payload =
            json!({ "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input });
        event(&hub, "", "abc123", payload).await;
        let got = drain(&hub.client(), "primary").await;
        assert_eq!(got[0].kind, Kind::Question);
        assert!(got[0].msg.starts_with(text), "{}", got[0].msg);
    }
}

#[tokio::test]
async fn a_stops_text_depends_on_the_agents_relation_to_others() {
    let hub = Hub::builder().memory().start();
    for (query, id) in [
        ("name=worker&parent=manager", "worker"),
        ("name=manager", "manager"),
        ("name=asks&parent=manager", "asks"),
    ] {
        event(&hub, query, id, named("SessionStart")).await;
        event(&hub, query, id, prompt("build the feature")).await;
    }
    event(&hub, "", "worker", stop("")).await;
    event(&hub, "", "asks", stop("Which port?")).await;
    let told = event(&hub, "", "manager", stop("")).await;
    assert!(
        told.contains("Agent worker completed"),
        "it goes on: {told}"
    );
    event(&hub, "", "manager", stop("")).await;
    let got = drain(&hub.client(), "primary").await;
    let got: Vec<_> = got.iter().map(|it| (it.kind, it.msg.as_str())).collect();
    let (complete, waiting) = (Kind::Complete, Kind::Waiting);
    assert_eq!(
        got,
        [
            (complete, "Agent worker completed (worker of manager)"),
            (waiting, "Agent asks is waiting for input: Which port?"),
            (complete, "Manager manager completed its goal"),
        ]
    );
}

#[tokio::test]
async fn transient_events_publish_nothing() {
    let hub = Hub::builder().memory().start();
    event(&hub, "", "abc123", prompt("build the feature")).await;
    let limited = json!({ "hook_event_name": "StopFailure", "error": "rate_limit" });
    for payload in [named("PreCompact"), named("PostToolUse"), limited] {
        event(&hub, "", "abc123", payload).await;
    }
    assert!(drain(&hub.client(), "primary").await.is_empty());
}

#[tokio::test]
async fn the_primary_is_asked_to_wait_at_its_start_and_reminded_without_a_waiter() {
    let hub = Hub::builder().memory().start();
    let told = event(&hub, "main=true", "primary-1", named("SessionStart")).await;
    assert!(told.contains("hubctl wait"), "{told}");
    event(
        &hub,
        "parent=primary-1",
        "worker-1",
        prompt("build the feature"),
    )
    .await;
    event(&hub, "main=true", "primary-1", prompt("build the feature")).await;
    let reminded = event(&hub, "main=true", "primary-1", prompt("and now?")).await;
    assert!(reminded.contains("hubctl wait"), "{reminded}");
    assert!(reminded.contains("run_in_background: true"), "{reminded}");
}
