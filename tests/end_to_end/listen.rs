//! Being told of other sessions' stops.

use serde_json::json as value;

use crate::support::{Done, Place, until};

fn place() -> Place {
    let place = Place::with_hub();
    for session in ["lead", "w1"] {
        place.register(session, &value!({}));
    }
    place
}

fn say(place: &Place, kind: &str) {
    place
        .hubctl(&["notify", "--from", "w1", "--type", kind, "x"])
        .run()
        .ok();
}

fn lead(place: &Place, args: &[&str]) -> Done {
    place.hubctl(args).env("HUB_SESSION", "lead").run()
}

fn pending(place: &Place) -> u64 {
    place.session("lead")["pending"].as_u64().unwrap()
}

#[test]
fn a_listener_is_told_of_the_next_stop_once() {
    let place = place();
    say(&place, "working");
    let said = lead(&place, &["listen", "w1"]).ok().stdout;
    assert_eq!(said, "lead is told when w1 (now working) stops\n");
    let again = lead(&place, &["listen", "w1"]).ok().stdout;
    assert!(again.contains("already; nothing changed"), "{again}");
    say(&place, "done");
    assert_eq!(pending(&place), 1);
    say(&place, "working");
    say(&place, "done");
    assert_eq!(pending(&place), 1);
}

#[test]
fn who_has_stopped_already_is_told_of_at_once_unless_a_fresh_stop_is_wanted() {
    let place = place();
    say(&place, "done");
    let fresh = lead(&place, &["listen", "w1", "--fresh"]).ok().stdout;
    assert!(fresh.contains("is told when"), "{fresh}");
    assert_eq!(pending(&place), 0);
    let removed = lead(&place, &["unlisten", "w1"]).ok().stdout;
    assert_eq!(removed, "lead listens to w1 no longer\n");
    let again = lead(&place, &["unlisten", "w1"]).ok().stdout;
    assert_eq!(again, "lead listens to w1 not anyhow\n");
    let at_once = lead(&place, &["listen", "w1"]).ok().stdout;
    assert!(at_once.contains("told at once"), "{at_once}");
    assert_eq!(pending(&place), 1);
}

#[test]
fn one_bad_name_does_not_leave_the_others_out() {
    let place = place();
    let done = place.hubctl(&["listen", "nobody", "w1"]).run();
    assert_eq!(done.code, Some(1));
    assert!(done.stdout.contains("primary is told when w1"), "{done:?}");
}

#[test]
fn what_was_expected_and_did_not_come_is_told() {
    let place = place();
    lead(&place, &["expect", "backup", "--within", "1s"]).ok();
    until("lead is told", || pending(&place) == 1);
    let said = place.said();
    assert!(said.iter().any(|msg| msg.contains("backup")), "{said:?}");
}

#[test]
fn a_notification_may_make_its_sender_listen() {
    let place = place();
    say(&place, "done");
    lead(
        &place,
        &[
            "notify", "--to", "w1", "--type", "message", "--listen", "go on",
        ],
    )
    .ok();
    assert_eq!(pending(&place), 0, "the old stop does not count");
    assert_eq!(place.session("w1")["listeners"][0]["caller"], "lead");
    say(&place, "done");
    assert_eq!(pending(&place), 1);
    let nobody = lead(&place, &["notify", "--to", "nobody", "--listen", "x"]);
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    assert_eq!(lead(&place, &["notify", "--listen", "x"]).code, Some(64));
}
