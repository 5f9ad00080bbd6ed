//! `hubctl watch`.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Place, until};

#[test]
fn each_file_of_a_directory_is_published_once_for_the_session_of_its_name() {
    let place = Place::with_hub();
    fs::write(place.path("work/w1"), "completed one\nmore\n").unwrap();
    fs::write(place.path("work/w2"), "needs_input two").unwrap();
    fs::write(place.path("work/.draft"), "error three\n").unwrap();
    let done = place.hubctl(&["watch", "--once", "."]).run().ok();
    assert_eq!(place.said(), ["one", "two"]);
    for line in ["w1: complete: one (stored as 1)", "w2: question: two ("] {
        assert!(done.stderr.contains(line), "{}", done.stderr);
    }
    place.hubctl(&["watch", "--once", "."]).run().ok();
    assert_eq!(place.said(), ["one", "two"], "again");
}

#[test]
fn a_file_is_forwarded_when_it_changes_and_the_same_line_again_after_work() {
    let place = Place::with_hub();
    let file = place.path("work/state");
    let _watch = place
        .hubctl(&["watch", "state", "--session", "build"])
        .spawn();
    let says = |line: &str, said: &[&str]| {
        fs::write(&file, line).unwrap();
        until("it is forwarded", || place.said() == said);
    };
    says("completed one\n", &["one"]);
    fs::write(&file, "completed one\nagain\n").unwrap();
    says("error two\n", &["one", "two"]);
    place
        .hubctl(&["notify", "--from", "build", "--type", "working", "next"])
        .run()
        .ok();
    says("error two", &["one", "two", "next", "two"]);
    let from: Vec<_> = place
        .hubctl(&["history", "--json", "--from", "build"])
        .run()
        .lines();
    assert_eq!(from.len(), 4);
    assert_eq!(from[0]["data"]["via"], "status_file");
}

#[test]
fn a_half_written_line_is_waited_for() {
    let place = Place::with_hub();
    let file = place.path("work/w1");
    let _watch = place.hubctl(&["watch", "."]).spawn();
    let line = "needs_input Should I?";
    for end in 0..=line.len() {
        fs::write(&file, &line[..end]).unwrap();
        // Simulates a slow writer.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    until("it is forwarded", || !place.said().is_empty());
    assert_eq!(place.said(), ["Should I?"]);
}

#[test]
fn a_line_that_cannot_be_sent_is_spooled() {
    let mut place = Place::new();
    fs::write(place.path("work/w1"), "completed one\n").unwrap();
    let done = place.hubctl(&["watch", "--once", "w1"]).run().ok();
    assert!(done.stderr.contains("spooled"), "{}", done.stderr);
    place.start();
    assert_eq!(place.said(), ["one"]);
}

#[test]
fn a_line_without_a_state_is_ignored_and_reported() {
    let place = Place::with_hub();
    fs::write(place.path("real"), "completed x\n").unwrap();
    symlink(place.path("real"), place.path("work/link")).unwrap();
    fs::write(place.path("work/garbage"), "all is well\n").unwrap();
    fs::write(place.path("work/large"), "error\n".repeat(20_000)).unwrap();
    fs::write(place.path("work/no name"), "completed x\n").unwrap();
    let done = place.hubctl(&["watch", "--once", "."]).run();
    assert_eq!(done.code, Some(1), "{done:?}");
    for why in ["symbolic link", "no state", "65536 bytes", "--session"] {
        assert!(done.stderr.contains(why), "{}", done.stderr);
    }
    assert!(place.said().is_empty());
    let done = place.hubctl(&["watch", "--once", "nothing"]).run();
    assert_eq!(done.code, Some(1), "{done:?}");
}

#[test]
fn a_file_with_a_reserved_name_is_ignored() {
    let place = Place::with_hub();
    for name in ["person", "primary", "w1"] {
        fs::write(place.path("work").join(name), format!("completed {name}\n")).unwrap();
    }
    let done = place.hubctl(&["watch", "--once", "."]).run();
    assert!(done.stderr.contains("'person' is not a sender"), "{done:?}");
    assert_eq!(place.said(), ["w1"]);
}
