//! Mechanisms that wake an idle session.

use hub_harness::model::{Reply, rules, turns};
use serde_json::json;

use crate::support::{Hooks, Sandbox};

/// Asserts that the session's second prompt is a wake.
fn assert_was_woken(hooks: &Hooks) {
    let prompt = hooks.nth("UserPromptSubmit", 2)["prompt"].to_string();
    assert!(prompt.starts_with("\"<task-notification>"), "{prompt}");
}

#[test]
fn a_rewake_hook_that_exits_2_wakes_an_idle_session_with_its_text() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.hooks(&["Stop", "UserPromptSubmit"]);
    let news = sandbox.path("news");
    let file = news.display();
    let script =
        format!("until [ -e {file} ]; do sleep 0.05; done; cat {file} >&2; rm {file}; exit 2");
    let waiter = json!({
        "type": "command", "command": script, "asyncRewake": true, "timeout": 86_400,
        "rewakeSummary": "The hub has news", "rewakeMessage": "From the hub:",
    });
    sandbox.settings(&hooks.settings_with("Stop", &waiter));
    let claude = sandbox.claude(turns([])).start();
    claude.submit("Hello");
    hooks.first("Stop");
    std::fs::write(&news, "worker 7 is done").expect("news");

    let woken = claude.model.until_received("worker 7 is done");
    assert_eq!(woken.count_new("The hub has news"), 1);
    assert_eq!(woken.count_new("From the hub:"), 1);
    assert_was_woken(&hooks);
    hooks.nth("Stop", 2);
    assert_eq!(claude.model.received("worker 7 is done"), [1]);
}

#[test]
fn a_background_command_that_ends_wakes_an_idle_session() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.hooks_allowing(&["Stop", "UserPromptSubmit"], "Bash");
    let news = sandbox.path("news");
    let wait = format!("until [ -e {} ]; do sleep 0.05; done", news.display());
    let script = [("Wait for it", Reply::bash_in_background(&wait))];
    let claude = sandbox.claude(rules(script)).start();
    claude.submit("Wait for it");
    let stop = hooks.first("Stop");
    assert_eq!(stop["background_tasks"][0]["status"], "running");
    std::fs::write(&news, "").expect("news");

    let woken = claude.model.until_received("<task-notification>");
    assert_eq!(woken.count_new("completed (exit code 0)"), 1);
    assert_was_woken(&hooks);
    let stop = hooks.nth("Stop", 2);
    assert_eq!(stop["background_tasks"], json!([]));
    assert_eq!(claude.model.received("<task-notification>").len(), 1);
}
