//! A primary that listens for another session's next stop.

use hub_harness::Model;
use hub_harness::model::{Reply, rules, turns};
use serde_json::json;

use crate::support::{Central, Claude, Desk};

const LISTEN: &str = "hubctl listen builder";
const EXPECT: &str = "hubctl expect builder --within 8s";

/// Starts the primary in a terminal, idle, with a model that may listen to `builder`.
fn primary(desk: &Desk, central: &Central<'_>) -> Claude {
    let mut settings = desk.hooks(&[]).settings();
    settings["permissions"]["allow"] = json!(["Bash(hubctl:*)"]);
    desk.settings(&settings);
    central.install(&[]);
    let script = [
        ("Listen to it", Reply::bash(LISTEN)),
        ("Expect it", Reply::bash(EXPECT)),
    ];
    let primary = desk.claude(Model::start(rules(script))).named("primary");
    primary.start()
}

/// Types a prompt, and waits until the primary has done it and is idle again.
fn does(central: &Central<'_>, primary: &Claude, prompt: &str) {
    central.waiter("primary", "rewake");
    primary.say(prompt);
    primary.model.until_told("is told when builder");
    central.all_said("Agent main completed", 1);
    central.waiter("primary", "rewake");
}

#[test]
fn a_stop_with_a_listener_wakes_the_primary_once() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    let [dir] = central.worktrees(["builder"]);
    let primary = primary(&desk, &central);
    let worker = desk.claude(Model::start(turns([]))).named("builder");
    let worker = worker.within(dir).start();
    central.session("builder");
    does(&central, &primary, "Listen to it");

    // The person has the worker in view, so its stops wake only listeners.
    let terminal = worker.pane.attach(&desk.path("terminal"));
    let build = |count| {
        terminal.type_in(&format!("Build part {count}"));
        terminal.press(&["Enter"]);
        central.all_said("Agent builder completed", count)[0]
    };
    let heard = build(1);
    let woken = primary.model.until_told("Agent builder completed");
    assert!(woken.tells("<task-notification>") > 0, "{:?}", woken.news);
    assert_eq!(central.step(heard, "emitted")["way"], "rewake");
    central.all_said("Agent main completed", 2);
    central.waiter("primary", "rewake");

    // The first stop has used the listener up.
    let unheard = build(2);
    assert!(central.trace(heard)[0]["rides_along"].is_null());
    assert!(central.trace(unheard)[0]["rides_along"].is_string());
    central.tell("primary", "tester", "something that wakes");
    let woken = primary.model.until_told("something that wakes");
    let told = |id: u64| primary.model.told(&format!("\"id\":{id},")).len();
    assert_eq!((told(heard), told(unheard)), (1, 1));
    assert_eq!(woken.tells("Agent builder completed"), 1);
}

#[test]
fn an_expected_stop_that_is_late_wakes_the_primary_once() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    let [dir] = central.worktrees(["builder"]);
    let primary = primary(&desk, &central);
    let worker = desk.claude(Model::start(turns([]))).named("builder");
    let _worker = worker.within(dir).start();
    central.session("builder");
    does(&central, &primary, "Expect it");
    let woken = primary
        .model
        .until_told("Expected builder within 8 s, nothing came");
    assert!(woken.tells("<task-notification>") > 0, "{:?}", woken.news);
    let id = central.said("Expected builder");
    assert_eq!(central.step(id, "emitted")["way"], "rewake");
    central.step(id, "acked");
    central.waiter("primary", "rewake");
    assert_eq!(central.all_said("Expected builder", 1), [id]);
    assert_eq!(primary.model.told("nothing came").len(), 1);
}
