//! `hubctl listen` and `hubctl expect`: notifications of other sessions' stops.

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
    place.session("lead").pending
}

#[test]
fn a_listener_gets_the_next_stop_once() {
    let place = place();
    say(&place, "working");
    let said = lead(&place, &["listen", "w1"]).ok().stdout;
    assert_eq!(said, "lead will be notified when w1 (now working) stops\n");
    let again = lead(&place, &["listen", "w1"]).ok().stdout;
    assert!(
        again.contains("already listens to w1 (now working)"),
        "{again}"
    );
    say(&place, "done");
    assert_eq!(pending(&place), 1);
    say(&place, "working");
    say(&place, "done");
    assert_eq!(pending(&place), 1);
}

#[test]
fn a_listener_gets_a_past_stop_at_once_unless_it_wants_a_fresh_one() {
    let place = place();
    say(&place, "done");
    let fresh = lead(&place, &["listen", "w1", "--fresh"]).ok().stdout;
    assert!(fresh.contains("will be notified when"), "{fresh}");
    assert_eq!(pending(&place), 0);
    let removed = lead(&place, &["unlisten", "w1"]).ok().stdout;
    assert_eq!(removed, "lead no longer listens to w1\n");
    let again = lead(&place, &["unlisten", "w1"]).ok().stdout;
    assert_eq!(again, "lead was not listening to w1\n");
    let at_once = lead(&place, &["listen", "w1"]).ok().stdout;
    assert!(at_once.contains("notified at once"), "{at_once}");
    assert_eq!(pending(&place), 1);
}

#[test]
fn one_bad_name_does_not_prevent_the_other_listeners() {
    let place = place();
    let done = place.hubctl(&["listen", "nobody", "w1"]).run();
    assert_eq!(done.code, Some(1));
    assert!(
        done.stdout.contains("primary will be notified when w1"),
        "{done:?}"
    );
}

#[test]
fn an_expected_stop_that_is_late_is_reported() {
    let place = place();
    lead(&place, &["expect", "backup", "--within", "1s"]).ok();
    until("lead is told", || pending(&place) == 1);
    let said = place.said();
    assert!(said.iter().any(|msg| msg.contains("backup")), "{said:?}");
}

#[test]
fn a_notification_can_add_a_listener_for_its_sender() {
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
    assert_eq!(place.session("w1").listeners[0].caller.as_str(), "lead");
    say(&place, "done");
    assert_eq!(pending(&place), 1);
    let nobody = lead(&place, &["notify", "--to", "nobody", "--listen", "x"]);
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    assert_eq!(lead(&place, &["notify", "--listen", "x"]).code, Some(64));
}

#[test]
fn a_stop_without_a_type_meets_the_expectation() {
    let place = place();
    lead(&place, &["expect", "backup", "--within", "1h"]).ok();
    place
        .hubctl(&["notify", "--from", "backup", "done"])
        .run()
        .ok();
    assert_eq!(pending(&place), 1);
    let last = place.said().pop().unwrap();
    assert!(last.contains("backup finished"), "{last}");
}

/// Lets the primary wait and listen while `then` acts; returns the lines that the wait printed.
fn primary_hears(args: &[&str], then: impl FnOnce(&Place)) -> Vec<String> {
    let place = place();
    place.register("boss", &value!({"role": "primary"}));
    let boss = |args: &[&str]| place.hubctl(args).env("HUB_SESSION", "boss");
    let wait = place.waiter(boss(&["wait", "--timeout", "30"]));
    boss(args).run().ok();
    then(&place);
    wait.end().ok().messages()
}

#[test]
fn a_listening_primary_is_woken_by_a_stop_that_otherwise_wakes_nobody() {
    let heard = primary_hears(&["listen", "w1", "--fresh"], |place| {
        let args = [
            "notify",
            "--from",
            "w1",
            "--type",
            "complete",
            "--priority",
            "low",
            "done",
        ];
        place.hubctl(&args).run().ok();
    });
    assert_eq!(heard, ["done"]);
}

#[test]
fn a_listening_primary_is_woken_at_the_deadline() {
    let heard = primary_hears(&["listen", "w1", "--within", "1"], |_| ());
    assert_eq!(heard.len(), 1);
    assert!(heard[0].starts_with("Expected w1 within 1 s"), "{heard:?}");
}

#[test]
fn an_expected_name_does_not_match_a_session_with_a_longer_name() {
    let place = place();
    place.register("build-2", &value!({}));
    let told = lead(&place, &["expect", "build", "--within", "1h"]).ok();
    assert_eq!(told.stdout, "lead will be notified when build stops\n");
    for (session, count) in [("build-2", 0), ("build", 1)] {
        let done = ["notify", "--from", session, "--type", "complete", "x"];
        place.hubctl(&done).run().ok();
        assert_eq!(pending(&place), count, "{session}");
    }
}
