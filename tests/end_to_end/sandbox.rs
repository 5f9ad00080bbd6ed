//! `hubctl notify` in a sandbox without sockets: it writes a status file.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{Call, Place};

/// The uid of a user who may not use the hub's socket.
const NOBODY: u32 = 65_534;

/// Returns a call of hubctl that may not connect, in the worktree `work`. Only another uid restricts root.
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
    // The build directory may be closed to other users.
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
fn a_state_for_another_hub_is_not_written_where_this_machines_hub_reads_it() {
    let place = Place::with_hub();
    let socket = place.path("closed.sock");
    std::os::unix::fs::symlink(place.state().join("hub.sock"), &socket).unwrap();
    let args = [
        "--socket",
        socket.to_str().unwrap(),
        "notify",
        "--from",
        "w1",
        "done",
    ];
    let done = blocked(&place, &args).run();
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(!place.path("work/.hub").exists());
}

#[test]
fn the_sessions_given_status_file_takes_precedence() {
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
fn a_notification_without_a_state_is_spooled() {
    let place = Place::with_hub();
    let mine = place.path("work/mine");
    for args in [
        ["notify", "--from", "w1", "--type", "message", "x"],
        ["notify", "--from", "w1", "--to", "reviewer", "x"],
    ] {
        let call = blocked(&place, &args);
        if !mine.exists() {
            // A writable state directory, and the socket of a hub that may not be reached.
            fs::create_dir(&mine).unwrap();
            std::os::unix::fs::symlink(place.state().join("hub.sock"), mine.join("hub.sock"))
                .unwrap();
            if rustix::process::geteuid().is_root() {
                chown(&mine, Some(NOBODY), None).unwrap();
            }
        }
        let call = call.env("HUB_STATE_DIR", mine.to_str().unwrap());
        assert!(call.run().ok().stderr.contains("kept in the spool"));
    }
    assert_eq!(fs::read_dir(mine.join("spool")).unwrap().count(), 2);
    assert!(!place.path("work/.hub").exists());
}

#[test]
fn a_blocked_waiter_says_so_and_exits_at_once() {
    let place = Place::with_hub();
    let started = Instant::now();
    let done = blocked(&place, &["wait", "--timeout", "60"]).run();
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains("is blocked"), "{}", done.stderr);
    assert!(started.elapsed() < Duration::from_secs(40), "{done:?}");
}
