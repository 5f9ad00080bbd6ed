//! What is said while the hub is down is not lost.

use std::path::Path;

use crate::support::{Place, until};

fn files(dir: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return 0;
    };
    entries
        .flatten()
        .filter(|entry| entry.path().is_file())
        .count()
}

#[test]
fn what_is_said_while_the_hub_is_down_is_kept_and_taken_in_when_it_starts() {
    let mut place = Place::new();
    for text in ["one", "two", "three"] {
        let done = place.hubctl(&["notify", text]).run().ok();
        assert!(
            done.stdout.is_empty() && done.stderr.contains("kept in the spool"),
            "{done:?}"
        );
    }
    assert_eq!(files(&place.state().join("spool")), 3);
    place.start();
    assert_eq!(place.said(), ["one", "two", "three"]);
    assert_eq!(files(&place.state().join("spool")), 0);
}

#[test]
fn a_running_hub_takes_the_spool_in_when_it_changes() {
    let place = Place::with_hub();
    let nowhere = place.path("nowhere.sock");
    place
        .hubctl(&["notify", "x"])
        .env("HUB_SOCKET", nowhere.to_str().unwrap())
        .run()
        .ok();
    until("it is taken in", || place.said() == ["x"]);
}

#[test]
fn a_killed_hub_takes_each_in_once() {
    let mut place = Place::with_hub();
    place.hubctl(&["notify", "before"]).run().ok();
    place.kill();
    place.hubctl(&["notify", "meanwhile"]).run().ok();
    place.start();
    assert_eq!(place.said(), ["before", "meanwhile"]);
}

#[test]
fn what_can_never_be_taken_is_set_aside() {
    let mut place = Place::new();
    place
        .hubctl(&["notify", "--reply-to", "999", "x"])
        .run()
        .ok();
    std::fs::write(place.state().join("spool/broken"), "{").unwrap();
    place.start();
    assert_eq!(files(&place.state().join("spool/rejected")), 2);
    assert_eq!(files(&place.state().join("spool")), 0);
    assert!(place.said().is_empty());
}

#[test]
fn a_hub_elsewhere_gets_what_this_machine_kept() {
    let place = Place::with_hub();
    let mine = place.path("mine");
    let here = |args: &[&str]| {
        place
            .hubctl(args)
            .env("HUB_STATE_DIR", mine.to_str().unwrap())
    };
    here(&["notify", "kept"]).run().ok();
    assert_eq!(files(&mine.join("spool")), 1);
    let token = place.state().join("token");
    let call = here(&["notify", "--url", place.url(), "sent"])
        .env("HUB_TOKEN_FILE", token.to_str().unwrap());
    call.run().ok();
    assert_eq!(place.said(), ["sent", "kept"]);
    assert_eq!(files(&mine.join("spool")), 0);
}

#[test]
fn what_could_not_be_kept_either_is_an_error() {
    let place = Place::new();
    let done = place
        .hubctl(&["notify", "x"])
        .env("HUB_STATE_DIR", "/dev/null/state")
        .run();
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains("lost"), "{}", done.stderr);
}

#[test]
fn what_the_hub_would_refuse_is_not_kept() {
    let place = Place::new();
    let large = "x".repeat(70_000);
    let done = place.hubctl(&["notify", "-"]).stdin(large).run();
    assert_eq!(done.code, Some(1), "{done:?}");
    assert_eq!(files(&place.state().join("spool")), 0);
}
