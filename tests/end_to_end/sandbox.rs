//! `hubctl notify` in a sandbox without sockets: it writes a status file.

use std::os::unix::fs::{chown, symlink};
use std::path::Path;

use crate::support::{Call, Place};

/// The uid of a user who may not use the hub's socket.
const NOBODY: u32 = 65_534;

/// Returns a call of hubctl that may not connect, in the worktree `work`. Only another uid restricts root.
fn blocked(place: &Place, line: &str) -> Call {
    for dir in ["work/.git/objects", "work/.git/refs"] {
        place.dir(dir);
    }
    place.write("work/.git/HEAD", "ref: refs/heads/main\n");
    if !rustix::process::geteuid().is_root() {
        place.chmod("state/hub.sock", 0);
        return place.hubctl(line);
    }
    place.chmod(".", 0o755);
    chown(place.path("work"), Some(NOBODY), None).unwrap();
    // The build directory may be closed to other users.
    let hubctl = place.install(Path::new(env!("CARGO_BIN_EXE_hubctl")), "hubctl");
    let user = format!("--reuid={NOBODY} --regid={NOBODY} --clear-groups");
    place.sh(&format!("exec setpriv {user} {} {line}", hubctl.display()))
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
        let notify = format!("notify --from w1 --type {kind} 'Which\nport?'");
        blocked(&place, &notify).ok().warns(".hub/status/w1");
        let expected = format!("{word} Which port?\n");
        assert_eq!(place.read("work/.hub/status/w1"), expected);
    }
}

#[test]
fn a_state_for_another_hub_is_not_written_where_this_machines_hub_reads_it() {
    let place = Place::with_hub();
    let socket = place.path("closed.sock");
    symlink(place.path("state/hub.sock"), &socket).unwrap();
    let notify = format!("--socket {} notify --from w1 done", socket.display());
    blocked(&place, &notify).fails(3);
    assert!(!place.has("work/.hub"));
}

#[test]
fn the_sessions_given_status_file_takes_precedence() {
    let place = Place::with_hub();
    for line in ["notify done", "notify --from w2 else"] {
        let call = blocked(&place, line).env("HUB_SESSION", "w1");
        call.env("HUB_STATUS_FILE", place.path("work/w1")).ok();
        assert_eq!(place.read("work/w1"), "completed done\n");
    }
    assert!(place.has("work/.hub/status/w2"));
}

#[test]
fn a_notification_without_a_state_is_spooled() {
    let place = Place::with_hub();
    let mine = place.path("work/mine");
    for options in ["--type message", "--to reviewer"] {
        let call = blocked(&place, &format!("notify --from w1 {options} x"));
        if !mine.exists() {
            // A writable state directory, and the socket of a hub that may not be reached.
            symlink(
                place.path("state/hub.sock"),
                place.dir("work/mine").join("hub.sock"),
            )
            .unwrap();
            if rustix::process::geteuid().is_root() {
                chown(&mine, Some(NOBODY), None).unwrap();
            }
        }
        let done = call.env("HUB_STATE_DIR", &mine).ok();
        done.warns("kept in the spool");
    }
    assert_eq!(place.files("work/mine/spool"), 2);
    assert!(!place.has("work/.hub"));
}

#[test]
fn a_blocked_waiter_says_so_and_exits() {
    let place = Place::with_hub();
    blocked(&place, "wait --timeout 3600")
        .fails(3)
        .warns("is blocked");
}
