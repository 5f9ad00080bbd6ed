//! Codex CLI in its headless mode (`codex exec`).

use hub_harness::Model;
use hub_harness::model::{Reply, rules};
use serde_json::json;

use crate::support::{Desk, Hooks, assert_as_recorded, installed};

const EVENTS: [&str; 6] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Stop",
    "SessionEnd",
];

#[test]
fn the_payloads_of_its_hooks_match_the_fixtures() {
    let desk = Desk::new();
    let hooks = Hooks::new(&desk, &EVENTS, 30);
    let run = Reply::tool("exec_command", json!({"cmd": "echo hi"}));
    let model = Model::start(rules([("Hello there", run)]));
    let config = format!(
        "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\n\
         base_url = \"{}/v1\"\nwire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n",
        model.url()
    );
    desk.write_home(".codex/config.toml", &config);
    desk.write_home(
        ".codex/hooks.json",
        &json!({"hooks": hooks.events}).to_string(),
    );
    let args = [
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-hook-trust",
        "--sandbox=danger-full-access",
        "Hello there",
    ];
    let printed = desk.run(&installed::linked("codex"), &args, &[("SCRIPTED_KEY", "x")]);
    assert_eq!(printed.trim(), "ok");
    assert_eq!(model.told("Hello there"), [0]);
    for event in EVENTS {
        assert_as_recorded(&desk, "codex", event, &hooks.first(event));
    }
}
