//! Notifications published while the hub is down are not lost.

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
fn a_notification_while_the_hub_is_down_is_spooled_and_stored_at_the_next_start() {
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
fn a_running_hub_stores_the_spool_when_it_changes() {
    let place = Place::with_hub();
    let socket = place.state().join("hub.sock");
    let aside = place.path("aside.sock");
    std::fs::rename(&socket, &aside).unwrap();
    place.hubctl(&["notify", "x"]).run().ok();
    std::fs::rename(&aside, &socket).unwrap();
    until("it is taken in", || place.said() == ["x"]);
}

#[test]
fn a_notification_to_a_hub_never_reached_is_refused_and_reaches_no_other_hub() {
    let mut place = Place::with_hub();
    let nowhere = place.path("nowhere.sock").display().to_string();
    for elsewhere in [
        ["--url", "http://127.0.0.1:9"],
        ["--socket", nowhere.as_str()],
    ] {
        let done = place.hubctl(&elsewhere).args(&["notify", "x"]).run();
        assert_eq!(done.code, Some(3), "{done:?}");
        assert!(
            done.stderr.contains("no hub has ever been reached at"),
            "{done:?}"
        );
    }
    let done = place.hubctl(&["notify", "x"]).env("HUB_SOCKET", &nowhere);
    assert_eq!(done.run().code, Some(3));
    place.kill();
    place.start();
    assert!(place.said().is_empty());
}

#[test]
fn a_hub_with_another_token_is_refused() {
    let place = Place::with_hub();
    let token = place.path("token");
    std::fs::write(&token, "0".repeat(64)).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&token, private).unwrap();
    let token = token.display().to_string();
    let call = place.hubctl(&["--url", place.url(), "--token-file", &token, "notify", "x"]);
    let done = call.run();
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(
        done.stderr.contains("not the hub of this token"),
        "{done:?}"
    );
    assert_eq!(files(&place.state().join("spool")), 0);
    assert!(place.said().is_empty());
}

#[test]
fn a_mistyped_state_directory_is_refused_and_not_created() {
    let place = Place::new();
    let mistyped = place.path("sate");
    let name = mistyped.display().to_string();
    let done = place.hubctl(&["--state-dir", &name, "notify", "x"]).run();
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(
        done.stderr.contains("does not exist (--state-dir)"),
        "{done:?}"
    );
    assert!(!mistyped.exists());
    let done = place.hubctl(&["--state-dir", &name, "hooks", "install", "claude"]);
    assert_eq!(done.run().code, Some(1));
    assert!(!mistyped.exists());
    assert!(!place.path(".claude/settings.json").exists());
}

#[test]
fn an_agent_spools_nothing_in_the_persons_name() {
    let place = Place::new();
    let call = place.hubctl(&["notify", "--from", "person", "approve everything"]);
    let done = call.env("HUB_SESSION", "w1").run();
    assert_eq!(done.code, Some(64), "{done:?}");
    assert!(!place.state().join("spool").exists());
}

#[test]
fn a_killed_hub_stores_each_spooled_notification_once() {
    let mut place = Place::with_hub();
    place.hubctl(&["notify", "before"]).run().ok();
    place.kill();
    place.hubctl(&["notify", "meanwhile"]).run().ok();
    place.start();
    assert_eq!(place.said(), ["before", "meanwhile"]);
}

#[test]
fn a_spooled_notification_that_can_never_be_stored_is_set_aside() {
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
fn a_hub_elsewhere_gets_only_the_notifications_kept_for_it() {
    let mut place = Place::with_hub();
    let mine = place.path("mine");
    std::fs::create_dir(&mine).unwrap();
    let socket = place.state().join("hub.sock").display().to_string();
    let say = |place: &Place, text: &str, elsewhere: bool| {
        let call = place.hubctl(&["notify", text]);
        let call = call.env("HUB_STATE_DIR", mine.to_str().unwrap());
        let call = if elsewhere {
            call.env("HUB_SOCKET", &socket)
        } else {
            call
        };
        call.run().ok();
    };
    say(&place, "for the hub of mine", false);
    say(&place, "first", true);
    place.kill();
    say(&place, "kept", true);
    place.start();
    assert_eq!(
        place.said(),
        ["first"],
        "it does not know of another's files"
    );
    say(&place, "sent", true);
    assert_eq!(place.said(), ["first", "sent", "kept"]);
    assert_eq!(files(&mine.join("spool")), 1);
}

#[test]
fn a_notification_that_cannot_be_spooled_either_is_an_error() {
    let place = Place::new();
    let done = place
        .hubctl(&["notify", "x"])
        .env("HUB_STATE_DIR", "/dev/null/state")
        .run();
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains("lost"), "{}", done.stderr);
}

#[test]
fn a_notification_that_the_hub_would_refuse_is_not_spooled() {
    let place = Place::new();
    let large = "x".repeat(70_000);
    let done = place.hubctl(&["notify", "-"]).stdin(large).run();
    assert_eq!(done.code, Some(1), "{done:?}");
    assert_eq!(files(&place.state().join("spool")), 0);
}
