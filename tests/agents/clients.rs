//! The agents other than Claude Code, Codex CLI and Gemini CLI: each reports its turns, receives what is pending, and is
//! woken if it can be.

use hub_harness::Hub;
use hub_harness::model::{Reply, rules};
use serde_json::{Value, json};

use crate::support::{
    COPILOT, InstalledHub, KIMI, NO_LIMIT, OPENCODE_1, OPENCODE_2, PI, QWEN, Terminal, Vendor,
    installed,
};

/// Lets the agent answer one prompt while a notification is pending for it.
fn reports_a_turn_and_receives(vendor: &Vendor) {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let model = vendor.install(
        &hub,
        rules([("Which fruit?", Reply::text("A scripted fig."))]),
    );
    let pending = hub.send("primary", "tester", "news for the primary");
    let printed = vendor.ask(&hub, &model, "Which fruit?");
    assert!(printed.contains("A scripted fig."), "{printed}");
    let sessions = hub.hubctl(&["sessions", "--all", "--json"]);
    let agent = format!("\"agent\":\"{}\"", vendor.agent);
    assert_eq!(sessions.matches(&agent).count(), 1, "{sessions}");
    assert_eq!(model.received("\"msg\":\"news for the primary\""), [0]);
    assert_eq!(hub.step(pending, "acked")["by"], "resumed");
    hub.published("Agent main completed");
}

#[test]
fn opencode_1_reports_a_turn_and_receives_what_is_pending() {
    reports_a_turn_and_receives(&OPENCODE_1);
}

#[test]
fn opencode_2_reports_a_turn_and_receives_what_is_pending() {
    reports_a_turn_and_receives(&OPENCODE_2);
}

#[test]
fn pi_reports_a_turn_and_receives_what_is_pending() {
    reports_a_turn_and_receives(&PI);
}

#[test]
fn qwen_code_reports_a_turn_and_receives_what_is_pending() {
    reports_a_turn_and_receives(&QWEN);
}

#[test]
fn copilot_cli_reports_a_turn_and_receives_what_is_pending() {
    reports_a_turn_and_receives(&COPILOT);
}

#[test]
fn kimi_code_reports_a_turn_and_receives_what_is_pending() {
    reports_a_turn_and_receives(&KIMI);
}

/// Starts the agent in a terminal, and waits until its first turn is over and its extension waits.
fn idle(hub: &InstalledHub, vendor: &Vendor, shell: &str) -> Terminal {
    let notify = json!({"command": "hubctl notify 'it was said'", "description": "Say it"});
    let model = vendor.install(hub, rules([("Say it", Reply::tool(shell, notify))]));
    let terminal = vendor.open(hub, model);
    terminal.submit("Say it");
    hub.published("Agent main completed");
    hub.waiter_way("primary", "module");
    terminal
}

/// Wakes the idle session, and checks that its shell acted as the session.
fn is_woken(vendor: &Vendor, shell: &str) {
    let builder = Hub::builder().set(NO_LIMIT).set("wake.per_hour=100000");
    let hub = InstalledHub::without_hooks(builder);
    let terminal = idle(&hub, vendor, shell);
    let said = hub.published("it was said");
    let sender = hub.get(&format!("/notifications/{said}"));
    assert_eq!(sender["from_name"], "main", "{sender}");

    let id = hub.send("primary", "builder", "All 42 tests pass\nsecond line");
    terminal.model.until_received("second line");
    let text = "builder, message: All 42 tests pass";
    terminal
        .pane
        .until("the person sees it", |it| it.contains(text));
    hub.step(id, "acked");
    let states = ["stored", "emitted", "emitted", "acked"];
    let ways = [Value::Null, json!("module"), json!("hook"), Value::Null];
    for (step, (state, way)) in hub.trace(id).iter().zip(states.into_iter().zip(ways)) {
        assert_eq!((&step["state"], &step["way"]), (&json!(state), &way));
    }
    assert_eq!(terminal.model.received("second line").len(), 1);
    hub.published("woken");

    let summary = hub.hubctl(&["wake-test", "primary", "--count", "5", "--way", "module"]);
    eprintln!("{summary}");
    let wanted = "5 wakes: 0 lost, 0 doubled; 5 by module; shown after ";
    assert!(summary.starts_with(wanted), "{summary}");
}

#[test]
fn the_plugin_in_opencode_1_wakes_an_idle_session() {
    is_woken(&OPENCODE_1, "bash");
}

#[test]
fn the_plugin_in_opencode_2_wakes_an_idle_session() {
    is_woken(&OPENCODE_2, "shell");
}

#[test]
fn the_extension_in_pi_wakes_an_idle_session() {
    is_woken(&PI, "bash");
}

#[test]
fn each_agent_is_verified_with_the_version_that_the_tests_run() {
    let version = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(path.join("package.json")).expect("an npm package");
        let package: Value = serde_json::from_str(&text).expect("JSON");
        package["version"].as_str().expect("a version").to_owned()
    };
    for vendor in [OPENCODE_1, OPENCODE_2, PI, QWEN, COPILOT, KIMI] {
        let (found, verified) = (version(vendor.package()), vendor.agent.verified());
        let mut all = verified.expect("a version").split(" and ");
        assert!(all.any(|it| it == found), "{found}: {verified:?}");
    }
    let claude = installed::claude();
    let npm = installed::dir().join("node_modules");
    for (agent, path) in [
        ("claude", claude.parent().expect("a package").to_owned()),
        ("codex", npm.join("@openai/codex")),
        ("gemini", npm.join("@google/gemini-cli")),
    ] {
        let agent: hub_protocol::Agent = agent.parse().expect("an agent");
        assert_eq!(agent.verified(), Some(&*version(path)), "{agent}");
    }
}
