//! Sessions at their wake limit: held notifications are delivered later.

use std::time::Duration;

use hub_harness::model::turns;
use hub_harness::{Hub, within};

use crate::support::{Claude, InstalledHub};

/// Returns the primary, idle again after the only wake that its limit allows.
fn woken_enough(hub: &InstalledHub) -> Claude {
    let primary = hub.claude(turns([])).named("primary").start();
    hub.waiter("primary", "rewake");
    hub.send("primary", "tester", "the first one");
    primary.model.until_received("the first one");
    // The turn's last hook delivers everything pending, so nothing may be pending until the turn is over.
    hub.published("Agent main completed");
    hub.waiter("primary", "rewake");
    primary
}

#[test]
fn a_held_wake_is_delivered_with_a_workers_stop() {
    let hub = InstalledHub::with(Hub::builder().set("wake.per_hour=1"));
    let [dir] = hub.worktrees(["builder"]);
    let primary = woken_enough(&hub);
    let worker = hub.claude(turns([])).named("builder");
    let worker = worker.within(dir).env("HUB_PARENT", "main").start();
    hub.session("builder");

    let id = hub.send("primary", "tester", "held back");
    assert_eq!(hub.step(id, "held")["limit"], "1 wake an hour");
    assert_eq!(primary.model.received("held back").len(), 0);

    worker.submit("Build it");
    let woken = primary.woken_by("completed (worker of main)");
    assert_eq!(woken.count_new("held back"), 1);
    hub.step(id, "acked");
    primary.model.received_once("held back");
}

#[test]
fn a_held_wake_is_delivered_when_its_limit_is_over() {
    let hub = InstalledHub::with(Hub::builder().set("wake.per_sender_per_minute=1"));
    let primary = woken_enough(&hub);
    let id = hub.send("primary", "tester", "held back");
    hub.step(id, "held");
    // The limit's minute begins with the previous wake.
    let comes = || {
        let steps = hub.trace(id);
        steps.iter().any(|it| it["state"] == "acked").then_some(())
    };
    assert!(within(Duration::from_secs(90), comes).is_some());
    primary.woken_by("held back");
    assert_eq!(hub.step(id, "emitted")["way"], "rewake");
    primary.model.received_once("held back");
}
