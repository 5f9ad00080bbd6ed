//! Hook events of agents.

use hub_harness::Client;
use hub_protocol::Kind::{Approval, Complete, Question, Waiting};
use serde_json::{Value, json};

use super::{drain, hub};

/// Posts an event of a session; returns the hub's reply to the agent.
async fn event(client: &Client, query: &str, session: &str, payload: Value) -> String {
    let mut all = json!({ "transcript_path": "/path/to/transcript.jsonl",
        "cwd": "/path/to/workspace", "permission_mode": "default" });
    let fields = all.as_object_mut().expect("an object");
    fields.extend(payload.as_object().expect("an object").clone());
    let reply = client.hook(query, session, all).await;
    if reply.is_null() {
        String::new()
    } else {
        reply.to_string()
    }
}

async fn notified(client: &Client, kind: &str) {
    let payload = json!({ "hook_event_name": "Notification", "notification_type": kind,
        "message": "Claude Code needs your attention", "title": "Idle" });
    assert_eq!(event(client, "", "abc123", payload).await, "");
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
async fn a_permission_prompt_is_for_the_person() {
    let (_hub, client) = hub();
    notified(&client, "permission_prompt").await;
    assert_eq!(drain(&client, "person").await[0].kind, Approval);
}

#[tokio::test]
async fn other_notices_are_ignored() {
    let (_hub, client) = hub();
    for kind in ["auth_success", "elicitation_complete"] {
        notified(&client, kind).await;
    }
    for inbox in ["primary", "person"] {
        assert!(drain(&client, inbox).await.is_empty(), "{inbox}");
    }
}

#[tokio::test]
async fn idle_then_a_nudge_then_complete() {
    let (_hub, client) = hub();
    notified(&client, "idle_prompt").await;
    let got = drain(&client, "primary").await;
    assert_eq!((got[0].kind, got[0].from.as_str()), (Waiting, "abc123"));
    let nudge = json!({ "msg": "go on", "to": "abc123", "type": "message" });
    client.notify(nudge).await;
    let nudged = event(&client, "", "abc123", prompt("<task-notification>")).await;
    assert!(nudged.contains("go on"), "{nudged}");
    assert_eq!(event(&client, "", "abc123", stop("Done.")).await, "");
    assert_eq!(drain(&client, "primary").await[0].kind, Complete);
}

#[tokio::test]
async fn a_dialog_before_it_is_shown_is_a_question() {
    let asks =
        json!({ "questions": [{ "question": "Which db?", "options": [{ "label": "sqlite" }] }] });
    for (tool, input, text) in [
        ("AskUserQuestion", asks, "Agent abc123 asks: Which db?"),
        (
            "EnterPlanMode",
            json!({}),
            "Agent abc123 asks: May I plan this first?",
        ),
    ] {
        let (_hub, client) = hub();
        let payload =
            json!({ "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input });
        event(&client, "", "abc123", payload).await;
        let got = drain(&client, "primary").await;
        assert_eq!(got[0].kind, Question);
        assert!(got[0].msg.starts_with(text), "{}", got[0].msg);
    }
}

#[tokio::test]
async fn a_stops_text_depends_on_the_agents_relation_to_others() {
    let (_hub, client) = hub();
    for (query, id) in [
        ("name=worker&parent=manager", "worker"),
        ("name=manager", "manager"),
        ("name=asks&parent=manager", "asks"),
    ] {
        event(&client, query, id, named("SessionStart")).await;
        event(&client, query, id, prompt("build the feature")).await;
    }
    event(&client, "", "worker", stop("")).await;
    event(&client, "", "asks", stop("Which port?")).await;
    let told = event(&client, "", "manager", stop("")).await;
    assert!(
        told.contains("Agent worker completed"),
        "it goes on: {told}"
    );
    event(&client, "", "manager", stop("")).await;
    let got = drain(&client, "primary").await;
    let got: Vec<_> = got.iter().map(|it| (it.kind, it.msg.as_str())).collect();
    let expected = [
        (Complete, "Agent worker completed (worker of manager)"),
        (Waiting, "Agent asks is waiting for input: Which port?"),
        (Complete, "Manager manager completed its goal"),
    ];
    assert_eq!(got, expected);
}

#[tokio::test]
async fn transient_events_publish_nothing() {
    let (_hub, client) = hub();
    event(&client, "", "abc123", prompt("build the feature")).await;
    let limited = json!({ "hook_event_name": "StopFailure", "error": "rate_limit" });
    for payload in [named("PreCompact"), named("PostToolUse"), limited] {
        event(&client, "", "abc123", payload).await;
    }
    assert!(drain(&client, "primary").await.is_empty());
}

#[tokio::test]
async fn the_primary_is_asked_to_wait_at_its_start_and_reminded_without_a_waiter() {
    let (_hub, client) = hub();
    let main = async |payload| event(&client, "main=true", "primary-1", payload).await;
    let told = main(named("SessionStart")).await;
    assert!(told.contains("hubctl wait"), "{told}");
    event(
        &client,
        "parent=primary-1",
        "worker-1",
        prompt("build the feature"),
    )
    .await;
    main(prompt("build the feature")).await;
    let reminded = main(prompt("and now?")).await;
    assert!(reminded.contains("hubctl wait"), "{reminded}");
    assert!(reminded.contains("run_in_background: true"), "{reminded}");
}
