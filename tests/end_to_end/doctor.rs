//! `hubctl doctor` and `hubctl wake-test`.

use serde_json::{Value, json as value};

use crate::support::{Call, Place, json, until};

fn findings(place: &Place) -> (Option<i32>, Vec<Value>) {
    let done = place.hubctl(&["doctor", "--json"]).run();
    let all = json(&done.stdout)["findings"].as_array().unwrap().clone();
    for it in &all {
        assert!(it["level"] == "ok" || it["todo"].is_string(), "{it}");
    }
    (done.code, all)
}

fn level(found: &[Value], what: &str) -> String {
    let mut texts = found.iter();
    let it = texts.find(|it| it["what"].as_str().unwrap().contains(what));
    let it = it.unwrap_or_else(|| panic!("{what}: {found:#?}"));
    it["level"].as_str().unwrap().to_owned()
}

#[test]
fn doctor_reports_a_missing_hub_and_the_spooled_notifications() {
    let place = Place::new();
    place.hubctl(&["notify", "x"]).run().ok();
    let (code, found) = findings(&place);
    assert_eq!(code, Some(1));
    assert_eq!(level(&found, "cannot be reached"), "PROBLEM");
    assert_eq!(level(&found, "the hub was down since 20"), "warn");
    let shown = place.hubctl(&["doctor"]).run().stdout;
    assert!(shown.contains("-> start it: hubctl up"), "{shown}");
}

#[test]
fn doctor_finds_no_problem_in_a_healthy_hub() {
    let place = Place::with_hub();
    let (code, found) = findings(&place);
    assert_eq!(code, Some(0), "{found:#?}");
    for sound in [
        "the hub answers",
        "the token",
        "version",
        place.url(),
        "clock agrees",
        "MiB",
        "spool",
    ] {
        assert_eq!(level(&found, sound), "ok", "{sound}");
    }
    assert_eq!(level(&found, "no agent's hooks"), "warn");
    assert_eq!(level(&found, "no waiter is connected"), "warn");
    let _waiter = place.waiter(place.hubctl(&["wait"]));
    assert_eq!(level(&findings(&place).1, "a waiter is connected"), "ok");
}

#[test]
fn a_token_that_others_can_read_is_a_problem() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with_hub();
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(place.state().join("token"), open).unwrap();
    let (code, found) = findings(&place);
    assert_eq!((code, level(&found, "token")), (Some(1), "PROBLEM".into()));
}

#[test]
fn hooks_count_as_working_after_a_first_session_and_two_installations_are_a_problem() {
    let place = Place::with_hub();
    place.hubctl(&["hooks", "install", "claude"]).run().ok();
    let silent = "but the hub knows no session";
    assert_eq!(level(&findings(&place).1, silent), "warn");
    hook(&place, "SessionStart").run().ok();
    assert_eq!(level(&findings(&place).1, "claude hooks fire"), "ok");
    let own = place.hubctl(&["doctor"]).env("HUB_SESSION", "s1");
    let own = own.run().ok().stdout;
    assert!(own.contains("nothing wakes this session, s1"), "{own}");
    let twice = ["hooks", "install", "claude", "--local"];
    place.hubctl(&twice).run().ok();
    let (code, found) = findings(&place);
    assert_eq!(code, Some(1));
    assert_eq!(level(&found, "installed twice"), "PROBLEM");
}

fn hook(place: &Place, event: &str) -> Call {
    let hook = value!({"hook_event_name": event, "session_id": "s1", "cwd": "/", "prompt": "<task-notification>"});
    let call = place.hubctl(&["hook", "claude", "--rewake"]);
    call.stdin(hook.to_string()).env("HUB_SESSION", "s1")
}

#[test]
fn a_wake_test_follows_the_wake_until_the_session_starts_a_turn() {
    let place = Place::with_hub();
    hook(&place, "SessionStart").run().ok();
    let rewake = place.hubctl(&["wait", "--rewake"]);
    let waiter = place.waiter(rewake.stdin(r#"{"session_id":"s1","cwd":"/"}"#));
    let test = place.hubctl(&["wake-test", "s1"]).spawn();
    let woken = waiter.end();
    assert_eq!(woken.code, Some(2), "{woken:?}");
    hook(&place, "UserPromptSubmit").run().ok();
    let done = test.end().ok();
    for step in [
        "stored",
        "emitted by rewake:",
        "acked by resumed",
        "woken: rewake showed it",
    ] {
        assert!(done.stdout.contains(step), "{step}: {done:?}");
    }
}

#[test]
fn a_wake_test_of_a_plain_reader_succeeds() {
    let place = Place::with_hub();
    let waiter = place.waiter(place.hubctl(&["wait"]));
    let done = place.hubctl(&["wake-test", "primary"]).run().ok();
    assert!(done.stdout.contains("arrived: "), "{done:?}");
    assert_eq!(waiter.end().ok().lines()[0]["from"], "wake-test");
}

#[test]
fn a_wake_test_of_a_session_without_a_waiter_says_what_to_do() {
    let place = Place::with_hub();
    place.register("w1", &value!({}));
    let done = place.hubctl(&["wake-test", "w1", "--patience", "0"]).run();
    assert_eq!(done.code, Some(1));
    assert!(
        done.stdout
            .contains("not woken: no waiter is connected to w1"),
        "{done:?}"
    );
    until("it is offered to nobody", || {
        place.session("w1").pending == 1
    });
    assert_eq!(place.hubctl(&["wake-test"]).run().code, Some(64));
}
