//! Sessions that the hub wakes by their rewake hooks, as `hubctl hooks install claude` installs them.

use std::time::Instant;

use hub_harness::model::{Reply, rules, turns};
use hub_harness::{Hub, pause, until};
use serde_json::json;

use crate::support::{InstalledHub, NO_LIMIT, Sandbox, Series, median, no_limits};

#[test]
fn the_stop_of_a_worker_wakes_the_idle_primary_with_its_text() {
    let hub = InstalledHub::new();
    let [dir] = hub.worktrees(["builder"]);
    let primary = hub.claude(turns([])).start();
    let waiter = hub.waiter("primary", "rewake");
    let worker = hub.claude(turns([])).named("builder").within(dir);
    let worker = worker.env("HUB_PARENT", "main").start();
    hub.session("builder");

    // While the waiter is stopped (SIGSTOP), its batch stays leased.
    pause(waiter.cast_unsigned(), true);
    worker.submit("Build it");
    let id = hub.published("Agent builder completed (worker of main)");
    hub.step(id, "leased");
    pause(waiter.cast_unsigned(), false);

    let text = "Agent builder completed (worker of main)";
    let woken = primary.model.until_received(text);
    assert_eq!(woken.number, 0, "{:?}", woken.new_texts);
    let acked = hub.step(id, "acked");
    assert_eq!(acked["by"], "resumed");
    let steps = hub.trace(id);
    let states: Vec<_> = steps.iter().map(|it| it["state"].as_str()).collect();
    assert_eq!(states, [Some("stored"), Some("emitted"), Some("acked")]);
    assert_eq!(steps[1]["way"], "rewake");
    hub.waiter("primary", "rewake");
    assert_eq!(primary.model.received("Agent builder completed"), [0]);
}

#[test]
fn a_series_of_wakes_by_the_rewake_hook_loses_and_doubles_none() {
    let Some(series) = Series::of_claude("rewake") else {
        return;
    };
    let hub = InstalledHub::with(no_limits());
    let claude = hub.claude(turns([])).start();
    series.run(&hub, &claude.model, ("primary", "1s"));
}

#[test]
fn twenty_wakes_in_a_row_deliver_each_notification_in_one_request() {
    let hub = InstalledHub::with(Hub::builder().set(NO_LIMIT));
    let claude = hub.claude(turns([])).start();
    let mut took = Vec::new();
    let texts: Vec<String> = (1..=20).map(|n| format!("news number {n}.")).collect();
    for (n, text) in texts.iter().enumerate() {
        hub.waiter("primary", "rewake");
        let posted = Instant::now();
        hub.send("primary", &format!("sender-{n}"), text);
        let asked = claude.model.until_received(text);
        took.push(asked.at.duration_since(posted));
    }
    hub.waiter("primary", "rewake");
    for (n, text) in texts.iter().enumerate() {
        assert_eq!(claude.model.received(text), [n]);
    }
    println!("POST to the next request, rewake: {:?}", median(took));
}

#[test]
fn exit_leaves_no_waiter_behind() {
    let hub = InstalledHub::new();
    let claude = hub.claude(turns([])).start();
    claude.submit("Hello");
    hub.published("Agent main completed");
    hub.waiter("primary", "rewake");
    claude.exit();
    hub.until_only_tmux();
    hub.published("Agent main ended");
}

#[test]
fn a_notification_during_a_turn_is_delivered_once() {
    let hub = InstalledHub::new();
    let hooks = hub.hooks_allowing(&["UserPromptSubmit", "PostToolUse", "Stop"], "Bash");
    let go_on = hub.path("go-on");
    let works = format!("until [ -e {} ]; do sleep 0.05; done", go_on.display());
    let script = [("Work", Reply::bash(&works))];
    let claude = hub.claude(rules(script)).start();
    hub.waiter("primary", "rewake");
    claude.submit("Work");
    claude.model.until_received("Work");
    let id = hub.send("primary", "tester", "news in between");
    hub.step(id, "emitted");
    std::fs::write(&go_on, "").expect("a file");
    claude.model.until_received("news in between");
    hub.step(id, "acked");
    hooks.first("Stop");
    hub.waiter("primary", "rewake");
    claude.model.received_once("news in between");
}

#[test]
fn exit_leaves_no_process_in_the_background_behind() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.hooks(&["Stop"]);
    let waiter = json!({
        "type": "command", "command": "sleep 600", "asyncRewake": true, "timeout": 86_400,
    });
    sandbox.settings(&hooks.settings_with("Stop", &waiter));
    let script = [("Go", Reply::bash_in_background("echo started; sleep 601"))];
    let claude = sandbox.claude(rules(script)).start();
    claude.submit("Go");
    hooks.first("Stop");
    let runs = |what: &str| {
        let all = sandbox.marker().processes();
        all.iter().any(|it| it.command.trim() == what).then_some(())
    };
    until("both wait", || runs("sleep 600").and(runs("sleep 601")));
    claude.exit();
    sandbox.until_only_tmux();
}
