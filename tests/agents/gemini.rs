//! Gemini CLI in its headless mode (`gemini -p`).

use hub_harness::Model;
use hub_harness::model::{Reply, rules};
use serde_json::json;

use crate::support::{Desk, Hooks, assert_as_recorded, installed};

const EVENTS: [&str; 7] = [
    "SessionStart",
    "BeforeAgent",
    "PreCompress",
    "BeforeTool",
    "AfterTool",
    "AfterAgent",
    "SessionEnd",
];

#[test]
fn the_payloads_of_its_hooks_match_the_fixtures() {
    let desk = Desk::new();
    let hooks = Hooks::new(&desk, &EVENTS, 30_000);
    let run = json!({"command": "echo hi", "description": "Say hi"});
    let run = Reply::tool("run_shell_command", run);
    let model = Model::start(rules([("Hello there", run)]));
    let settings = json!({
        "hooks": hooks.events,
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
        "general": {"enableAutoUpdate": false},
        "privacy": {"usageStatisticsEnabled": false},
    });
    desk.write_home(".gemini/settings.json", &settings.to_string());
    let url = model.url();
    let env = [
        ("GEMINI_API_KEY", "x"),
        ("GOOGLE_GEMINI_BASE_URL", url.as_str()),
    ];
    // With an explicit model, Gemini CLI does not ask another model to choose one.
    let args = [
        "--model=gemini-2.5-pro",
        "--approval-mode=yolo",
        "--skip-trust",
        "-p",
        "Hello there",
    ];
    let printed = desk.run(&installed::linked("gemini"), &args, &env);
    assert_eq!(printed.trim(), "ok");
    assert_eq!(model.told("Hello there"), [0]);
    for event in EVENTS {
        assert_as_recorded(&desk, "gemini", event, &hooks.first(event));
    }
}
