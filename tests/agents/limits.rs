//! Sessions at their wake limit: held notifications are shown everywhere, and delivered later.

use std::time::Duration;

use hub_harness::model::turns;
use hub_harness::{Hub, Model, within};

use crate::support::{Central, Claude, Desk};

/// Returns the primary, idle again after the only wake that its limit allows.
fn woken_enough(desk: &Desk, central: &Central<'_>) -> Claude {
    let primary = desk.claude(Model::start(turns([]))).named("primary");
    let primary = primary.start();
    central.waiter("primary", "rewake");
    central.tell("primary", "tester", "the first one");
    primary.model.until_told("the first one");
    // The turn's last hook delivers everything pending, so nothing may be pending until the turn is over.
    central.said("Agent main completed");
    central.waiter("primary", "rewake");
    primary
}

#[test]
fn a_held_wake_is_shown_everywhere_and_delivered_with_a_workers_stop() {
    let desk = Desk::new();
    let central = Central::with(&desk, Hub::builder().set("wake.per_hour=1"));
    central.install(&[]);
    let [dir] = central.worktrees(["builder"]);
    let primary = woken_enough(&desk, &central);
    let worker = desk.claude(Model::start(turns([]))).named("builder");
    let worker = worker.within(dir).env("HUB_PARENT", "main").start();
    central.session("builder");

    let id = central.tell("primary", "tester", "held back");
    assert_eq!(central.step(id, "held")["limit"], "1 wakes an hour");
    let shows = |args: &[&str], what: &str| {
        let shown = central.try_hubctl(args);
        let text = String::from_utf8_lossy(&shown.stdout);
        assert!(text.contains(what), "{args:?}: {shown:?}");
    };
    shows(
        &["trace", &id.to_string()],
        "by a wake limit: 1 wakes an hour",
    );
    shows(&["status"], "1 held until ");
    shows(&["doctor"], "inbox primary: 1 held until ");
    shows(
        &["wake-test", "main", "--patience", "1s"],
        "a wake limit (1 wakes an hour) holds it until ",
    );
    assert_eq!(primary.model.told("held back").len(), 0);

    worker.say("Build it");
    let woken = primary.model.until_told("completed (worker of main)");
    assert!(woken.tells("<task-notification>") > 0, "{:?}", woken.news);
    assert_eq!(woken.tells("held back"), 1);
    central.step(id, "acked");
    assert_eq!(primary.model.told("held back").len(), 1);
}

#[test]
fn a_held_wake_is_delivered_when_its_limit_is_over() {
    let desk = Desk::new();
    let central = Central::with(&desk, Hub::builder().set("wake.per_sender_per_minute=1"));
    central.install(&[]);
    let primary = woken_enough(&desk, &central);
    let id = central.tell("primary", "tester", "held back");
    central.step(id, "held");
    // The limit's minute begins with the previous wake.
    let comes = || {
        let steps = central.trace(id);
        steps.iter().any(|it| it["state"] == "acked").then_some(())
    };
    assert!(within(Duration::from_secs(90), comes).is_some());
    let told = primary.model.until_told("held back");
    assert!(told.tells("<task-notification>") > 0, "{:?}", told.news);
    assert_eq!(central.step(id, "emitted")["way"], "rewake");
    assert_eq!(primary.model.told("held back").len(), 1);
}
