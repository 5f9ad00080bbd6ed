//! Where connecting is forbidden, the status file tells.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{Call, Place};

/// Another user's number, who may not use the hub's socket.
const NOBODY: u32 = 65_534;

/// hubctl where it may not connect, in the worktree `work`: nothing stops root but being somebody else.
fn blocked(place: &Place, args: &[&str]) -> Call {
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let work = place.path("work");
    for dir in [".git/objects", ".git/refs"] {
        fs::create_dir_all(work.join(dir)).unwrap();
    }
    fs::write(work.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    if !rustix::process::geteuid().is_root() {
        mode(&place.state().join("hub.sock"), 0);
        return place.hubctl(args);
    }
    mode(&place.path("."), 0o755);
    chown(&work, Some(NOBODY), None).unwrap();
    // The build directory may be closed to others.
    let hubctl = place.install(Path::new(env!("CARGO_BIN_EXE_hubctl")), "hubctl");
    let script = format!(
        "exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups {} \"$@\"",
        hubctl.display()
    );
    place.sh(&script).args(&["sh"]).args(args)
}

#[test]
fn a_state_is_written_into_the_sessions_file_in_the_worktree() {
    let place = Place::with_hub();
    for (kind, word) in [
        ("complete", "completed"),
        ("question", "needs_input"),
        ("testing", "needs_testing"),
        ("error", "error"),
        ("progress", "working"),
    ] {
        let args = ["notify", "--from", "w1", "--type", kind, "Which\nport?"];
        let done = blocked(&place, &args).run().ok();
        let file = place.path("work/.hub/status/w1");
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            format!("{word} Which port?\n")
        );
        assert!(done.stderr.contains(".hub/status/w1"), "{}", done.stderr);
    }
}

#[test]
fn the_file_that_the_session_was_given_goes_first() {
    let place = Place::with_hub();
    let file = place.path("work/w1");
    let given = |call: Call| {
        call.env("HUB_SESSION", "w1")
            .env("HUB_STATUS_FILE", file.to_str().unwrap())
    };
    given(blocked(&place, &["notify", "done"])).run().ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), "completed done\n");
    given(blocked(&place, &["notify", "--from", "w2", "else"]))
        .run()
        .ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), "completed done\n");
    assert!(place.path("work/.hub/status/w2").exists());
}

#[test]
fn what_a_state_cannot_tell_is_spooled() {
    let place = Place::with_hub();
    let mine = place.path("work/mine");
    for args in [
        ["notify", "--from", "w1", "--type", "message", "x"],
        ["notify", "--from", "w1", "--to", "reviewer", "x"],
    ] {
        let socket = place.state().join("hub.sock");
        let call = blocked(&place, &args)
            .env("HUB_SOCKET", socket.to_str().unwrap())
            .env("HUB_STATE_DIR", mine.to_str().unwrap());
        assert!(call.run().ok().stderr.contains("kept in the spool"));
    }
    assert_eq!(fs::read_dir(mine.join("spool")).unwrap().count(), 2);
    assert!(!place.path("work/.hub").exists());
}

#[test]
fn a_waiter_says_that_it_is_blocked_and_does_not_sit_out_its_time() {
    let place = Place::with_hub();
    let started = Instant::now();
    let done = blocked(&place, &["wait", "--timeout", "60"]).run();
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains("is blocked"), "{}", done.stderr);
    assert!(started.elapsed() < Duration::from_secs(40), "{done:?}");
}
