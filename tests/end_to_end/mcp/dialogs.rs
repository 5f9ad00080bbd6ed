//! `hubctl mcp --dialogs`: questions to the person as dialogs of the client.

use std::fmt::Display;

use serde_json::{Value, json};

use super::Mcp;
use crate::support::{Place, until};

/// A client that shows dialogs.
fn client(place: &Place) -> Mcp {
    let mut mcp = Mcp::start_with(place, "mcp --dialogs", "w1");
    mcp.initialize_with(json!({ "elicitation": {} }));
    mcp
}

/// Asks as w2; returns the question's id.
fn ask(place: &Place, args: &str) -> u64 {
    let done = place.hubctl(format!("ask --from w2 {args}")).run().ok();
    done.stdout.trim().parse().expect("an id")
}

/// Reads the request that opens a dialog; returns its params.
fn opened(mcp: &mut Mcp, id: impl Display) -> Value {
    let request = mcp.read();
    assert_eq!(request["method"], "elicitation/create", "{request}");
    assert_eq!(request["id"], format!("question-{id}"), "{request}");
    request["params"].clone()
}

fn end(mcp: &mut Mcp, id: u64, result: &Value) {
    mcp.write(&json!({ "jsonrpc": "2.0", "id": format!("question-{id}"), "result": result }));
}

/// The question in its current state.
fn question(place: &Place, id: u64) -> Value {
    let all = place.hubctl("questions --all --json").run().ok();
    let all = crate::support::json(&all.stdout);
    let mut all = all["questions"].as_array().expect("questions").iter();
    let found = all.find(|it| it["id"] == id);
    found.expect("the question").clone()
}

#[test]
fn an_answer_in_a_dialog_is_the_persons() {
    let mut place = Place::with_hub();
    let mut mcp = client(&place);
    let id = ask(
        &place,
        "--to person 'Which\ndb?' --option pg --option sqlite",
    );
    let shown = opened(&mut mcp, id);
    assert_eq!(
        shown["message"],
        format!("w2 asks (question {id}):\n  Which\n  db?")
    );
    let answer = &shown["requestedSchema"]["properties"]["answer"];
    assert_eq!(answer["enum"], json!(["pg", "sqlite"]), "{shown}");
    // The dialog outlives a restart of the hub.
    place.kill();
    place.start();
    end(
        &mut mcp,
        id,
        &json!({ "action": "accept", "content": { "answer": "pg" } }),
    );
    until("it is answered", || {
        question(&place, id)["state"] == "answered"
    });
    let question = question(&place, id);
    assert_eq!(
        (&question["answer"], &question["by"]),
        (&json!("pg"), &json!("person"))
    );
    mcp.end();
}

#[test]
fn a_declined_question_stays_open_and_other_questions_open_no_dialog() {
    let place = Place::with_hub();
    let early = ask(&place, "--to person Early?");
    let mut mcp = client(&place);
    opened(&mut mcp, early);
    end(&mut mcp, early, &json!({ "action": "decline" }));
    ask(&place, "--to boss 'For another?'");
    ask(&place, "--approval 'May I push?'");
    let next = ask(&place, "--to person Next?");
    opened(&mut mcp, next);
    // A client that starts cancels a dialog at once, without showing it.
    end(&mut mcp, next, &json!({ "action": "cancel" }));
    opened(&mut mcp, next);
    end(&mut mcp, next, &json!({ "action": "decline" }));
    for id in [early, next] {
        assert_eq!(question(&place, id)["state"], "open");
    }
    mcp.end();
}

#[test]
fn an_answer_from_elsewhere_closes_the_dialog_and_a_later_one_is_told() {
    let place = Place::with_hub();
    let mut mcp = client(&place);
    let id = ask(&place, "--to person Which?");
    opened(&mut mcp, id);
    place.hubctl(format!("answer {id} this")).run().ok();
    let closed = mcp.read();
    assert_eq!(
        (&closed["method"], &closed["params"]["requestId"]),
        (
            &json!("notifications/cancelled"),
            &json!(format!("question-{id}"))
        ),
    );
    end(
        &mut mcp,
        id,
        &json!({ "action": "accept", "content": { "answer": "that" } }),
    );
    let late = opened(&mut mcp, format!("{id}-late"));
    let words = late["message"].as_str().unwrap();
    assert!(
        words.starts_with("Too late: ") && words.ends_with(": this"),
        "{words}"
    );
    assert_eq!(question(&place, id)["answer"], "this");
    mcp.end();
}

#[test]
fn dialogs_need_a_client_of_an_earlier_protocol_that_shows_them() {
    let place = Place::with_hub();
    let mut mcp = Mcp::start_with(&place, "mcp --dialogs", "w1");
    let later = mcp.ask("server/discover", json!({}));
    assert_eq!(later["error"]["code"], -32601, "{later}");
    mcp.initialize_with(json!({ "elicitation": { "url": {} } }));
    ask(&place, "--to person Which?");
    assert_eq!(mcp.ask("ping", json!({}))["result"], json!({}));
    drop(mcp.stdin);
    let done = mcp.process.end().ok();
    assert_eq!(done.stderr, "hubctl: this client shows no dialogs\n");
}
