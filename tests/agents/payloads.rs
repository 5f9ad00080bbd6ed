//! The payloads of the real Claude Code's hooks match the fixtures.

use hub_harness::model::{Reply, Request, rules, turns};
use serde_json::{Value, json};

use crate::support::{Claude, Hooks, Sandbox, assert_as_recorded, assert_valid_inputs, colours};

const EVENTS: &str = "SessionStart SessionEnd UserPromptSubmit PreToolUse PostToolUse \
    PostToolUseFailure PermissionRequest Notification Stop StopFailure SubagentStart SubagentStop";

/// A Claude Code that was told "Hello", with recording hooks.
struct Recorded {
    claude: Claude,
    hooks: Hooks,
    sandbox: Sandbox,
}

impl Recorded {
    fn new(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::allowing("Bash(echo:*)", script)
    }

    fn allowing(
        rule: &'static str,
        script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let sandbox = Sandbox::new();
        let events: Vec<&str> = EVENTS.split_whitespace().collect();
        let hooks = sandbox.hooks_allowing(&events, rule);
        let builder = sandbox.claude(script);
        let claude = builder.env("CLAUDE_CODE_MAX_RETRIES", "0").start();
        claude.submit("Hello");
        Self {
            claude,
            hooks,
            sandbox,
        }
    }

    /// Waits for the first payload of the event with which the fixture's name begins, which must match; returns it.
    fn first(&self, fixture: &str) -> Value {
        self.nth(fixture, 1)
    }

    fn nth(&self, fixture: &str, count: usize) -> Value {
        let event = fixture.split('.').next().unwrap_or(fixture);
        let payload = self.hooks.nth(event, count);
        assert_as_recorded(&self.sandbox, "claude", fixture, &payload);
        payload
    }

    /// Checks all payloads so far against the vendor's types.
    fn assert_valid(&self) {
        assert_valid_inputs(&self.hooks.all());
    }
}

#[test]
fn payloads_of_a_session_from_start_to_end_match() {
    let it = Recorded::new(rules([("Hello", Reply::bash("echo hi"))]));
    assert_eq!(it.first("Stop")["last_assistant_message"], "ok");
    assert_eq!(it.first("UserPromptSubmit")["prompt"], "Hello");
    it.first("SessionStart.startup");
    it.first("PreToolUse.Bash");
    it.first("PostToolUse.Bash");
    it.first("Notification.idle_prompt");
    it.claude.submit("/clear");
    it.nth("SessionStart.clear", 2);
    it.first("SessionEnd.clear");
    it.claude.exit();
    it.nth("SessionEnd.exit", 2);
    it.assert_valid();
}

#[test]
fn payloads_of_a_question_to_the_person_match() {
    let it = Recorded::new(rules([("Hello", colours())]));
    it.first("PreToolUse.AskUserQuestion");
    it.first("PermissionRequest.AskUserQuestion");
    it.first("Notification.permission_prompt");
    it.claude.confirm("Enter to select");
    let answered = it.first("PostToolUse.AskUserQuestion");
    assert_eq!(answered["tool_response"]["answers"]["Which colour?"], "Red");
    it.hooks.first("Stop");
    it.assert_valid();
}

#[test]
fn payloads_of_a_permission_request_and_of_a_failing_tool_match() {
    let it = Recorded::new(rules([("Hello", Reply::bash("touch there; exit 3"))]));
    it.first("PermissionRequest.Bash");
    it.claude.confirm("Do you want to proceed");
    it.first("PostToolUseFailure.Bash");
    it.hooks.first("Stop");
    it.assert_valid();
}

#[test]
fn payloads_of_a_subagent_match() {
    let look = json!({"description": "Look", "prompt": "Go and look", "subagent_type": "Explore"});
    let it = Recorded::new(rules([("Hello", Reply::tool("Agent", look))]));
    it.first("SubagentStart");
    it.first("SubagentStop");
    let asked = it.claude.model.until_received("Go and look");
    assert!(asked.subagent.is_some());
    let told = it.claude.model.until_received("<task-notification>");
    assert_eq!(told.subagent, None);
    let stop = it.hooks.nth("Stop", 2);
    assert_eq!(stop["background_tasks"], json!([]));
    it.assert_valid();
}

#[test]
fn payloads_of_a_background_command_match() {
    let command = Reply::bash_in_background("echo hi; sleep 600");
    let it = Recorded::allowing("Bash", rules([("Hello", command)]));
    it.first("Stop.background");
    it.first("PostToolUse.background");
    it.assert_valid();
}

#[test]
fn payloads_of_a_failing_model_match() {
    let it = Recorded::new(|_| Reply::Fails(401, "authentication_error".into()));
    it.first("StopFailure");
    it.assert_valid();
}

#[test]
fn payloads_of_a_resumed_session_match() {
    let it = Recorded::new(turns([]));
    let before = it.hooks.first("Stop");
    it.claude.exit();
    let again = it.sandbox.claude(turns([])).named("again");
    let claude = again.args(&["--continue"]).start();
    let resumed = it.nth("SessionStart.resume", 2);
    assert_eq!(resumed["session_id"], before["session_id"]);
    assert_eq!(claude.model.requests().len(), 0);
}
