//! A primary that listens for another session's next stop.

use hub_harness::model::{Reply, rules, turns};

use crate::support::{Claude, InstalledHub};

const LISTEN: &str = "hubctl listen builder";
const EXPECT: &str = "hubctl expect builder --within 8s";

/// Starts the primary in a terminal, idle, with a model that may listen to `builder`.
fn primary(hub: &InstalledHub) -> Claude {
    hub.hooks_allowing(&[], "Bash(hubctl:*)");
    let script = [
        ("Listen to it", Reply::bash(LISTEN)),
        ("Expect it", Reply::bash(EXPECT)),
    ];
    hub.claude(rules(script)).named("primary").start()
}

/// Types a prompt, and waits until the primary has done it and is idle again.
fn does(hub: &InstalledHub, primary: &Claude, prompt: &str) {
    hub.waiter("primary", "rewake");
    primary.submit(prompt);
    let said = "will be notified when builder";
    primary.model.until_received(said);
    hub.all_published("Agent main completed", 1);
    hub.waiter("primary", "rewake");
}

#[test]
fn a_stop_with_a_listener_wakes_the_primary_once() {
    let hub = InstalledHub::new();
    let [dir] = hub.worktrees(["builder"]);
    let primary = primary(&hub);
    let worker = hub.claude(turns([])).named("builder").within(dir).start();
    hub.session("builder");
    does(&hub, &primary, "Listen to it");

    // The person has the worker in view, so its stops wake only listeners.
    let terminal = worker.pane.attach(&hub.path("terminal"));
    let build = |count| {
        terminal.type_in(&format!("Build part {count}"));
        terminal.press(&["Enter"]);
        hub.all_published("Agent builder completed", count)[0]
    };
    let heard = build(1);
    primary.woken_by("Agent builder completed");
    assert_eq!(hub.step(heard, "emitted")["way"], "rewake");
    hub.all_published("Agent main completed", 2);
    hub.waiter("primary", "rewake");

    // The first stop has used the listener up.
    let unheard = build(2);
    assert!(hub.trace(heard)[0]["rides_along"].is_null());
    assert!(hub.trace(unheard)[0]["rides_along"].is_string());
    hub.send("primary", "tester", "something that wakes");
    let woken = primary.model.until_received("something that wakes");
    let told = |id: u64| primary.model.received(&format!("\"id\":{id},")).len();
    assert_eq!((told(heard), told(unheard)), (1, 1));
    assert_eq!(woken.count_new("Agent builder completed"), 1);
}

#[test]
fn an_expected_stop_that_is_late_wakes_the_primary_once() {
    let hub = InstalledHub::new();
    let [dir] = hub.worktrees(["builder"]);
    let primary = primary(&hub);
    let _worker = hub.claude(turns([])).named("builder").within(dir).start();
    hub.session("builder");
    does(&hub, &primary, "Expect it");
    primary.woken_by("Expected builder within 8 s, nothing came");
    let id = hub.published("Expected builder");
    assert_eq!(hub.step(id, "emitted")["way"], "rewake");
    hub.step(id, "acked");
    hub.waiter("primary", "rewake");
    assert_eq!(hub.all_published("Expected builder", 1), [id]);
    primary.model.received_once("nothing came");
}
