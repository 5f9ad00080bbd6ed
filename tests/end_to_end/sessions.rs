//! Who there is, and who speaks.

use serde_json::json as value;

use crate::fake::{Fake, ok};
use crate::support::{Place, json};

fn say(place: &Place, from: &str, kind: &str, text: &str) {
    place
        .hubctl(&["notify", "--from", from, "--type", kind, text])
        .run()
        .ok();
}

#[test]
fn the_table_shows_state_with_evidence_waiter_pending_and_the_primary() {
    let place = Place::with_hub();
    place.register("lead", &value!({"title": "Plan"}));
    place.register("w1", &value!({"parent": "lead", "cwd": "/src/w1"}));
    say(&place, "w1", "done", "tests pass");
    place.hubctl(&["primary", "--take", "lead"]).run().ok();
    let _waiter = place.waiter(place.hubctl(&["wait", "--inbox", "w1"]));
    let table = place.hubctl(&["sessions"]).run().ok().stdout;
    let row = |name: &str| {
        let row = table.lines().find(|row| row[1..].starts_with(name));
        row.unwrap_or_else(|| panic!("{table}")).to_owned()
    };
    assert!(row("lead").starts_with('*'), "{table}");
    let lead = row("lead");
    assert!(lead.contains("  none    1  "), "{table}");
    for part in ["complete (", " s ago)", "live", "lead", "/src/w1"] {
        assert!(row("w1").contains(part), "{part}: {table}");
    }
}

#[test]
fn those_that_are_over_are_listed_on_demand() {
    let place = Place::with_hub();
    place.register("w1", &value!({}));
    say(&place, "w1", "ended", "bye");
    let listed = |args: &[&str]| {
        let all = place.hubctl(args).run().json();
        all["sessions"].as_array().unwrap().len()
    };
    assert_eq!(listed(&["sessions", "--json"]), 0);
    assert_eq!(listed(&["sessions", "--json", "--all"]), 1);
}

#[test]
fn a_look_shows_everything_and_changes_nothing() {
    let place = Place::with_hub();
    place.register(
        "w1",
        &value!({"host": "box", "cwd": "/src/w1", "pane": "%7"}),
    );
    for n in 1..=6 {
        say(&place, "w1", "progress", &format!("step {n}"));
    }
    let ask = ["ask", "--from", "w1", "Which?", "--option", "a"];
    let id = place.hubctl(&ask).run().ok().stdout;
    let before = place.hubctl(&["sessions", "--json"]).run().json();
    let shown = place.hubctl(&["look", "w"]).run().ok().stdout;
    for part in [
        "blocked (",
        "/src/w1",
        "tmux select-window -t '%7'",
        "[1] a",
        &format!("hubctl answer {}", id.trim()),
        "step 6",
        "step 3",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("step 2"), "only the last five: {shown}");
    let after = place.hubctl(&["sessions", "--json"]).run().json();
    assert_eq!(before, after, "nobody listens since");
}

#[test]
fn a_mistyped_session_is_told_the_nearest() {
    let place = Place::with_hub();
    place.register("worker", &value!({}));
    let done = place.hubctl(&["look", "wroker"]).run();
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("did you mean 'worker'?"), "{done:?}");
}

#[test]
fn a_session_takes_the_role_of_the_primary() {
    let place = Place::with_hub();
    let nobody = place.hubctl(&["primary"]).run().ok().stdout;
    assert!(nobody.contains("no session"), "{nobody}");
    place.register("lead", &value!({}));
    let take = place.hubctl(&["primary", "--take"]);
    take.env("HUB_SESSION", "lead").run().ok();
    let found = place.hubctl(&["primary", "--json"]).run().json();
    assert_eq!(found["primary"]["id"], "lead");
    assert_eq!(place.hubctl(&["primary", "--take"]).run().code, Some(64));
}

#[test]
fn who_has_no_name_speaks_for_the_session_that_started_it() {
    let place = Place::with_hub();
    let start = r#"{"hook_event_name":"SessionStart","session_id":"s1","cwd":"/"}"#;
    place.hubctl(&["hook", "claude"]).stdin(start).run().ok();
    let shown = place.hubctl(&["notify", "--dry-run", "--json", "x"]).run();
    let rule = &shown.json()["rules"]["from"];
    assert_eq!(rule["value"], "s1");
    assert_eq!(rule["source"], "session of an ancestor process");
}

#[test]
fn who_has_no_name_speaks_for_the_one_session_in_its_worktree() {
    let place = Place::with_hub();
    place
        .sh("git init -q ../app && mkdir ../app/src")
        .run()
        .ok();
    let (app, src) = (place.path("app"), place.path("app/src"));
    place.register("s1", &value!({"cwd": app}));
    let dry = || {
        let call = place.hubctl(&["notify", "--dry-run", "--json", "x"]);
        call.within(&src).run().json()["rules"]["from"].clone()
    };
    assert_eq!(dry()["value"], "s1");
    assert_eq!(dry()["source"], "the one session in this worktree");
    place.register("s2", &value!({"cwd": src}));
    assert_eq!(dry()["value"], "unknown", "two are one too many");
}

#[test]
fn who_has_a_name_does_not_ask_the_hub_for_one() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| {
        ok(r#"{"id":1,"project":"default","inboxes":[],"woken":0}"#)
    });
    place.hubctl(&["notify", "--from", "ci", "x"]).run().ok();
    let named = place.hubctl(&["notify", "x"]).env("HUB_SESSION", "s1");
    named.run().ok();
    let lines: Vec<String> = fake.asked().into_iter().map(|it| it.line).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(json(&fake.asked()[1].body)["from"], "s1");
}
