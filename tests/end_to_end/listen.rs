//! `hubctl listen` and `hubctl expect`: notifications of other sessions' stops.

use serde_json::json as value;

use crate::support::{Done, Place, until};

fn place() -> Place {
    let place = Place::with_hub();
    place.sessions(&["lead", "w1"]);
    place
}

fn say(place: &Place, kind: &str) {
    place.ctl(format!("notify --from w1 --type {kind} x"));
}

fn lead(place: &Place, line: &str) -> Done {
    place.by("lead", line).ok()
}

fn pending(place: &Place) -> u64 {
    place.session("lead").pending
}

#[test]
fn a_listener_gets_the_next_stop_once() {
    let place = place();
    say(&place, "working");
    let said = lead(&place, "listen w1").stdout;
    assert_eq!(said, "lead will be notified when w1 (now working) stops\n");
    lead(&place, "listen w1").prints("already listens to w1 (now working)");
    for _ in 0..2 {
        say(&place, "done");
        assert_eq!(pending(&place), 1);
        say(&place, "working");
    }
}

#[test]
fn a_listener_gets_a_past_stop_at_once_unless_it_wants_a_fresh_one() {
    let place = place();
    say(&place, "done");
    lead(&place, "listen w1 --fresh").prints("will be notified when");
    assert_eq!(pending(&place), 0);
    for said in [
        "lead no longer listens to w1\n",
        "lead was not listening to w1\n",
    ] {
        assert_eq!(lead(&place, "unlisten w1").stdout, said);
    }
    lead(&place, "listen w1").prints("notified at once");
    assert_eq!(pending(&place), 1);
}

#[test]
fn one_bad_name_does_not_prevent_the_other_listeners() {
    let done = place().hubctl("listen nobody w1").fails(1);
    done.prints("primary will be notified when w1");
}

#[test]
fn an_expected_stop_that_is_late_is_reported() {
    let place = place();
    lead(&place, "expect backup --within 1s");
    until("lead is told", || pending(&place) == 1);
    let said = place.said();
    assert!(said.iter().any(|msg| msg.contains("backup")), "{said:?}");
}

#[test]
fn a_notification_can_add_a_listener_for_its_sender() {
    let place = place();
    say(&place, "done");
    lead(&place, "notify --to w1 --type message --listen 'go on'");
    assert_eq!(pending(&place), 0, "the old stop does not count");
    assert_eq!(place.session("w1").listeners[0].caller.as_str(), "lead");
    say(&place, "done");
    assert_eq!(pending(&place), 1);
    place.by("lead", "notify --to nobody --listen x").fails(1);
    place.by("lead", "notify --listen x").fails(64);
}

/// Lets the primary wait and listen while `then` acts; returns the lines that the wait printed.
fn primary_hears(line: &str, then: impl FnOnce(&Place)) -> Vec<String> {
    let place = place();
    place.register("boss", &value!({"role": "primary"}));
    let wait = place.registered(place.by("boss", "wait --timeout 30"));
    place.by("boss", line).ok();
    then(&place);
    wait.end().ok().messages()
}

#[test]
fn a_listening_primary_is_woken_by_a_stop_that_otherwise_wakes_nobody() {
    let heard = primary_hears("listen w1 --fresh", |place| {
        place.ctl("notify --from w1 --type complete --priority low done");
    });
    assert_eq!(heard, ["done"]);
}

#[test]
fn a_listening_primary_is_woken_at_the_deadline() {
    let heard = primary_hears("listen w1 --within 1", |_| ());
    assert_eq!(heard.len(), 1);
    assert!(heard[0].starts_with("Expected w1 within 1 s"), "{heard:?}");
}
