//! The payloads of the real Claude Code's hooks match the fixtures.

use hub_harness::Model;
use hub_harness::model::{Reply, rules};
use serde_json::{Value, json};

use crate::support::{Sandbox, assert_as_recorded, assert_valid_inputs};

const EVENTS: [&str; 12] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "Notification",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
];

fn as_recorded(sandbox: &Sandbox, name: &str, payload: &Value) {
    assert_as_recorded(sandbox, "claude", name, payload);
}

#[test]
fn payloads_of_a_session_from_start_to_end_match() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.hooks(&EVENTS);
    let script = [("Hello", Reply::bash("echo hi"))];
    let claude = sandbox.claude(Model::start(rules(script))).start();
    claude.submit("Hello");
    let stop = hooks.first("Stop");
    assert_eq!(stop["last_assistant_message"], "ok");
    assert_eq!(hooks.first("UserPromptSubmit")["prompt"], "Hello");
    as_recorded(
        &sandbox,
        "SessionStart.startup",
        &hooks.first("SessionStart"),
    );
    as_recorded(
        &sandbox,
        "UserPromptSubmit",
        &hooks.first("UserPromptSubmit"),
    );
    as_recorded(&sandbox, "PreToolUse.Bash", &hooks.first("PreToolUse"));
    as_recorded(&sandbox, "PostToolUse.Bash", &hooks.first("PostToolUse"));
    as_recorded(&sandbox, "Stop", &stop);
    let idle = hooks.first("Notification");
    as_recorded(&sandbox, "Notification.idle_prompt", &idle);
    claude.submit("/clear");
    as_recorded(
        &sandbox,
        "SessionStart.clear",
        &hooks.nth("SessionStart", 2),
    );
    as_recorded(&sandbox, "SessionEnd.clear", &hooks.first("SessionEnd"));
    claude.exit();
    as_recorded(&sandbox, "SessionEnd.exit", &hooks.nth("SessionEnd", 2));
    assert_valid_inputs(&hooks.all());
}

#[test]
fn payloads_of_a_question_to_the_person_match() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.hooks(&EVENTS);
    let options = json!([
        {"label": "Red", "description": "The red one"},
        {"label": "Blue", "description": "The blue one"},
    ]);
    let question = json!({
        "question": "Which colour?", "header": "Colour", "multiSelect": false, "options": options,
    });
    let ask = Reply::tool("AskUserQuestion", json!({"questions": [question]}));
    let claude = sandbox
        .claude(Model::start(rules([("Hello", ask)])))
        .start();
    claude.submit("Hello");
    as_recorded(
        &sandbox,
        "PreToolUse.AskUserQuestion",
        &hooks.first("PreToolUse"),
    );
    let request = hooks.first("PermissionRequest");
    as_recorded(&sandbox, "PermissionRequest.AskUserQuestion", &request);
    let said = hooks.first("Notification");
    as_recorded(&sandbox, "Notification.permission_prompt", &said);
    claude.confirm("Enter to select");
    let answered = hooks.first("PostToolUse");
    assert_eq!(answered["tool_response"]["answers"]["Which colour?"], "Red");
    as_recorded(&sandbox, "PostToolUse.AskUserQuestion", &answered);
    hooks.first("Stop");
    assert_valid_inputs(&hooks.all());
}

#[test]
fn payloads_of_a_permission_request_and_of_a_failing_tool_match() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.hooks(&EVENTS);
    let script = [("Hello", Reply::bash("touch there; exit 3"))];
    let claude = sandbox.claude(Model::start(rules(script))).start();
    claude.submit("Hello");
    let request = hooks.first("PermissionRequest");
    as_recorded(&sandbox, "PermissionRequest.Bash", &request);
    claude.confirm("Do you want to proceed");
    let failed = hooks.first("PostToolUseFailure");
    as_recorded(&sandbox, "PostToolUseFailure.Bash", &failed);
    hooks.first("Stop");
    assert_valid_inputs(&hooks.all());
}

#[test]
fn payloads_of_a_subagent_match() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.hooks(&EVENTS);
    let look = json!({"description": "Look", "prompt": "Go and look", "subagent_type": "Explore"});
    let script = [("Hello", Reply::tool("Agent", look))];
    let claude = sandbox.claude(Model::start(rules(script))).start();
    claude.submit("Hello");
    as_recorded(&sandbox, "SubagentStart", &hooks.first("SubagentStart"));
    as_recorded(&sandbox, "SubagentStop", &hooks.first("SubagentStop"));
    let asked = claude.model.until_received("Go and look");
    assert!(asked.subagent.is_some());
    let told = claude.model.until_received("<task-notification>");
    assert_eq!(told.subagent, None);
    let stop = hooks.nth("Stop", 2);
    assert_eq!(stop["background_tasks"], json!([]));
    assert_valid_inputs(&hooks.all());
}

#[test]
fn payloads_of_a_background_command_match() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.hooks_allowing(&EVENTS, "Bash");
    let script = [("Hello", Reply::bash_in_background("echo hi; sleep 600"))];
    let claude = sandbox.claude(Model::start(rules(script))).start();
    claude.submit("Hello");
    as_recorded(&sandbox, "Stop.background", &hooks.first("Stop"));
    let begun = hooks.first("PostToolUse");
    as_recorded(&sandbox, "PostToolUse.background", &begun);
    assert_valid_inputs(&hooks.all());
}

#[test]
fn payloads_of_a_failing_model_match() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.hooks(&EVENTS);
    let refuse = |_: &_| Reply::Fails(401, "authentication_error".into());
    let builder = sandbox.claude(Model::start(refuse));
    let claude = builder.env("CLAUDE_CODE_MAX_RETRIES", "0").start();
    claude.submit("Hello");
    as_recorded(&sandbox, "StopFailure", &hooks.first("StopFailure"));
    assert_valid_inputs(&hooks.all());
}

#[test]
fn payloads_of_a_resumed_session_match() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.hooks(&EVENTS);
    let claude = sandbox.claude(Model::start(rules::<&str>([]))).start();
    claude.submit("Hello");
    let before = hooks.first("Stop");
    claude.exit();
    let again = sandbox
        .claude(Model::start(rules::<&str>([])))
        .named("again");
    let claude = again.args(&["--continue"]).start();
    let resumed = hooks.nth("SessionStart", 2);
    as_recorded(&sandbox, "SessionStart.resume", &resumed);
    assert_eq!(resumed["session_id"], before["session_id"]);
    assert_eq!(claude.model.requests().len(), 0);
}
