//! Dialogs in an agent's own terminal: only the terminal can answer them, and Escape closes them.

use hub_harness::Hub;
use hub_harness::model::{Reply, rules};
use serde_json::json;

use crate::support::{Claude, InstalledHub, colours};

const MENU: &str = "Enter to select";

fn start(hub: &InstalledHub, script: &[(&'static str, Reply)]) -> Claude {
    let claude = hub.claude(rules(script.to_vec())).start();
    hub.waiter("primary", "rewake");
    claude
}

#[test]
fn a_dialog_is_answered_from_elsewhere_and_the_model_and_the_terminal_get_the_answer() {
    let hub = InstalledHub::new();
    let claude = start(&hub, &[("Hello", colours())]);
    claude.submit("Hello");
    let question = hub.question();
    assert_eq!(
        (&question["deliverable"], &question["options"]),
        (&json!(true), &json!(["Red", "Blue"]))
    );
    claude.until_shown(MENU);
    hub.hubctl(&["answer", &question["id"].to_string(), "Blue"]);
    claude.model.until_received("\"Which colour?\"=\"Blue\"");
    claude.until_shown("Which colour? → Blue");
    hub.published("Agent main completed");
    hub.waiter("primary", "rewake");
    assert_eq!(
        claude.model.requests().len(),
        2,
        "the answer itself started no turn"
    );
}

#[test]
fn several_questions_of_a_dialog_are_answered_together() {
    let hub = InstalledHub::new();
    let option = |label: &str| json!({"label": label, "description": label});
    let question = |text: &str, several: bool| {
        let options = [option("Small"), option("Large")];
        json!({"question": text, "header": "Size", "multiSelect": several, "options": options})
    };
    let questions = [
        question("Which size?", false),
        question("Which others?", true),
    ];
    let asks = Reply::tool("AskUserQuestion", json!({"questions": questions}));
    let claude = start(&hub, &[("Hello", asks)]);
    claude.submit("Hello");
    let question = hub.question();
    let said = question["msg"].as_str().expect("a text");
    assert!(
        said.contains("1. Which size? (Small / Large) 2. Which others?"),
        "{said}"
    );
    let id = question["id"].to_string();
    hub.hubctl(&["answer", &id, "--each", "Large", "--each", "Small, Large"]);
    let told = claude.model.until_received("\"Which size?\"=\"Large\"");
    assert_eq!(
        told.count_new("\"Which others?\"=\"Small, Large\""),
        1,
        "{:?}",
        told.new_texts
    );
}

#[test]
fn a_dialog_that_was_answered_in_its_terminal_takes_no_other_answer() {
    let hub = InstalledHub::new();
    let claude = start(&hub, &[("Hello", colours())]);
    claude.submit("Hello");
    let id = hub.question()["id"].to_string();
    claude.confirm(MENU);
    claude.model.until_received("Red");
    hub.published("Agent main completed");
    assert!(hub.open_questions().is_empty());
    let said = hub.refused(&["answer", &id, "Blue"]);
    assert!(said.contains("is settled in its terminal"), "{said}");
    hub.waiter("primary", "rewake");
    assert_eq!(claude.model.requests().len(), 2, "nothing was told later");
}

#[test]
fn an_answer_to_a_permission_that_the_hub_does_not_hold_is_refused_with_the_place() {
    let hub = InstalledHub::with(Hub::builder().set("approvals=false"));
    let script = [("Hello", Reply::bash("touch there"))];
    let claude = start(&hub, &script);
    claude.submit("Hello");
    let id = hub.question()["id"].to_string();
    hub.refused(&["answer", &id, "allow"]);
    claude.confirm("Do you want to proceed");
    hub.published("Agent main completed");
    assert!(hub.project().join("there").exists());
    assert_eq!(hub.all_published("needs a permission", 1).len(), 1);
}

#[test]
fn a_held_permission_is_delivered_once_and_its_answer_starts_no_turn() {
    let hub = InstalledHub::new();
    let script = [
        ("First", Reply::bash("touch first")),
        ("Second", Reply::bash("touch second")),
    ];
    let claude = start(&hub, &script);
    let answers = [("First", "allow"), ("Second", "deny: not this one")];
    for (done, (prompt, answer)) in (1..).zip(answers) {
        claude.submit(prompt);
        let question = hub.question();
        // Meanwhile Claude Code shows its own dialog, and reports it by a hook after some seconds.
        hub.hubctl(&["answer", &question["id"].to_string(), answer]);
        hub.all_published("Agent main completed", done);
        hub.waiter("primary", "rewake");
    }
    assert!(hub.project().join("first").exists());
    assert!(!hub.project().join("second").exists());
    claude.model.until_received("not this one");
    // Two turns of two requests each, because the answer itself started no turn.
    hub.send("primary", "tester", "the end");
    let last = claude.model.until_received("the end");
    assert_eq!(last.number, 4, "{:?}", last.texts);
    assert_eq!(last.contains("\"type\":\"answer\""), 0);
    claude.model.received_once("not this one");
    assert_eq!(hub.all_published("needs a permission", 2).len(), 2);
}

#[test]
fn escape_in_a_turn_is_reported_at_once() {
    let hub = InstalledHub::new();
    hub.hooks_allowing(&[], "Bash");
    let script = [(
        "Hello",
        Reply::bash("echo begun; read x < /dev/zero; sleep 600"),
    )];
    let claude = start(&hub, &script);
    claude.submit("Hello");
    hub.state("main", "working");
    claude.model.until_received("Hello");
    claude.press_away("Escape", "esc to interrupt");
    hub.state("main", "waiting");
    let id = hub.published("Agent main was interrupted");
    // The session is the primary itself, so the notification is delivered to no inbox.
    assert!(hub.trace(id)[0]["inbox"].is_null());
    claude.submit("Hello again, and do nothing");
    hub.state("main", "working");
}

#[test]
fn escape_in_a_dialog_closes_its_question_at_once() {
    let hub = InstalledHub::new();
    let script = [("Ask", colours()), ("Touch", Reply::bash("touch there"))];
    let claude = start(&hub, &script);
    for (prompt, dialog) in [("Ask", MENU), ("Touch", "Do you want to proceed")] {
        claude.submit(prompt);
        let id = hub.question()["id"].as_u64().expect("an id");
        hub.state("main", "blocked");
        claude.press_away("Escape", dialog);
        hub.state("main", "waiting");
        assert_eq!(hub.step(id, "settled")["by"], "resumed");
        assert!(hub.open_questions().is_empty());
    }
}

#[test]
fn the_person_sees_which_sender_woke_the_session_and_with_which_text() {
    let hub = InstalledHub::new();
    let claude = start(&hub, &[]);
    hub.post(json!({"from": "ci", "type": "error", "msg": "main is red\nsince the last merge"}));
    claude.model.until_received("main is red");
    claude.until_shown("Notifications from the hub");
    claude.until_shown("ci, error: main is red");
    hub.waiter("primary", "rewake");
    claude.model.received_once("main is red");
}
