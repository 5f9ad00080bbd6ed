//! A dialog is answered from the hub and in the agent's own terminal at the same time: the agent's events decide which answer
//! counted.

use hub_harness::{Client, Hub};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::memory_hub;

/// A dialog that a hook of an agent holds for the answer of the hub.
struct Dialog {
    agent: &'static str,
    asked: Value,
}

impl Dialog {
    fn of_claude(tool: &str, input: Value) -> Self {
        Self {
            agent: "claude",
            asked: claude("PermissionRequest", tool, input),
        }
    }

    fn of_opencode(event: &str, properties: Value) -> Self {
        let mut asked = opencode(event, properties);
        asked["answerable"] = true.into();
        Self {
            agent: "opencode",
            asked,
        }
    }
}

#[allow(clippy::needless_pass_by_value)] // shorter calls
fn claude(event: &str, tool: &str, input: Value) -> Value {
    json!({ "hook_event_name": event, "tool_name": tool, "tool_input": input })
}

#[allow(clippy::needless_pass_by_value)] // shorter calls
fn opencode(event: &str, properties: Value) -> Value {
    json!({ "hook_event_name": event, "properties": properties })
}

fn bash(event: &str, command: &str) -> Value {
    claude(event, "Bash", json!({ "command": command }))
}

fn stop() -> Value {
    json!({ "hook_event_name": "Stop", "last_assistant_message": "Done." })
}

fn plan(event: &str, text: &str) -> Value {
    claude(event, "ExitPlanMode", json!({ "plan": text }))
}

fn questions() -> Value {
    let options = json!([{ "label": "Red" }, { "label": "Blue" }]);
    json!([{ "question": "Which?", "options": options }])
}

fn answered(answers: Value) -> Value {
    let mut input = json!({ "questions": questions() });
    input["answers"] = answers;
    claude("PostToolUse", "AskUserQuestion", input)
}

/// Posts a hook event of the session in the background, because the hub may hold it.
fn post(client: &Client, agent: &str, session: &str, event: &Value) -> JoinHandle<()> {
    let (client, path) = (client.clone(), format!("/hooks/{agent}"));
    let mut payload = event.clone();
    (payload["session_id"], payload["cwd"]) = (session.into(), "/r".into());
    tokio::spawn(async move {
        let answer = client.post_json(&path, &payload).await;
        assert!(matches!(answer.status, 200 | 204), "{answer:?}");
    })
}

/// Answers the dialog from the hub; returns its question once the agent was given the answer.
async fn answered_dialog(
    (hub, client): (&Hub, &Client),
    session: &str,
    dialog: &Dialog,
    answer: Value,
) -> u64 {
    let mut events = client.events("?types=question,approval").await;
    let held = post(client, dialog.agent, session, &dialog.asked);
    let id = events.next_of("notification").await.data["id"].clone();
    let id = id.as_u64().expect("an id");
    while client.question(id).await["held_until"].is_null() {}
    let person = hub.person().await;
    let path = format!("/needs/{id}/answer");
    person.post_json(&path, answer).await.expect(201);
    held.await.expect("a reply");
    while client.question(id).await["delivery"] != "delivered" {}
    id
}

/// Reports an event after the answer. The next dialog is held as well, so it counts once it is stored.
async fn report(client: &Client, agent: &str, session: &str, event: &Value) {
    let mut asked = client.events("?types=approval").await;
    let reported = post(client, agent, session, event);
    if event["hook_event_name"] == "PermissionRequest" {
        asked.next_of("notification").await;
        return reported.abort();
    }
    reported.await.expect("a reply");
}

/// The hub's word on the answer: how far it came, or that the question was settled elsewhere.
async fn said(client: &Client, id: u64) -> String {
    let question = client.question(id).await;
    let what = match question["state"].as_str() {
        Some("answered") => &question["delivery"],
        _ => &question["state"],
    };
    what.as_str().expect("a word").to_owned()
}

/// Checks for each row that the event after this answer tells this of it.
async fn check(dialog: &Dialog, rows: &[(Value, Value, &str)]) {
    let (hub, client) = memory_hub();
    for (number, (answer, event, expected)) in rows.iter().enumerate() {
        let session = format!("s{number}");
        let id = answered_dialog((&hub, &client), &session, dialog, answer.clone()).await;
        report(&client, dialog.agent, &session, event).await;
        assert_eq!(said(&client, id).await, *expected, "{answer}: {event}");
    }
}

#[tokio::test]
async fn the_end_of_the_call_tells_whether_a_permission_or_its_denial_counted() {
    let (allow, deny) = (json!({ "verdict": "allow" }), json!({ "verdict": "deny" }));
    let always = json!({ "verdict": "allow_always" });
    let mut dialog = Dialog::of_claude("Bash", json!({ "command": "make" }));
    let rules = json!([{ "toolName": "Bash", "ruleContent": "make" }]);
    dialog.asked["permission_suggestions"] = json!([{ "type": "addRules", "rules": rules }]);
    let ran = || bash("PostToolUse", "make");
    let failed = || bash("PostToolUseFailure", "make");
    let another_ran = || bash("PostToolUse", "ls");
    let rows = [
        (allow.clone(), ran(), "taken"),
        (allow.clone(), failed(), "taken"),
        (always, ran(), "taken"),
        (allow.clone(), another_ran(), "delivered"),
        (allow.clone(), bash("PreToolUse", "ls"), "delivered"),
        (allow.clone(), bash("PermissionRequest", "ls"), "delivered"),
        (allow, stop(), "delivered"),
        (deny.clone(), ran(), "withdrawn"),
        (deny.clone(), failed(), "withdrawn"),
        // It ran beside the dialog.
        (deny.clone(), another_ran(), "delivered"),
        // Its hook runs in the background, and may be late.
        (deny.clone(), bash("PreToolUse", "make"), "delivered"),
        (deny.clone(), bash("PreToolUse", "ls"), "taken"),
        (deny.clone(), bash("PermissionRequest", "make"), "taken"),
        (deny, stop(), "taken"),
    ];
    check(&dialog, &rows).await;
}

#[tokio::test]
async fn the_end_of_the_call_tells_whether_the_answer_to_a_plan_counted() {
    let dialog = Dialog::of_claude("ExitPlanMode", json!({ "plan": "1. do" }));
    let (allow, deny) = (json!({ "verdict": "allow" }), json!({ "verdict": "deny" }));
    let rows = [
        (allow, plan("PostToolUse", "1. do it"), "taken"),
        (deny.clone(), plan("PostToolUse", "1. do"), "withdrawn"),
        (deny, stop(), "taken"),
    ];
    check(&dialog, &rows).await;
}

#[tokio::test]
async fn the_answers_in_the_call_tell_which_ones_counted() {
    let dialog = Dialog::of_claude("AskUserQuestion", json!({ "questions": questions() }));
    let blue = || json!({ "choices": [{ "labels": ["Blue"] }] });
    let no = || json!({ "choices": [{ "text": "no" }] });
    let rows = [
        (blue(), answered(json!({ "Which?": "Blue" })), "taken"),
        (blue(), answered(json!({ "Which?": "Red" })), "withdrawn"),
        (blue(), answered(Value::Null), "delivered"),
        (no(), answered(json!({ "Which?": "no" })), "taken"),
        (no(), stop(), "delivered"),
    ];
    check(&dialog, &rows).await;
}

#[tokio::test]
async fn opencode_tells_which_answer_closed_its_dialog() {
    let (allow, deny) = (json!({ "verdict": "allow" }), json!({ "verdict": "deny" }));
    let replied = |reply: &str| opencode("permission.replied", json!({ "reply": reply }));
    let rows = [
        (allow.clone(), replied("once"), "taken"),
        (allow.clone(), replied("reject"), "withdrawn"),
        (
            allow,
            opencode("tool.execute.after", json!({})),
            "delivered",
        ),
        (deny.clone(), replied("reject"), "taken"),
        (deny, replied("always"), "withdrawn"),
    ];
    let asked = json!({ "permission": "bash", "metadata": { "command": "make" } });
    check(&Dialog::of_opencode("permission.asked", asked), &rows).await;

    let blue = || json!({ "choices": [{ "labels": ["Blue"] }] });
    let replied = |label: &str| opencode("question.replied", json!({ "answers": [[label]] }));
    let rows = [
        (blue(), replied("Blue"), "taken"),
        (blue(), replied("Red"), "withdrawn"),
        (
            blue(),
            opencode("question.rejected", json!({})),
            "withdrawn",
        ),
    ];
    let asked = json!({ "questions": questions() });
    check(&Dialog::of_opencode("question.asked", asked), &rows).await;
}

#[tokio::test]
async fn the_steps_of_a_question_say_that_its_terminal_settled_it() {
    let (hub, client) = memory_hub();
    let dialog = Dialog::of_claude("Bash", json!({ "command": "make" }));
    let deny = json!({ "verdict": "deny" });
    let id = answered_dialog((&hub, &client), "s1", &dialog, deny).await;
    report(&client, "claude", "s1", &bash("PostToolUse", "make")).await;
    let steps = client.read(&format!("/notifications/{id}/trace")).await;
    let last = steps["steps"].as_array().and_then(|it| it.last());
    let last = last.expect("a step");
    assert_eq!(
        (&last["state"], &last["by"]),
        (&json!("settled"), &json!("resumed"))
    );
}

#[tokio::test]
async fn every_view_says_that_the_terminal_settled_a_question_and_not_the_answer_that_lost() {
    let (hub, client) = memory_hub();
    let dialog = Dialog::of_claude("Bash", json!({ "command": "make" }));
    let deny = || json!({ "verdict": "deny", "reason": "too late" });
    let id = answered_dialog((&hub, &client), "s1", &dialog, deny()).await;
    let shown = async || client.read(&format!("/notifications/{id}")).await;
    let counts = shown().await;
    assert!(counts["answer"].as_u64() > Some(id), "{counts}");
    assert_eq!(counts["ended"], Value::Null);
    let mut news = client.events("?kinds=question").await;
    report(&client, "claude", "s1", &bash("PostToolUse", "make")).await;
    let ended = json!("settled in its terminal");
    let lost = shown().await;
    assert_eq!(
        [&lost["status"], &lost["answer"], &lost["ended"]],
        [&json!("withdrawn"), &Value::Null, &ended]
    );
    let event = news.next_of("question").await.data;
    assert_eq!([&event["id"], &event["ended"]], [&json!(id), &ended]);
    let why = client.read(&format!("/why/{id}")).await;
    let summary = why["summary"].as_str().expect("a text");
    assert!(summary.contains(": settled in its terminal at "), "{why}");
}
