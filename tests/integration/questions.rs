//! Questions over HTTP: reachability of the asker, the inbox of the answer, and resets.

use hub_harness::{Client, Events};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{assert_fields, hub_with, memory_hub};

/// Posts a hook event of session `w1`; returns the hub's reply to the agent.
async fn hook(client: &Client, event: Value) -> Value {
    client.hook("host=mill&pane=%257", "w1", event).await
}

fn permission() -> Value {
    json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": "make" } })
}

/// Returns the oldest open question.
async fn open(client: &Client) -> Value {
    client.read("/questions").await["questions"][0].clone()
}

/// Asks for a permission; returns the request, and its question's id once the hub holds the request.
async fn held(client: &Client, presence: &mut Events) -> (JoinHandle<Value>, u64) {
    until_held(presence, json!([])).await;
    let own = client.clone();
    let ask = tokio::spawn(async move { hook(&own, permission()).await });
    loop {
        let held = presence.next_of("presence").await.data["held"][0].clone();
        if let Some(id) = held.as_u64() {
            return (ask, id);
        }
    }
}

/// Reads presence until exactly these permission requests are held.
async fn until_held(presence: &mut Events, held: Value) {
    while presence.next_of("presence").await.data["held"] != held {}
}

#[tokio::test]
async fn an_answer_reaches_an_asker_with_an_inbox() {
    let (_hub, client) = memory_hub();
    let id = client.asks("worker").await;
    for question in [open(&client).await, client.question(id).await] {
        assert_fields(&question, json!({ "deliverable": true, "where": null }));
    }
    let claim = format!("/questions/{id}/claim");
    let claim = client.post_json(&claim, json!({})).await.expect(200);
    let answered = client.answer(id, "yes").await.expect(201);
    for response in [claim, answered] {
        assert_eq!(response.json()["deliverable"], true);
    }
}

#[tokio::test]
async fn an_answer_to_a_terminal_dialog_is_refused_with_its_place() {
    let (_hub, client) = hub_with(&["approvals=true"]);
    for (tool, input) in [
        (
            "AskUserQuestion",
            json!({ "questions": [{ "question": "A?", "options": [] }] }),
        ),
        ("EnterPlanMode", json!({})),
        ("ExitPlanMode", json!({ "plan": "all" })),
    ] {
        let asks =
            json!({ "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input });
        hook(&client, asks).await;
        let question = open(&client).await;
        let place = json!({ "host": "mill", "cwd": "/r/w1", "pane": "%7" });
        assert_fields(&question, json!({ "deliverable": false, "where": place }));
        let refused = refused(&client, &question["id"]).await;
        let why = "w1 shows this in a dialog of its own: answer it there (host mill, /r/w1, tmux pane %7)";
        assert_fields(&refused, json!({ "where": place, "detail": why }));
        let still = open(&client).await;
        assert_fields(&still, json!({ "id": &question["id"], "state": "open" }));
        hook(&client, json!({ "hook_event_name": "PostToolUse" })).await;
    }
}

/// Returns the problem with which an answer is refused, the same for both ways of answering.
async fn refused(client: &Client, id: &Value) -> Value {
    let answer = client.answer(id.as_u64().expect("an id"), "A").await;
    let refused = answer.expect(409).json();
    let said = json!({ "msg": "A", "from": "person", "type": "answer", "reply_to": id });
    let said = client.post_json("/notify", &said).await;
    assert_eq!(said.expect(409).json(), refused);
    assert_fields(
        &refused,
        json!({ "code": "answer_in_terminal", "question": id }),
    );
    refused
}

#[tokio::test]
async fn a_permission_is_deliverable_only_while_its_request_is_held() {
    let (hub, client) = hub_with(&["approvals=true"]);
    let mut presence = client.events("?kinds=presence").await;
    let (ask, id) = held(&client, &mut presence).await;
    assert_fields(
        &open(&client).await,
        json!({ "id": id, "deliverable": true }),
    );
    // The agent's own dialog was answered, or the agent died.
    ask.abort();
    until_held(&mut presence, json!([])).await;
    let question = open(&client).await;
    assert_eq!(question["deliverable"], false, "{question}");
    assert_eq!(question["where"]["cwd"], "/r/w1");
    refused(&hub.person().await, &json!(id)).await;
}

#[tokio::test]
async fn the_response_to_an_answer_of_a_held_request_says_that_it_reaches_it() {
    let (hub, client) = hub_with(&["approvals=true"]);
    let mut presence = client.events("?kinds=presence").await;
    let (ask, id) = held(&client, &mut presence).await;
    let answered = hub.person().await.answer(id, "allow").await.expect(201);
    assert_eq!(answered.json()["deliverable"], true);
    let told = ask.await.expect("a reply");
    assert_eq!(told["hookSpecificOutput"]["decision"]["behavior"], "allow");
    until_held(&mut presence, json!([])).await;
    client.get("/wait?inbox=w1&timeout=0").await.expect(204);
}

#[tokio::test]
async fn a_permission_that_is_not_held_is_given_in_the_terminal() {
    let (hub, client) = memory_hub();
    hook(&client, permission()).await;
    let question = open(&client).await;
    assert_fields(
        &question,
        json!({ "type": "approval", "deliverable": false }),
    );
    assert_eq!(question["where"]["pane"], "%7");
    refused(&hub.person().await, &question["id"]).await;
}

#[tokio::test]
async fn an_ended_session_is_unreachable() {
    let (_hub, client) = memory_hub();
    client.register("worker", json!({ "host": "mill" })).await;
    client.asks("worker").await;
    assert_eq!(open(&client).await["deliverable"], true);
    client.end_session("worker").await;
    let unreachable = json!({ "deliverable": false, "where": { "host": "mill" } });
    assert_fields(&open(&client).await, unreachable);
}

#[tokio::test]
async fn a_session_shows_whether_it_can_be_woken() {
    let (_hub, client) = memory_hub();
    let wake = async |session, expected: &str| {
        assert_eq!(client.session(session).await["wake"], expected);
    };
    client.register("w2", json!({})).await;
    wake("w2", "none").await;
    // A look is no wait.
    client.get("/wait?inbox=w2&timeout=0").await.expect(204);
    wake("w2", "none").await;
    let waits = client.waiter("session=w2&timeout=60", "w2").await;
    wake("w2", "live").await;
    let mut presence = client.events("?kinds=presence").await;
    // Breaks the connection, and nothing else.
    waits.abort();
    while presence.next_of("presence").await.data["waiters"] != json!([]) {}
    wake("w2", "stale").await;
    client.end_session("w2").await;
    wake("w2", "none").await;
    // Its hooks are live.
    hook(&client, json!({ "hook_event_name": "SessionStart" })).await;
    wake("w1", "stale").await;
}

async fn ask(client: &Client, project: &str) -> u64 {
    let question = json!({ "msg": "which?", "from": "w1", "type": "question", "project": project });
    client.notify(question).await
}

#[tokio::test]
async fn an_answer_without_a_project_belongs_to_its_questions_project() {
    let (_hub, client) = memory_hub();
    let (first, second) = (ask(&client, "/a").await, ask(&client, "/b").await);
    let text = format!("/notify?type=answer&from=lead&reply_to={first}");
    let said = client.post(&text).body("postgres").await;
    assert_eq!(said.expect(201).json()["project"], "/a");
    let row = json!({ "msg": "sqlite", "reply_to": second, "data": { "type": "answer" } });
    assert_eq!(client.publish(row).await["project"], "/b");
    for (id, answer) in [(first, "postgres"), (second, "sqlite")] {
        assert_eq!(client.question(id).await["answer"], answer);
    }
    let third = ask(&client, "/a").await;
    let elsewhere = json!({ "msg": "x", "type": "answer", "reply_to": third, "project": "/b" });
    let refused = client.post_json("/notify", &elsewhere).await;
    assert_eq!(refused.status / 100, 4, "{}", refused.text());
}

#[tokio::test]
async fn a_reset_withdraws_questions_and_ends_the_waits_for_their_answers() {
    let (_hub, client) = memory_hub();
    let mut events = client.events("?kinds=question").await;
    let id = ask(&client, "default").await;
    let waiting = client.get(&format!("/questions/{id}?timeout=60")).spawn();
    client.post("/projects/default/reset").await.expect(200);
    let told = events.next_of("question").await;
    assert_fields(&told.data, json!({ "id": id, "state": "withdrawn" }));
    let answer = waiting.await.expect("an answer").expect(200).json();
    assert_eq!(answer["state"], "withdrawn");
}

#[tokio::test]
async fn a_reply_without_a_type_answers_the_question_from_any_project() {
    let (hub, client) = memory_hub();
    let dir = hub_harness::encoded(hub.scratch().to_str().expect("UTF-8"));
    let lead = |id| json!({ "msg": "postgres", "from": "lead", "reply_to": id });
    for (query, kind) in [
        ("", None),
        ("", Some("message")),
        (&*format!("?cwd={dir}"), None),
    ] {
        let id = ask(&client, "/a").await;
        let mut reply = lead(id);
        if let Some(kind) = kind {
            reply["type"] = json!(kind);
        }
        let said = client.post_json(&format!("/notify{query}"), &reply).await;
        let said = said.expect(201).json();
        assert_eq!(said["project"], "/a");
        let answered = json!({ "state": "answered", "answer": "postgres" });
        assert_fields(&client.question(id).await, answered);
        let answer = client.read(&format!("/notifications/{}", said["id"])).await;
        assert_fields(&answer, json!({ "type": "answer", "title": "which?" }));
    }
}

#[tokio::test]
async fn a_reply_without_a_project_belongs_to_the_original_messages_project() {
    let (_hub, client) = memory_hub();
    let first = json!({ "msg": "hi", "from": "w1", "type": "message", "project": "/a" });
    let first = client.notify(first).await;
    let reply = json!({ "msg": "hello", "from": "lead", "to": "w1", "reply_to": first });
    assert_eq!(client.publish(reply).await["project"], "/a");
}

#[tokio::test]
async fn an_answer_of_the_maximum_size_is_delivered_without_its_questions_text() {
    let (_hub, client) = memory_hub();
    let question = json!({ "msg": "?".repeat(300), "from": "w1", "type": "question" });
    let id = client.notify(question).await;
    // Each quote takes two bytes of the notification's 64 KiB.
    let text = "\"".repeat((64 * 1024 - 350) / 2);
    let answer = json!({ "msg": text, "from": "lead", "type": "answer", "reply_to": id });
    let answer = client.notify(answer).await;
    assert_eq!(client.notification(answer).await.get("title"), None);
}

#[tokio::test]
async fn a_held_permission_accepts_only_a_decision() {
    let (hub, client) = hub_with(&["approvals=true"]);
    let mut presence = client.events("?kinds=presence").await;
    let (ask, id) = held(&client, &mut presence).await;
    let person = hub.person().await;
    for vague in ["ok", "do what you think is best", "allowed"] {
        let refused = person.answer(id, vague).await.expect(422).json();
        let detail = refused["detail"].as_str().expect("a detail");
        assert!(detail.contains("allow, or deny: why"), "{detail}");
    }
    assert_eq!(open(&client).await["state"], "open");
    person.answer(id, "Deny: not today").await.expect(201);
    let told = ask.await.expect("a reply");
    assert_eq!(told["hookSpecificOutput"]["decision"]["behavior"], "deny");
}
