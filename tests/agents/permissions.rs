//! Commands that a model may run without a permission once the hooks are installed.

use hub_harness::model::{Reply, Request, rules};
use hub_harness::{Model, until};
use serde_json::{Map, json};

use crate::support::InstalledHub;

/// A model that runs `hubctl notify` when it is prompted.
fn speaker(tool: &str) -> impl Fn(&Request) -> Reply + use<> {
    let input = json!({"command": "hubctl notify 'it was said'", "description": "Tell the hub"});
    rules([("Say it", Reply::tool(tool, input))])
}

/// Waits for exactly this text, because a permission request would contain the command as well.
fn until_said(hub: &InstalledHub) {
    until("it was said", || {
        let all = hub.get("/notifications");
        let mut all = all["notifications"].as_array()?.iter();
        all.any(|it| it["msg"] == "it was said").then_some(())
    });
}

#[test]
fn claude_code_runs_the_commands_of_the_instructions_without_a_permission() {
    let hub = InstalledHub::new();
    let (output, _) = hub.claude(speaker("Bash")).headless("Say it");
    assert!(output.status.success(), "{output:?}");
    until_said(&hub);
}

#[test]
fn gemini_runs_the_commands_of_the_instructions_without_a_permission() {
    let hub = InstalledHub::new();
    hub.gemini_settings(&Map::new());
    hub.hubctl(&["hooks", "install", "gemini"]);
    let model = Model::start(speaker("run_shell_command"));
    hub.gemini(&model, &[], "Say it");
    until_said(&hub);
}
