//! Commands that a model may run without a permission once the hooks are installed.

use hub_harness::model::{Reply, rules};
use hub_harness::{Model, until};
use serde_json::json;

use crate::support::{Central, Desk, installed};

/// A model that runs `hubctl notify` when it is prompted.
fn speaker(tool: &str) -> Model {
    let input = json!({"command": "hubctl notify 'it was said'", "description": "Tell the hub"});
    Model::start(rules([("Say it", Reply::tool(tool, input))]))
}

/// Waits for exactly this text, because a permission request would contain the command as well.
fn until_said(central: &Central<'_>) {
    until("it was said", || {
        let all = central.get("/notifications");
        let mut all = all["notifications"].as_array()?.iter();
        all.any(|it| it["msg"] == "it was said").then_some(())
    });
}

#[test]
fn claude_code_runs_the_commands_of_the_instructions_without_a_permission() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    central.install(&[]);
    let (output, _) = desk.claude(speaker("Bash")).headless("Say it");
    assert!(output.status.success(), "{output:?}");
    until_said(&central);
}

#[test]
fn gemini_runs_the_commands_of_the_instructions_without_a_permission() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
        "general": {"enableAutoUpdate": false},
        "privacy": {"usageStatisticsEnabled": false},
    });
    desk.write_home(".gemini/settings.json", &settings.to_string());
    central.hubctl(&["hooks", "install", "gemini"]);
    let model = speaker("run_shell_command");
    let url = model.url();
    let env = [
        ("GEMINI_API_KEY", "x"),
        ("GOOGLE_GEMINI_BASE_URL", url.as_str()),
    ];
    let args = ["--model=gemini-2.5-pro", "--skip-trust", "-p", "Say it"];
    desk.run(&installed::linked("gemini"), &args, &env);
    until_said(&central);
}
