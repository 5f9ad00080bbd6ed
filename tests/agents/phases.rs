//! The phases of a real session, as every view of the hub shows them.

use std::fs;

use hub_harness::model::{Reply, rules};
use hub_harness::until;
use serde_json::Value;

use crate::support::InstalledHub;

#[test]
fn a_session_shows_the_tool_call_that_runs_and_then_its_last_words() {
    let hub = InstalledHub::new();
    let command = "until [ -e go ]; do sleep 0.05; done";
    let script = rules([("Hello", Reply::bash(command))]);
    let claude = hub.claude(script).start();
    hub.waiter("primary", "rewake");
    let phase = |name: &str, holds: &dyn Fn(&Value) -> bool| {
        until(name, || {
            let phase = hub.session("main")["phase"].take();
            (phase["name"] == name && holds(&phase)).then_some(phase)
        })
    };
    phase("done", &|_| true);
    claude.submit("Hello");
    let working = phase("working", &|phase| phase["tool"].is_object());
    assert_eq!(working["tool"]["name"], "Bash");
    assert_eq!(working["tool"]["on"], command);
    let shown = hub.hubctl(&["sessions"]);
    assert!(shown.contains("Bash until [ -e go ]"), "{shown}");
    fs::write(hub.project().join("go"), "").expect("written");
    let turn = phase("your_turn", &|_| true);
    assert!(turn["text"].is_string(), "{turn}");
    assert!(turn["tool"].is_null(), "{turn}");
}
