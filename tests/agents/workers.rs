//! A primary and its workers, each in a worktree of one repository.

use hub_harness::Hub;
use hub_harness::model::{Reply, turns};

use crate::each::{OPENCODE_1, PI, QWEN};
use crate::support::{Claude, InstalledHub, NO_LIMIT};

const NAMES: [&str; 3] = ["main", "one", "two"];

/// Types a prompt into each session, and waits until each has stopped again.
fn round(hub: &InstalledHub, sessions: &[&Claude; 3], greeting: &str) {
    for name in NAMES {
        hub.waiter(name, "rewake");
        hub.send(name, "tester", &text(greeting, name));
    }
    for (name, session) in NAMES.iter().zip(sessions) {
        session.model.until_received(&text(greeting, name));
    }
}

fn text(greeting: &str, name: &str) -> String {
    format!("{greeting}, {name}!")
}

#[test]
fn each_session_gets_its_own_notifications_even_after_a_clear() {
    let hub = InstalledHub::new();
    let dirs = hub.worktrees(["one", "two"]);
    let start = |name: &str| hub.claude(turns([])).named(name);
    let primary = start("main").start();
    hub.waiter("primary", "rewake");
    let [one, two] = dirs.map(|dir| {
        let name = dir.file_name().expect("a name").to_owned();
        let worker = start(name.to_str().expect("UTF-8")).within(dir);
        worker.env("HUB_PARENT", "main").start()
    });
    let sessions = [&primary, &one, &two];

    round(&hub, &sessions, "Good morning");
    until_reported(&hub, &primary, 1);
    let before = hub.session("one");
    one.submit("/clear");
    primary.submit("/clear");
    hub.alias("one");
    hub.alias("main");
    assert_eq!(hub.session("one")["id"], before["id"]);
    round(&hub, &sessions, "Good evening");
    until_reported(&hub, &primary, 2);

    for greeting in ["Good morning", "Good evening"] {
        for (name, session) in NAMES.iter().zip(sessions) {
            let told = NAMES.map(|of| session.model.received(&text(greeting, of)).len());
            assert_eq!(told, NAMES.map(|of| usize::from(of == *name)), "{name}");
        }
    }
    for worker in [&one, &two] {
        assert_eq!(worker.model.received("completed (worker of").len(), 0);
    }
}

/// Waits until the primary has received `count` stops of each worker, each exactly once.
fn until_reported(hub: &InstalledHub, primary: &Claude, count: usize) {
    for name in ["one", "two"] {
        let ids = hub.all_published(&format!("Agent {name} completed (worker of main)"), count);
        for id in ids {
            let line = format!("\"id\":{id},");
            primary.model.until_received(&line);
            hub.step(id, "acked");
            primary.model.received_once(&line);
        }
    }
}

#[test]
fn workers_of_four_kinds_wake_the_primary_with_their_results() {
    let hub = InstalledHub::with(Hub::builder().set(NO_LIMIT));
    let [claude_dir, others @ ..] = hub.worktrees(["claude", "opencode", "pi", "qwen"]);
    let primary = hub.claude(turns([])).named("primary").start();
    hub.waiter("primary", "rewake");
    let tells = |name: &str, result: &str| {
        let text = format!("Agent {name} completed (worker of main): {result}");
        let woken = primary.woken_by(&text);
        assert_eq!(primary.model.received(&text), [woken.number]);
        hub.waiter("primary", "rewake");
    };
    let worker = hub.claude(turns([Reply::text("A scripted fig.")]));
    let worker = worker.within(claude_dir).env("HUB_PARENT", "main");
    worker.headless("Which fruit?");
    tells("claude", "A scripted fig.");
    for (vendor, dir) in [&OPENCODE_1, &PI, &QWEN].into_iter().zip(&others) {
        let result = format!("A fig by {}.", vendor.agent);
        let model = vendor.install(&hub, turns([Reply::text(&result)]));
        vendor.work(&hub, (dir, "main"), (&model, "Which fruit?"));
        tells(vendor.agent.as_str(), &result);
    }
}
