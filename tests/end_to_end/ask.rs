//! Questions and answers.

use serde_json::{Value, json as value};

use crate::support::{Call, Place, until};

fn place() -> Place {
    let place = Place::with_hub();
    for session in ["lead", "w1"] {
        place.register(session, &value!({}));
    }
    place
}

fn w1(place: &Place, args: &[&str]) -> Call {
    place.hubctl(args).env("HUB_SESSION", "w1")
}

/// Asks, and gives the question's number.
fn asked(place: &Place, args: &[&str]) -> String {
    w1(place, args).run().ok().stdout.trim().to_owned()
}

/// The open question, once it is asked.
fn open(place: &Place) -> Value {
    let mut open = Value::Null;
    until("it is asked", || {
        open = place.hubctl(&["questions", "--json"]).run().json()["questions"][0].clone();
        !open.is_null()
    });
    open
}

fn pending(place: &Place, session: &str) -> u64 {
    place.session(session)["pending"].as_u64().unwrap()
}

#[test]
fn whoever_waits_for_the_answer_gets_it_and_it_comes_once() {
    let place = place();
    let args = [
        "ask",
        "--wait",
        "60",
        "Which db?",
        "--option",
        "postgres",
        "--option",
        "sqlite",
    ];
    let asker = w1(&place, &args).spawn();
    let open = open(&place);
    assert_eq!(open["from"], "w1");
    let listed = place.hubctl(&["questions"]).run().ok().stdout;
    assert!(
        listed.contains("Which db?  [1] postgres  [2] sqlite"),
        "{listed}"
    );
    let id = open["id"].to_string();
    place.hubctl(&["answer", &id, "--option", "2"]).run().ok();
    let done = asker.end().ok();
    assert_eq!(done.stdout, "sqlite\n");
    assert_eq!(pending(&place, "w1"), 0, "it is acknowledged");
}

#[test]
fn an_answer_that_nobody_reads_any_more_stays_pending() {
    let place = place();
    for json in ["--json", "--"] {
        let mut asker = w1(&place, &["ask", "--wait", "60", json, "Why?"]).spawn();
        drop(asker.stdout());
        let id = open(&place)["id"].to_string();
        place.hubctl(&["answer", &id, "because"]).run().ok();
        assert_eq!(asker.end().code, Some(1));
    }
    assert_eq!(pending(&place, "w1"), 2);
}

#[test]
fn when_the_time_is_over_the_answer_comes_to_the_inbox() {
    let place = place();
    let done = w1(&place, &["ask", "--wait", "0", "Why?"]).run().ok();
    assert!(done.stdout.is_empty(), "{done:?}");
    assert!(
        done.stderr
            .contains("still open, the answer will come to your inbox"),
        "{done:?}"
    );
    let open = place.hubctl(&["questions", "--json"]).run().json();
    let id = open["questions"][0]["id"].to_string();
    place.hubctl(&["answer", &id, "because"]).run().ok();
    assert_eq!(pending(&place, "w1"), 1);
}

#[test]
fn the_second_answer_is_told_who_was_first_and_what_was_said() {
    let place = place();
    let id = asked(&place, &["ask", "Why?"]);
    let first = place.hubctl(&["answer", &id, "because", "so"]);
    first.env("HUB_SESSION", "lead").run().ok();
    let second = place.hubctl(&["answer", &id, "no idea"]).run();
    assert_eq!(second.code, Some(1));
    let expected = format!("too late: question {id} is answered by lead: because so");
    assert!(second.stderr.contains(&expected), "{second:?}");
}

#[test]
fn an_approval_is_given_by_a_person() {
    let place = place();
    let id = asked(&place, &["ask", "--approval", "May I?"]);
    let answer = || place.hubctl(&["answer", &id, "deny: not now"]);
    assert_eq!(answer().env("HUB_SESSION", "lead").run().code, Some(1));
    answer().run().ok();
    let all = place.hubctl(&["questions", "--all", "--json"]).run().json();
    let question = &all["questions"][0];
    assert_eq!(question["type"], "approval");
    assert_eq!(question["by"], "person");
    assert_eq!(question["answer"], "deny: not now");
}

#[test]
fn a_question_is_claimed_and_taken_back() {
    let place = place();
    let id = asked(&place, &["ask", "--key", "k", "Why?"]);
    let state = || {
        let all = place.hubctl(&["questions", "--all", "--json"]).run().json();
        all["questions"][0]["state"].as_str().unwrap().to_owned()
    };
    place.hubctl(&["acknowledge", &id]).run().ok();
    assert_eq!(state(), "claimed");
    w1(&place, &["withdraw", &id]).run().ok();
    assert_eq!(state(), "withdrawn");
    let late = w1(&place, &["withdraw", &id]).run();
    assert_eq!(late.code, Some(1));
    assert!(late.stderr.contains("withdrawn by w1"), "{late:?}");
}

#[test]
fn who_has_no_name_is_told_where_the_answer_goes() {
    let place = Place::with_hub();
    let done = place.hubctl(&["ask", "Why?"]).run().ok();
    assert!(done.stderr.contains("'unknown'; --from"), "{done:?}");
}

#[test]
fn an_option_that_is_not_offered_is_refused() {
    let place = place();
    let id = asked(&place, &["ask", "Which?", "--option", "2", "--option", "1"]);
    let bad = place.hubctl(&["answer", &id, "--option", "3"]).run();
    assert_eq!(bad.code, Some(64), "{bad:?}");
    // A text goes before a number.
    let done = place.hubctl(&["answer", &id, "--option", "1"]).run().ok();
    assert_eq!(done.stdout, format!("answered {id}: 1\n"));
}

#[test]
fn an_answer_that_reaches_nobody_is_said_to() {
    let place = Place::with_hub();
    let asks = r#"{"session_id":"w1","cwd":"/r/w1","hook_event_name":"PreToolUse","tool_name":"AskUserQuestion",
        "tool_input":{"questions":[{"question":"Which db?","options":[{"label":"postgres"}]}]}}"#;
    place.hubctl(&["hook", "claude"]).stdin(asks).run().ok();
    let open = place
        .hubctl(&["questions", "--all-projects", "--json"])
        .run()
        .ok();
    let id = open.json()["questions"][0]["id"].to_string();
    let done = place.hubctl(&["answer", &id, "postgres"]).run().ok();
    let said = "who asked does not get it from the hub: answer where it runs";
    assert!(
        done.stderr.contains(said) && done.stderr.contains("/r/w1"),
        "{done:?}"
    );
    let id = place
        .hubctl(&["ask", "--from", "w2", "Why?"])
        .run()
        .ok()
        .stdout;
    let done = place.hubctl(&["answer", id.trim(), "because"]).run().ok();
    assert_eq!(done.stderr, "", "{done:?}");
}
