//! `hubctl up` and `hubctl down`.

use std::fs::{self, File};
use std::path::Path;

use hub_harness::pause;
use rustix::fs::{FlockOperation, flock};

use crate::fake::{Fake, ok};
use crate::support::{Place, session_of, until};

const UP: &str = "up --listen 127.0.0.1:0";

/// Returns the process id of the hub that runs.
fn pid(place: &Place) -> u32 {
    place.read("state/lock").trim().parse().unwrap()
}

#[test]
fn up_starts_a_hub_that_outlives_its_shell_and_down_ends_it() {
    let place = Place::new();
    place.sh(&format!("hubctl {UP}")).ok();
    place.ctl("notify one");
    let pid = pid(&place);
    assert_eq!(session_of(pid), pid, "it leads its own session");
    place.ctl("up").prints("already runs");
    place.ctl("down");
    place.hubctl("status").fails(3);
    let process = format!("/proc/{pid}");
    until("its process is gone", || !Path::new(&process).exists());
    place.ctl("down").prints("no hub runs");
    place.ctl("notify two");
    place.ctl(UP);
    assert_eq!(place.said(), ["one", "two"]);
    place.ctl("down");
}

#[test]
fn a_hub_that_cannot_start_says_why() {
    let done = Place::new().hubctl("up --listen nonsense").fails(1);
    done.warns("nonsense");
}

#[test]
fn up_waits_for_a_hub_that_is_already_starting() {
    let place = Place::new();
    let lock = File::create(place.path("state/lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let mut up = place.hubctl(UP).spawn();
    let pid = up.child().id();
    let children = format!("/proc/{pid}/task/{pid}/children");
    let is_alone = || fs::read_to_string(&children).unwrap_or_default().is_empty();
    until("its own hub has ended", || {
        !place.read("state/hubd.log").is_empty() && is_alone()
    });
    // The other hub becomes ready only now.
    let _hub = Fake::new(&place, |_| ok(r#"{"url":"http://127.0.0.1:1"}"#));
    up.end().ok();
}

#[test]
fn up_names_the_stopped_hub_that_it_waits_for_and_down_ends_it() {
    let place = Place::new();
    place.ctl(UP);
    let pid = pid(&place);
    pause(pid, true);
    let up = place.hubctl("up --timeout 1").fails(1);
    up.warns("waiting up to 1 s")
        .warns(&format!("`kill -CONT {pid}`"));
    place.ctl("down");
}

#[test]
fn a_service_that_cannot_be_started_leaves_no_files() {
    let place = Place::new();
    // The manager of a login without a bus.
    let script = "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n";
    let manager = place.write("script", script);
    place.dir("bin");
    place.install(&manager, "bin/systemctl");
    let service = |action: &str| {
        let bin = place.path("bin");
        place.sh(&format!(
            "PATH={}:$PATH hubctl service {action}",
            bin.display()
        ))
    };
    service("install").fails(1).warns("hubctl up");
    assert!(!place.has(".config/systemd"));
    service("uninstall").ok().prints("no service is installed");
}
