//! `hubctl reset`.

use serde_json::json as value;

use crate::fake::{Fake, ok};
use crate::support::Place;

#[test]
fn a_reset_empties_its_project_and_no_other() {
    let place = Place::with_hub();
    place.sessions(&["w1"]);
    place.ctl("notify --from w1 x");
    place.ctl("ask --from w1 Why?");
    place.ctl("notify --from ci --project other y");
    // A line without a state is ignored both before and after the reset.
    for name in ["w1", "somebody"] {
        place.write(&format!("state/status/{name}"), "no state\n");
    }
    place.ctl("reset --yes").prints("sessions forgotten: 1");
    let inboxes = place.inboxes("--project=default").into_iter();
    assert_eq!(inboxes.map(|it| it.pending).sum::<u64>(), 0);
    assert!(place.questions().is_empty());
    let known = place.json("sessions --all --json");
    assert_eq!(known["sessions"], value!([]));
    assert_eq!(place.inboxes("--project=other")[0].pending, 1);
    assert!(!place.has("state/status/w1") && place.has("state/status/somebody"));
}

#[test]
fn a_reset_removes_this_machines_files_of_the_project_too() {
    let mut place = Place::with_hub();
    place.sh("git init -q ../app").ok();
    let app = place.path("app");
    place.write("app/.hub/status/w1", "working\n");
    let here = place.dir("other-state");
    let there = |place: &Place, line: &str| {
        let call = place.hubctl(line);
        let call = call.env("HUB_SOCKET", place.path("state/hub.sock"));
        call.env("HUB_STATE_DIR", &here).within(&app).ok()
    };
    there(&place, "notify --from ci said");
    place.kill();
    there(&place, "notify --from ci mine");
    there(&place, "notify --from ci --project other 'not mine'");
    place.start();
    let done = there(&place, "reset --yes --json").json();
    assert_eq!(done["spooled"], 1);
    let outbox = std::fs::read_dir(here.join("outbox")).unwrap();
    let spool = outbox.flatten().next().unwrap().path();
    assert_eq!(std::fs::read_dir(spool).unwrap().count(), 1);
    assert!(!place.has("app/.hub/status/w1"));
}

#[test]
fn files_behind_links_in_a_worktree_stay() {
    let place = Place::with_hub();
    for file in ["precious/file", "precious/status/file"] {
        place.write(file, "precious");
    }
    for (link, target) in [(".hub/status", "../../precious"), (".hub", "../precious")] {
        place
            .sh("rm -rf ../clone && git init -q ../clone && mkdir ../clone/.hub")
            .ok();
        place
            .sh(&format!(
                "rmdir ../clone/{link}; ln -s {target} ../clone/{link}"
            ))
            .ok();
        let call = place.hubctl("reset --yes").within(&place.path("clone"));
        call.ok();
        for file in ["precious/file", "precious/status/file"] {
            assert!(place.has(file), "{link}: {file}");
        }
    }
}

#[test]
fn a_worktree_that_a_repository_only_claims_to_have_stays() {
    let place = Place::with_hub();
    let call = place.sh("git init -q ../clone && git init -q ../other");
    call.ok();
    place.write("other/.hub/status/w1", "no state\n");
    let git_file = place.path("other/.git").display().to_string();
    place.write("clone/.git/worktrees/x/gitdir", git_file);
    let call = place.hubctl("reset --yes").within(&place.path("clone"));
    call.ok();
    assert!(place.has("other/.hub/status/w1"));
}

#[test]
fn without_a_terminal_and_a_confirmation_nothing_is_done() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| ok("{}"));
    place.hubctl("reset").fails(64).warns("--yes");
    assert!(fake.asked().is_empty());
}

#[test]
fn with_its_history_no_command_shows_past_notifications() {
    let mut place = Place::with_hub();
    let id = place.json("notify --json --from ci secret")["id"].to_string();
    place.ctl("notify --from ci --project other 'not ours'");
    place.ctl("reset --yes");
    assert_eq!(place.said(), ["secret", "not ours"]);
    place.ctl("reset --yes --history");
    place.ctl("notify --from ci new");
    place.restart();
    assert_eq!(place.said(), ["not ours", "new"]);
    place.hubctl(format!("trace {id}")).fails(1);
}
