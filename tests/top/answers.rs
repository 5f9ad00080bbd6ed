//! Answers by keys.

use hub_harness::until;
use serde_json::json;

use crate::stage::{Stage, decide};

#[test]
fn a_question_is_answered_by_the_digit_of_its_option() {
    let stage = Stage::new();
    let id = stage.ask("w1", "Which db?", &["postgres", "sqlite"]);
    let pane = stage.top();
    pane.until("the question is shown", |text| text.contains("2 sqlite"));
    decide(&pane, "2", "→ sqlite in");
    assert_eq!(
        stage.call(stage.client.question(id))["state"],
        "open",
        "it can be undone"
    );
    decide(&pane, "Enter", "w1 – sqlite:");
    let question = stage.call(stage.client.question(id));
    assert_eq!(
        (&question["answer"], &question["by"]),
        (&json!("sqlite"), &json!("person"))
    );
}

#[test]
fn an_answer_is_sent_by_itself_unless_it_is_undone() {
    let stage = Stage::new();
    let kept = stage.ask("w1", "First?", &["yes"]);
    let undone = stage.ask("w2", "Second?", &["yes"]);
    let pane = stage.top();
    pane.until("both are shown", |text| text.contains("Second?"));
    decide(&pane, "1", "→ yes in");
    pane.press(&["j"]);
    pane.until("the second is selected", |text| {
        text.contains("w2 · question")
    });
    decide(&pane, "1", "yes – will be sent");
    decide(&pane, "u", "Not sent: yes");
    pane.until("the first answer is sent", |text| {
        text.contains("w1 – yes:")
    });
    assert_eq!(stage.call(stage.client.question(kept))["answer"], "yes");
    assert_eq!(stage.call(stage.client.question(undone))["state"], "open");
}

#[test]
fn a_permission_is_approved_and_another_denied_with_a_reason() {
    let stage = Stage::new();
    let pane = stage.top();
    let allowed = stage.ask_permission("make all");
    pane.until("the command and its directory are shown", |text| {
        text.contains("make all") && text.contains("in /r/w1")
    });
    decide(&pane, "a", "allow – will be sent");
    decide(&pane, "Enter", "w1 – allow:");
    let reply = allowed.join().expect("a reply");
    assert_eq!(reply["hookSpecificOutput"]["decision"]["behavior"], "allow");

    let denied = stage.ask_permission("git push --force");
    pane.until("the next is shown with its risk", |text| {
        text.contains("git push --force") && text.contains("⚠ force-push")
    });
    decide(&pane, "d", "Deny, reason (optional):");
    pane.type_in("not on main");
    pane.press(&["Enter"]);
    pane.until("it is held back", |text| {
        text.contains("deny: not on main – will be sent")
    });
    // The end of the program sends what is held back.
    pane.press(&["q"]);
    let reply = denied.join().expect("a reply");
    let decision = &reply["hookSpecificOutput"]["decision"];
    assert_eq!(decision["behavior"], "deny");
    assert!(decision.to_string().contains("not on main"), "{decision}");
    // tmux does not always learn the exit code.
    assert!(matches!(pane.until_ended(), 0 | -1));
}

#[test]
fn each_question_of_a_dialog_gets_its_own_answer() {
    let stage = Stage::new();
    let pane = stage.top();
    let options = |all: [&str; 2]| all.map(|it| json!({ "label": it, "description": "d" }));
    let questions = json!([
        { "question": "Which file wins?", "options": options(["Keep both; rename mine", "Theirs"]) },
        { "question": "Which checks?", "options": options(["unit", "fuzz"]), "multiSelect": true },
        { "question": "Push?", "options": options(["Yes", "No"]) },
    ]);
    let asks = stage.ask_tool("AskUserQuestion", &json!({ "questions": questions }));
    pane.until("the dialog is shown", |text| {
        text.contains("1 Keep both; rename mine – d")
    });
    decide(&pane, "1", "answer: Keep both; rename mine");
    pane.press(&["1", "2"]);
    pane.until("both are marked", |text| text.contains("2 ✓ fuzz"));
    pane.press(&["Enter"]);
    pane.until("the last is asked", |text| {
        text.contains("answer: unit, fuzz")
    });
    pane.press(&["Enter"]);
    pane.type_in("after the tests");
    pane.press(&["Enter"]);
    pane.until("it is held back", |text| text.contains("u undoes it"));
    pane.press(&["Enter"]);
    let reply = asks.join().expect("a reply");
    let answers = &reply["hookSpecificOutput"]["decision"]["updatedInput"]["answers"];
    let expected = json!({ "Which file wins?": "Keep both; rename mine",
        "Which checks?": "unit, fuzz", "Push?": "after the tests" });
    assert_eq!(*answers, expected);
}

#[test]
fn a_hostile_text_is_shown_as_text() {
    let stage = Stage::new();
    stage.ask(
        "w1",
        "rm\u{1b}[2J\u{1b}]0;owned\u{7} x\u{202e}fdp\u{9b}31m",
        &["\u{1b}[8m yes"],
    );
    let pane = stage.top();
    let shown = "rm[U+001B][2J[U+001B]]0;owned[U+0007] x[U+202E]fdp[U+009B]31m";
    pane.until("the controls are shown", |text| {
        text.contains(shown) && text.contains("1 \\u001b[8m yes")
    });
}

#[test]
fn a_message_reaches_the_session_from_the_person() {
    let stage = Stage::new();
    stage.call(stage.client.register("w1", json!({})));
    let done = json!({ "type": "complete", "from": "w1", "msg": "The page is written." });
    stage.call(stage.client.notify(done));
    let pane = stage.top();
    pane.until("the turn is shown", |text| text.contains("your turn"));
    decide(&pane, "r", "To w1:");
    pane.type_in("now the tests");
    pane.press(&["Enter"]);
    pane.until("it can be undone", |text| text.contains("u undoes it"));
    // On a busy machine it has been sent by then, and the key clears the note that says so.
    pane.press(&["Enter"]);
    let inbox = until("it is stored", || {
        let list = stage.call(stage.client.read("/notifications?inbox=w1"));
        list["notifications"][0].is_object().then_some(list)
    });
    let message = &inbox["notifications"][0];
    assert_eq!(
        (&message["msg"], &message["from"]),
        (&json!("now the tests"), &json!("person"))
    );
    decide(&pane, "s", "Marked as read");
    // It has no hooks, and does not wait.
    pane.until("its need says that nothing delivers it", |text| {
        text.contains("Your message was not taken: no hook of session w1")
    });
}

#[test]
fn a_session_at_its_limit_goes_on_at_its_end_or_waits_again() {
    let stage = Stage::new();
    let soon = std::time::SystemTime::now() + std::time::Duration::from_secs(3_600);
    let soon = soon.duration_since(std::time::UNIX_EPOCH).expect("a time");
    let words = format!("Claude AI usage limit reached|{}", soon.as_secs());
    for event in [
        json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go" }),
        json!({ "hook_event_name": "StopFailure", "error": "rate_limit", "last_assistant_message": words }),
    ] {
        stage.call(stage.client.hook("", "w1", event));
    }
    let pane = stage.top();
    pane.until("the limit is shown", |text| {
        text.contains(" min · c let it go on then")
    });
    decide(&pane, "c", "the hub lets it go on in");
    decide(&pane, "c", "c let it go on then");
}
