//! The payloads of Codex CLI's and Gemini CLI's hooks match the fixtures.

use hub_harness::Model;
use hub_harness::model::{Reply, rules};
use serde_json::json;

use crate::support::{Hooks, Sandbox, assert_as_recorded};

fn recording(sandbox: &Sandbox, events: &str, timeout: u32) -> Hooks {
    let events: Vec<&str> = events.split(' ').collect();
    Hooks::new(sandbox, &events, timeout)
}

#[test]
fn the_payloads_of_codex_match_the_fixtures() {
    let events = "SessionStart UserPromptSubmit PreToolUse PostToolUse Stop SessionEnd";
    let sandbox = Sandbox::new();
    let hooks = recording(&sandbox, events, 30);
    let settings = json!({"hooks": hooks.events});
    sandbox.write_home(".codex/hooks.json", &settings.to_string());
    let run = Reply::tool("exec_command", json!({"cmd": "echo hi"}));
    let model = Model::start(rules([("Hello there", run)]));
    let more = ["--skip-git-repo-check", "--sandbox=danger-full-access"];
    let printed = sandbox.codex(&model, &more, "Hello there");
    assert_payloads(&sandbox, "codex", &hooks, &model, &printed);
}

#[test]
fn the_payloads_of_gemini_match_the_fixtures() {
    let events = "SessionStart BeforeAgent PreCompress BeforeTool AfterTool AfterAgent SessionEnd";
    let sandbox = Sandbox::new();
    let hooks = recording(&sandbox, events, 30_000);
    sandbox.gemini_settings(&hooks.events);
    let run = json!({"command": "echo hi", "description": "Say hi"});
    let run = Reply::tool("run_shell_command", run);
    let model = Model::start(rules([("Hello there", run)]));
    let printed = sandbox.gemini(&model, &["--approval-mode=yolo"], "Hello there");
    assert_payloads(&sandbox, "gemini", &hooks, &model, &printed);
}

fn assert_payloads(sandbox: &Sandbox, agent: &str, hooks: &Hooks, model: &Model, printed: &str) {
    assert_eq!(printed.trim(), "ok");
    assert_eq!(model.received("Hello there"), [0]);
    for event in hooks.events.keys() {
        assert_as_recorded(sandbox, agent, event, &hooks.first(event));
    }
}
