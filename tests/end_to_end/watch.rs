//! `hubctl watch`.

use std::os::unix::fs::symlink;

use crate::support::{Place, until};

#[test]
fn each_file_of_a_directory_is_published_once_for_the_session_of_its_name() {
    let place = Place::with_hub();
    place.write("work/w1", "completed one\nmore\n");
    place.write("work/w2", "needs_input two");
    place.write("work/.draft", "error three\n");
    let done = place.ctl("watch --once .");
    let done = done.warns("w1: complete: one (stored as 1)");
    done.warns("w2: question: two (");
    place.ctl("watch --once .");
    assert_eq!(place.said(), ["one", "two"], "again");
}

#[test]
fn a_file_is_forwarded_when_it_changes_and_the_same_line_again_after_work() {
    let place = Place::with_hub();
    let _watch = place.hubctl("watch state --session build").spawn();
    let says = |line: &str, said: &[&str]| {
        place.write("work/state", line);
        until("it is forwarded", || place.said() == said);
    };
    says("completed one\n", &["one"]);
    place.write("work/state", "completed one\nagain\n");
    says("error two\n", &["one", "two"]);
    place.ctl("notify --from build --type working next");
    says("error two", &["one", "two", "next", "two"]);
    let from = place.history("--from build");
    assert_eq!(from.len(), 4);
    assert_eq!(from[3].data.as_ref().unwrap()["via"], "status_file");
}

#[test]
fn a_half_written_line_is_waited_for() {
    let place = Place::with_hub();
    let _watch = place.hubctl("watch .").spawn();
    let line = "needs_input Should I?";
    for end in 0..=line.len() {
        place.write("work/w1", &line[..end]);
        // Simulates a slow writer.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    until("it is forwarded", || !place.said().is_empty());
    assert_eq!(place.said(), ["Should I?"]);
}

#[test]
fn a_line_that_cannot_be_sent_is_spooled() {
    let mut place = Place::new();
    place.write("work/w1", "completed one\n");
    place.ctl("watch --once w1").warns("spooled");
    place.start();
    assert_eq!(place.said(), ["one"]);
}

#[test]
fn a_line_without_a_state_is_ignored_and_reported() {
    let place = Place::with_hub();
    symlink(
        place.write("real", "completed x\n"),
        place.path("work/link"),
    )
    .unwrap();
    place.write("work/garbage", "all is well\n");
    place.write("work/large", "error\n".repeat(20_000));
    place.write("work/no name", "completed x\n");
    let done = place.hubctl("watch --once .").fails(1);
    let done = done.warns("symbolic link").warns("no state");
    done.warns("65536 bytes").warns("--session");
    assert!(place.said().is_empty());
    place.hubctl("watch --once nothing").fails(1);
}

#[test]
fn a_file_with_a_reserved_name_is_ignored() {
    let place = Place::with_hub();
    for name in ["person", "primary", "w1"] {
        place.write(&format!("work/{name}"), format!("completed {name}\n"));
    }
    let done = place.hubctl("watch --once .").run();
    done.warns("'person' is not a sender");
    assert_eq!(place.said(), ["w1"]);
}
