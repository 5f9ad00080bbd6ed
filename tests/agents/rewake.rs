//! Sessions that the hub wakes by their rewake hooks, as `hubctl hooks install claude` installs them.

use std::time::Instant;

use hub_harness::model::{Reply, rules, turns};
use hub_harness::{Hub, Model};
use serde_json::json;

use crate::support::{Central, Desk, NO_LIMIT, median, signal};

fn model() -> Model {
    Model::start(turns([]))
}

#[test]
fn the_stop_of_a_worker_wakes_the_idle_primary_with_its_text() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    central.install(&[]);
    let [dir] = central.worktrees(["builder"]);
    let primary = desk.claude(model()).start();
    let waiter = central.waiter("primary", "rewake");
    let worker = desk.claude(model()).named("builder").within(dir);
    let worker = worker.env("HUB_PARENT", "main").start();
    central.session("builder");

    // While the waiter is stopped (SIGSTOP), its batch stays leased.
    signal(waiter, "STOP");
    worker.say("Build it");
    let id = central.said("Agent builder completed (worker of main)");
    central.step(id, "leased");
    signal(waiter, "CONT");

    let woken = primary
        .model
        .until_told("Agent builder completed (worker of main)");
    assert_eq!(woken.number, 0, "{:?}", woken.news);
    let acked = central.step(id, "acked");
    assert_eq!(acked["by"], "resumed");
    let steps = central.trace(id);
    let states: Vec<_> = steps.iter().map(|it| it["state"].as_str()).collect();
    assert_eq!(states, [Some("stored"), Some("emitted"), Some("acked")]);
    assert_eq!(steps[1]["way"], "rewake");
    central.waiter("primary", "rewake");
    assert_eq!(primary.model.told("Agent builder completed"), [0]);
}

#[test]
fn twenty_wakes_in_a_row_deliver_each_notification_in_one_request() {
    let desk = Desk::new();
    let central = Central::with(&desk, Hub::builder().set(NO_LIMIT));
    central.install(&[]);
    let claude = desk.claude(model()).start();
    let mut took = Vec::new();
    let texts: Vec<String> = (1..=20).map(|n| format!("news number {n}.")).collect();
    for (n, text) in texts.iter().enumerate() {
        central.waiter("primary", "rewake");
        let posted = Instant::now();
        central.tell("primary", &format!("sender-{n}"), text);
        let asked = claude.model.until_told(text);
        took.push(asked.at.duration_since(posted));
    }
    central.waiter("primary", "rewake");
    let told: Vec<_> = texts.iter().map(|text| claude.model.told(text)).collect();
    let once: Vec<_> = (0..20).map(|n| vec![n]).collect();
    assert_eq!(told, once);
    println!("POST to the next request, rewake: {:?}", median(took));
}

#[test]
fn exit_leaves_no_waiter_behind() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    central.install(&[]);
    let claude = desk.claude(model()).start();
    claude.say("Hello");
    central.said("Agent main completed");
    central.waiter("primary", "rewake");
    claude.exit();
    desk.until_only_tmux();
    central.said("Agent main ended");
}

#[test]
fn a_notification_during_a_turn_is_delivered_once() {
    let desk = Desk::new();
    let hooks = desk.hooks(&["UserPromptSubmit", "PostToolUse", "Stop"]);
    let mut settings = hooks.settings();
    settings["permissions"]["allow"] = json!(["Bash"]);
    desk.settings(&settings);
    let central = Central::new(&desk);
    central.install(&[]);
    let go_on = desk.path("go-on");
    let works = format!("until [ -e {} ]; do sleep 0.05; done", go_on.display());
    let script = [("Work", Reply::bash(&works))];
    let claude = desk.claude(Model::start(rules(script))).start();
    central.waiter("primary", "rewake");
    claude.say("Work");
    claude.model.until_told("Work");
    let id = central.tell("primary", "tester", "news in between");
    central.step(id, "emitted");
    std::fs::write(&go_on, "").expect("a file");
    claude.model.until_told("news in between");
    central.step(id, "acked");
    hooks.first("Stop");
    central.waiter("primary", "rewake");
    assert_eq!(claude.model.told("news in between").len(), 1);
}
