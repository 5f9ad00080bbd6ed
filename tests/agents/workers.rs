//! A primary and its workers, each in a worktree of one repository.

use hub_harness::Model;
use hub_harness::model::turns;

use crate::support::{Central, Claude, Desk};

const NAMES: [&str; 3] = ["main", "one", "two"];

/// Types a prompt into each session, and waits until each has stopped again.
fn round(central: &Central<'_>, sessions: &[&Claude; 3], greeting: &str) {
    for name in NAMES {
        central.waiter(name, "rewake");
        central.tell(name, "tester", &text(greeting, name));
    }
    for (name, session) in NAMES.iter().zip(sessions) {
        session.model.until_told(&text(greeting, name));
    }
}

fn text(greeting: &str, name: &str) -> String {
    format!("{greeting}, {name}!")
}

#[test]
fn each_session_gets_its_own_notifications_even_after_a_clear() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    central.install(&[]);
    let dirs = central.worktrees(["one", "two"]);
    let start = |name: &str| desk.claude(Model::start(turns([]))).named(name);
    let primary = start("main").start();
    central.waiter("primary", "rewake");
    let [one, two] = dirs.map(|dir| {
        let name = dir.file_name().expect("a name").to_owned();
        let worker = start(name.to_str().expect("UTF-8")).within(dir);
        worker.env("HUB_PARENT", "main").start()
    });
    let sessions = [&primary, &one, &two];

    round(&central, &sessions, "Good morning");
    until_reported(&central, &primary, 1);
    let before = central.session("one");
    one.say("/clear");
    primary.say("/clear");
    central.alias("one");
    central.alias("main");
    assert_eq!(central.session("one")["id"], before["id"]);
    round(&central, &sessions, "Good evening");
    until_reported(&central, &primary, 2);

    for greeting in ["Good morning", "Good evening"] {
        for (name, session) in NAMES.iter().zip(sessions) {
            let told = NAMES.map(|of| session.model.told(&text(greeting, of)).len());
            assert_eq!(told, NAMES.map(|of| usize::from(of == *name)), "{name}");
        }
    }
    for worker in [&one, &two] {
        assert_eq!(worker.model.told("completed (worker of").len(), 0);
    }
}

/// Waits until the primary has received `count` stops of each worker, each exactly once.
fn until_reported(central: &Central<'_>, primary: &Claude, count: usize) {
    for name in ["one", "two"] {
        let ids = central.all_said(&format!("Agent {name} completed (worker of main)"), count);
        for id in ids {
            let line = format!("\"id\":{id},");
            primary.model.until_told(&line);
            central.step(id, "acked");
            assert_eq!(primary.model.told(&line).len(), 1, "{name}");
        }
    }
}
