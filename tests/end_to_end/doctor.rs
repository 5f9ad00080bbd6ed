//! `hubctl doctor` and `hubctl wake-test`.

use serde_json::{Value, json as value};

use crate::support::{Call, Place, json, until};

/// Runs doctor, which must exit with `code`; returns its findings.
fn findings(place: &Place, code: i32) -> Vec<Value> {
    let done = place.hubctl("doctor --json").fails(code);
    let all = json(&done.stdout)["findings"].as_array().unwrap().clone();
    for it in &all {
        assert!(it["level"] == "ok" || it["todo"].is_string(), "{it}");
    }
    all
}

fn level<'a>(found: &'a [Value], what: &str) -> &'a str {
    let it = found
        .iter()
        .find(|it| it["what"].as_str().unwrap().contains(what));
    it.unwrap_or_else(|| panic!("{what}: {found:#?}"))["level"]
        .as_str()
        .unwrap()
}

#[test]
fn doctor_reports_a_missing_hub_and_the_spooled_notifications() {
    let place = Place::new();
    place.ctl("notify x");
    let found = findings(&place, 1);
    assert_eq!(level(&found, "cannot be reached"), "PROBLEM");
    assert_eq!(level(&found, "the hub was down since 20"), "warn");
    let done = place.hubctl("doctor").run();
    done.prints("-> start it: hubctl up");
}

#[test]
fn doctor_finds_no_problem_in_a_healthy_hub() {
    let place = Place::with_hub();
    let found = findings(&place, 0);
    let sound = [
        "the hub answers",
        "the token",
        "version",
        "clock agrees",
        "MiB",
        "spool",
    ];
    for sound in sound.into_iter().chain([place.url()]) {
        assert_eq!(level(&found, sound), "ok", "{sound}");
    }
    assert_eq!(level(&found, "no agent's hooks"), "warn");
    assert_eq!(level(&found, "no waiter is connected"), "warn");
    let _waiter = place.waiter("wait");
    assert_eq!(level(&findings(&place, 0), "a waiter is connected"), "ok");
}

#[test]
fn what_was_lost_unread_is_a_problem_until_a_person_has_settled_the_question_about_it() {
    let place = Place::with_settings(&["retention.max_bytes=200000"]);
    let doctor = || place.hubctl("doctor --json").run().stdout;
    let lost = "notifications that nobody had read were lost";
    until("something is evicted", || {
        place.ctl(format!("notify --to nobody {}", "x".repeat(20_000)));
        doctor().contains(lost)
    });
    until("a person is asked", || !place.questions().is_empty());
    assert_eq!(place.questions()[0].from.as_str(), "hub");
    until("nothing more is told", || {
        for it in place.questions() {
            place.hubctl(format!("answer {} --option 1", it.id)).run();
        }
        !doctor().contains(lost)
    });
}

#[test]
fn doctor_shows_how_each_forward_is_doing() {
    // Nothing listens on port 1.
    let forward = "[[forward]]\nname='chat'\nkind='slack'\nurl='http://127.0.0.1:1/'";
    let place = Place::with_config(forward);
    let sound = "the forward chat is";
    assert_eq!(level(&findings(&place, 0), sound), "ok");
    place.ctl("notify --type error x");
    until("the forward fails", || {
        let found = value!(findings(&place, 0)).to_string();
        found.contains("the forward chat: ") && found.contains("Connection refused")
    });
}

#[test]
fn a_token_that_others_can_read_is_a_problem() {
    let place = Place::with_hub();
    place.chmod("state/token", 0o644);
    assert_eq!(level(&findings(&place, 1), "token"), "PROBLEM");
}

#[test]
fn hooks_count_as_working_after_a_first_session_and_two_installations_are_a_problem() {
    let place = Place::with_hub();
    place.ctl("hooks install claude");
    let silent = "but the hub knows no session";
    assert_eq!(level(&findings(&place, 0), silent), "warn");
    hook(&place, "SessionStart").ok();
    assert_eq!(level(&findings(&place, 0), "claude hooks fire"), "ok");
    let own = place.by("s1", "doctor").ok();
    own.prints("nothing wakes this session, s1");
    place.ctl("hooks install claude --local");
    assert_eq!(level(&findings(&place, 1), "installed twice"), "PROBLEM");
}

fn hook(place: &Place, event: &str) -> Call {
    let hook = value!({"hook_event_name": event, "session_id": "s1", "cwd": "/",
        "prompt": "<task-notification>"});
    let call = place.by("s1", "hook claude --rewake");
    call.stdin(hook.to_string())
}

#[test]
fn a_wake_test_follows_the_wake_until_the_session_starts_a_turn() {
    let place = Place::with_hub();
    hook(&place, "SessionStart").ok();
    let rewake = place.hubctl("wait --rewake");
    let waiter = place.registered(rewake.stdin(r#"{"session_id":"s1","cwd":"/"}"#));
    let test = place.hubctl("wake-test s1").spawn();
    waiter.end().exits(2);
    hook(&place, "UserPromptSubmit").ok();
    let done = test.end().ok().prints("stored");
    let done = done.prints("emitted by rewake:");
    done.prints("acked by resumed")
        .prints("woken: rewake showed it");
}

#[test]
fn a_wake_test_of_a_plain_reader_succeeds() {
    let place = Place::with_hub();
    let waiter = place.waiter("wait");
    place.ctl("wake-test primary").prints("arrived: ");
    assert_eq!(waiter.end().ok().lines()[0]["from"], "wake-test");
}

#[test]
fn a_wake_test_of_a_session_without_a_waiter_says_what_to_do() {
    let place = Place::with_hub();
    place.sessions(&["w1"]);
    let done = place.hubctl("wake-test w1 --patience 0").fails(1);
    done.prints("not woken: no waiter is connected to w1");
    until("it is offered to nobody", || {
        place.session("w1").pending == 1
    });
    place.hubctl("wake-test").fails(64);
}
