//! Emptying a project.

use serde_json::json as value;

use crate::fake::{Fake, ok};
use crate::support::Place;

#[test]
fn a_project_is_emptied_and_another_is_not() {
    let place = Place::with_hub();
    place.register("w1", &value!({}));
    place.hubctl(&["notify", "--from", "w1", "x"]).run().ok();
    place.hubctl(&["ask", "--from", "w1", "Why?"]).run().ok();
    let other = ["notify", "--from", "ci", "--project", "other", "y"];
    place.hubctl(&other).run().ok();
    let status = place.state().join("status");
    std::fs::create_dir_all(&status).unwrap();
    // What tells no state is taken in neither before nor after.
    for name in ["w1", "somebody"] {
        std::fs::write(status.join(name), "no state\n").unwrap();
    }
    let done = place.hubctl(&["reset", "--yes"]).run().ok();
    assert!(done.stdout.contains("sessions forgotten: 1"), "{done:?}");
    assert_eq!(place.inbox("primary")["pending"].as_u64().unwrap_or(0), 0);
    let open = place.hubctl(&["questions", "--json"]).run().json();
    assert_eq!(open["questions"], value!([]));
    let known = place.hubctl(&["sessions", "--all", "--json"]).run().json();
    assert_eq!(known["sessions"], value!([]));
    let kept = place
        .hubctl(&["inboxes", "--project", "other", "--json"])
        .run();
    assert_eq!(kept.json()["inboxes"][0]["pending"], 1);
    assert!(!status.join("w1").exists() && status.join("somebody").exists());
}

#[test]
fn what_this_machine_keeps_for_the_project_goes_too() {
    let place = Place::with_hub();
    place
        .sh("git init -q ../app && mkdir -p ../app/.hub/status")
        .run()
        .ok();
    let app = place.path("app");
    let status = app.join(".hub/status/w1");
    std::fs::write(&status, "working\n").unwrap();
    let here = place.path("other-state").display().to_string();
    let spool = place.path("other-state/spool");
    let keep = |args: &[&str]| {
        let call = place.hubctl(&["--state-dir", &here]).args(args);
        call.within(&app).run().ok();
    };
    keep(&["notify", "--from", "ci", "mine"]);
    keep(&["notify", "--from", "ci", "--project", "other", "not mine"]);
    let token = place.state().join("token").display().to_string();
    let args = [
        "--state-dir",
        &here,
        "--url",
        place.url(),
        "--token-file",
        &token,
    ];
    let call = place.hubctl(&args).args(&["reset", "--yes", "--json"]);
    let done = call.within(&app).run().json();
    assert_eq!(done["spooled"], 1);
    assert_eq!(std::fs::read_dir(spool).unwrap().count(), 1);
    assert!(!status.exists());
}

#[test]
fn without_a_terminal_and_a_yes_nothing_is_done() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| ok("{}"));
    let done = place.hubctl(&["reset"]).run();
    assert_eq!(done.code, Some(64));
    assert!(done.stderr.contains("--yes"), "{done:?}");
    assert!(fake.asked().is_empty());
}

#[test]
fn with_its_history_nothing_shows_what_was_said() {
    let mut place = Place::with_hub();
    let say = |place: &Place, args: &[&str]| {
        let said = place.hubctl(&["notify", "--json", "--from", "ci"]);
        said.args(args).run().json()["id"].to_string()
    };
    let id = say(&place, &["secret"]);
    say(&place, &["--project", "other", "not ours"]);
    place.hubctl(&["reset", "--yes"]).run().ok();
    assert_eq!(place.said(), ["secret", "not ours"]);
    place.hubctl(&["reset", "--yes", "--history"]).run().ok();
    say(&place, &["new"]);
    place.kill();
    place.start();
    assert_eq!(place.said(), ["not ours", "new"]);
    assert_eq!(place.hubctl(&["trace", &id]).run().code, Some(1));
}
