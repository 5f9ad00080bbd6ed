//! `hubctl up` and `hubctl down`.

use std::fs::{self, File};

use rustix::fs::{FlockOperation, flock};

use crate::fake::{Fake, ok};
use crate::support::{Place, until};

#[test]
fn up_starts_a_hub_that_outlives_its_shell_and_down_ends_it() {
    let place = Place::new();
    place.sh("hubctl up --listen 127.0.0.1:0").run().ok();
    place.hubctl(&["notify", "x"]).run().ok();
    let pid = std::fs::read_to_string(place.state().join("lock")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap();
    let session = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .nth(3)
        .unwrap()
        .to_owned();
    assert_eq!(session, pid.trim(), "it leads its own session");
    let again = place.hubctl(&["up"]).run().ok().stdout;
    assert!(again.contains("already runs"), "{again}");
    place.hubctl(&["down"]).run().ok();
    assert_eq!(place.hubctl(&["status"]).run().code, Some(3));
    until("its process is gone", || {
        !std::path::Path::new(&format!("/proc/{}", pid.trim())).exists()
    });
    let again = place.hubctl(&["down"]).run().ok().stdout;
    assert!(again.contains("no hub runs"), "{again}");
}

#[test]
fn a_hub_that_cannot_start_says_why() {
    let place = Place::new();
    let done = place.hubctl(&["up", "--listen", "nonsense"]).run();
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("nonsense"), "{}", done.stderr);
}

#[test]
fn up_waits_for_a_hub_that_is_already_starting() {
    let place = Place::new();
    fs::create_dir_all(place.state()).unwrap();
    let lock = File::create(place.state().join("lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let mut up = place.hubctl(&["up", "--listen", "127.0.0.1:0"]).spawn();
    let pid = up.child().id();
    let children = format!("/proc/{pid}/task/{pid}/children");
    until("its own hub has ended", || {
        let said = fs::read_to_string(place.state().join("hubd.log")).unwrap_or_default();
        !said.is_empty() && fs::read_to_string(&children).unwrap_or_default().is_empty()
    });
    // The other hub becomes ready only now.
    let _hub = Fake::new(&place, |_| ok("{\"url\":\"http://127.0.0.1:1\"}"));
    up.end().ok();
}

#[test]
fn up_names_the_stopped_hub_that_it_waits_for_and_down_ends_it() {
    let place = Place::new();
    place.hubctl(&["up", "--listen", "127.0.0.1:0"]).run().ok();
    let pid = fs::read_to_string(place.state().join("lock")).unwrap();
    let pid = pid.trim();
    place.sh(&format!("kill -STOP {pid}")).run().ok();
    let up = place.hubctl(&["up", "--timeout", "1"]).run();
    assert_eq!(up.code, Some(1), "{up:?}");
    for part in ["waiting up to 1 s", &format!("`kill -CONT {pid}`")] {
        assert!(up.stderr.contains(part), "{up:?}");
    }
    place.hubctl(&["down"]).run().ok();
}

#[test]
fn a_notification_between_down_and_up_is_stored_afterwards() {
    let place = Place::new();
    let up = || place.hubctl(&["up", "--listen", "127.0.0.1:0"]).run().ok();
    up();
    place.hubctl(&["notify", "one"]).run().ok();
    place.hubctl(&["down"]).run().ok();
    place.hubctl(&["notify", "two"]).run().ok();
    up();
    assert_eq!(place.said(), ["one", "two"]);
    place.hubctl(&["down"]).run().ok();
}
