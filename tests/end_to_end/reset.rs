//! `hubctl reset`.

use serde_json::json as value;

use crate::fake::{Fake, ok};
use crate::support::Place;

#[test]
fn a_reset_empties_its_project_and_no_other() {
    let place = Place::with_hub();
    place.register("w1", &value!({}));
    place.hubctl(&["notify", "--from", "w1", "x"]).run().ok();
    place.hubctl(&["ask", "--from", "w1", "Why?"]).run().ok();
    let other = ["notify", "--from", "ci", "--project", "other", "y"];
    place.hubctl(&other).run().ok();
    let status = place.state().join("status");
    std::fs::create_dir_all(&status).unwrap();
    // A line without a state is ignored both before and after the reset.
    for name in ["w1", "somebody"] {
        std::fs::write(status.join(name), "no state\n").unwrap();
    }
    let done = place.hubctl(&["reset", "--yes"]).run().ok();
    assert!(done.stdout.contains("sessions forgotten: 1"), "{done:?}");
    let inboxes = place.inboxes("--project=default").into_iter();
    assert_eq!(inboxes.map(|it| it.pending).sum::<u64>(), 0);
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
fn a_reset_removes_this_machines_files_of_the_project_too() {
    let mut place = Place::with_hub();
    place
        .sh("git init -q ../app && mkdir -p ../app/.hub/status")
        .run()
        .ok();
    let app = place.path("app");
    let status = app.join(".hub/status/w1");
    std::fs::write(&status, "working\n").unwrap();
    let here = place.path("other-state");
    std::fs::create_dir(&here).unwrap();
    let socket = place.state().join("hub.sock").display().to_string();
    let there = |place: &Place, args: &[&str]| {
        let dir = here.display().to_string();
        let call = place.hubctl(&["--state-dir", &dir, "--socket", &socket]);
        call.args(args).within(&app).run().ok()
    };
    there(&place, &["notify", "--from", "ci", "said"]);
    place.kill();
    there(&place, &["notify", "--from", "ci", "mine"]);
    there(
        &place,
        &["notify", "--from", "ci", "--project", "other", "not mine"],
    );
    place.start();
    let done = there(&place, &["reset", "--yes", "--json"]).json();
    assert_eq!(done["spooled"], 1);
    let outbox = std::fs::read_dir(here.join("outbox")).unwrap();
    let spool = outbox.flatten().next().unwrap().path();
    assert_eq!(std::fs::read_dir(spool).unwrap().count(), 1);
    assert!(!status.exists());
}

#[test]
fn files_behind_links_in_a_worktree_stay() {
    use std::os::unix::fs::symlink;
    let place = Place::with_hub();
    let precious = place.path("precious");
    std::fs::create_dir_all(precious.join("status")).unwrap();
    for file in ["file", "status/file"] {
        std::fs::write(precious.join(file), "precious").unwrap();
    }
    for (link, target) in [(".hub/status", "../../precious"), (".hub", "../precious")] {
        place
            .sh("rm -rf ../clone && git init -q ../clone")
            .run()
            .ok();
        let clone = place.path("clone");
        std::fs::create_dir_all(clone.join(link).parent().unwrap()).unwrap();
        symlink(target, clone.join(link)).unwrap();
        place.hubctl(&["reset", "--yes"]).within(&clone).run().ok();
        for file in ["file", "status/file"] {
            assert!(precious.join(file).exists(), "{link}: {file}");
        }
    }
}

#[test]
fn a_worktree_that_a_repository_only_claims_to_have_stays() {
    let place = Place::with_hub();
    place
        .sh("git init -q ../clone && git init -q ../other")
        .run()
        .ok();
    let status = place.path("other/.hub/status");
    std::fs::create_dir_all(&status).unwrap();
    std::fs::write(status.join("w1"), "no state\n").unwrap();
    let claim = place.path("clone/.git/worktrees/x");
    std::fs::create_dir_all(&claim).unwrap();
    let git_file = place.path("other/.git").display().to_string();
    std::fs::write(claim.join("gitdir"), git_file).unwrap();
    let call = place.hubctl(&["reset", "--yes"]);
    call.within(&place.path("clone")).run().ok();
    assert!(status.join("w1").exists());
}

#[test]
fn without_a_terminal_and_a_confirmation_nothing_is_done() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| ok("{}"));
    let done = place.hubctl(&["reset"]).run();
    assert_eq!(done.code, Some(64));
    assert!(done.stderr.contains("--yes"), "{done:?}");
    assert!(fake.asked().is_empty());
}

#[test]
fn with_its_history_no_command_shows_past_notifications() {
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
