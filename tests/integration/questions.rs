//! Questions over HTTP: reachability of the asker, the inbox of the answer, and resets.

use hub_harness::{Client, Events, Hub};
use serde_json::{Value, json};

use crate::{assert_fields, memory_hub};

const PLACE: &str = "host=mill&pane=%257";

/// Posts a hook event of session `w1`; returns the hub's reply to the agent.
async fn hook(client: &Client, event: Value) -> Value {
    let mut payload = json!({ "session_id": "w1", "cwd": "/r/w1" });
    let all = payload.as_object_mut().expect("an object");
    all.extend(event.as_object().expect("an object").clone());
    let answer = client
        .post_json(&format!("/hooks/claude?{PLACE}"), &payload)
        .await;
    if answer.status == 204 {
        return Value::Null;
    }
    answer.expect(200).json()
}

fn permission() -> Value {
    json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": "make" } })
}

async fn open(client: &Client) -> Value {
    let open = client.read("/questions").await;
    open["questions"][0].clone()
}

async fn answer(client: &Client, id: &Value, answer: &str) -> Value {
    let path = format!("/questions/{id}/answer");
    let answer = client.post(&path).json(&json!({ "answer": answer }));
    answer.send().await.expect(201).json()
}

/// Reads presence until exactly these permission requests are held.
async fn until_held(presence: &mut Events, held: Value) {
    while presence.next_of("presence").await.data["held"] != held {}
}

#[tokio::test]
async fn an_answer_reaches_an_asker_with_an_inbox() {
    let (_hub, client) = memory_hub();
    let id = client
        .notify(json!({ "msg": "?", "from": "worker", "type": "question" }))
        .await;
    let asked = client.get(&format!("/questions/{id}")).send().await;
    for question in [open(&client).await, asked.expect(200).json()] {
        assert_eq!(question["deliverable"], true, "{question}");
        assert_eq!(question.get("where"), None, "{question}");
    }
    let claim = client
        .post(&format!("/questions/{id}/claim"))
        .json(&json!({}));
    assert_eq!(claim.send().await.expect(200).json()["deliverable"], true);
    let answered = answer(&client, &json!(id), "yes").await;
    assert_eq!(answered["deliverable"], true, "{answered}");
}

#[tokio::test]
async fn an_answer_to_a_terminal_dialog_is_refused_with_its_place() {
    let hub = Hub::builder().memory().set("approvals=true").start();
    let client = hub.client();
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
        assert_eq!(question["deliverable"], false, "{tool} {question}");
        assert_eq!(
            question["where"],
            json!({ "host": "mill", "cwd": "/r/w1", "pane": "%7" })
        );
        let refused = refused(&client, &question["id"]).await;
        assert_eq!(refused["where"], question["where"]);
        let why = "w1 shows this in a dialog of its own: answer it there (host mill, /r/w1, tmux pane %7)";
        assert_eq!(refused["detail"], why);
        let still = open(&client).await;
        assert_fields(&still, json!({ "id": &question["id"], "state": "open" }));
        hook(&client, json!({ "hook_event_name": "PostToolUse" })).await;
    }
}

/// Returns the problem with which an answer is refused, the same for both ways of answering.
async fn refused(client: &Client, id: &Value) -> Value {
    let path = format!("/questions/{id}/answer");
    let answer = client.post(&path).json(&json!({ "answer": "A" }));
    let refused = answer.send().await.expect(409).json();
    let said = json!({ "msg": "A", "from": "person", "type": "answer", "reply_to": id });
    let said = client.post_json("/notify", &said).await;
    let same = said.expect(409).json();
    assert_eq!(refused, same);
    assert_fields(
        &refused,
        json!({ "code": "answer_in_terminal", "question": id }),
    );
    refused
}

#[tokio::test]
async fn a_permission_is_deliverable_only_while_its_request_is_held() {
    let hub = Hub::builder().memory().set("approvals=true").start();
    let client = hub.client();
    let mut presence = client.events("?kinds=presence").await;
    until_held(&mut presence, json!([])).await;
    let ask = {
        let client = hub.client();
        tokio::spawn(async move { hook(&client, permission()).await })
    };
    let asked = client.get("/wait?inbox=person&timeout=60").send().await;
    let id = asked.expect(200).json()["notifications"][0]["id"].clone();
    until_held(&mut presence, json!([id])).await;
    let question = open(&client).await;
    assert_eq!(question["deliverable"], true, "{question}");
    // The agent's own dialog was answered, or the agent died.
    ask.abort();
    until_held(&mut presence, json!([])).await;
    let question = open(&client).await;
    assert_eq!(question["deliverable"], false, "{question}");
    assert_eq!(question["where"]["cwd"], "/r/w1");
    refused(&hub.person().await, &id).await;
}

#[tokio::test]
async fn the_response_to_an_answer_of_a_held_request_says_that_it_reaches_it() {
    let hub = Hub::builder().memory().set("approvals=true").start();
    let client = hub.client();
    let mut presence = client.events("?kinds=presence").await;
    until_held(&mut presence, json!([])).await;
    let ask = {
        let client = hub.client();
        tokio::spawn(async move { hook(&client, permission()).await })
    };
    let held = loop {
        let held = presence.next_of("presence").await.data["held"].clone();
        if held != json!([]) {
            break held;
        }
    };
    let answered = answer(&hub.person().await, &held[0], "allow").await;
    assert_eq!(answered["deliverable"], true, "{answered}");
    let told = ask.await.expect("a reply");
    assert_eq!(told["hookSpecificOutput"]["decision"]["behavior"], "allow");
    until_held(&mut presence, json!([])).await;
    let inbox = client.get("/wait?inbox=w1&timeout=0").send().await;
    inbox.expect(204);
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
    let info = json!({ "host": "mill" });
    client.put_json("/sessions/worker", &info).await.expect(201);
    client
        .notify(json!({ "msg": "?", "from": "worker", "type": "question" }))
        .await;
    assert_eq!(open(&client).await["deliverable"], true);
    client.delete("/sessions/worker").send().await.expect(200);
    let question = open(&client).await;
    assert_fields(
        &question,
        json!({ "deliverable": false, "where": { "host": "mill" } }),
    );
}

async fn wake(client: &Client, session: &str) -> Value {
    let session = client.get(&format!("/sessions/{session}")).send().await;
    session.expect(200).json()["wake"].clone()
}

#[tokio::test]
async fn a_session_shows_whether_it_can_be_woken() {
    let (hub, client) = memory_hub();
    client.put_json("/sessions/w2", json!({})).await.expect(201);
    assert_eq!(wake(&client, "w2").await, "none");
    client
        .get("/wait?inbox=w2&timeout=0")
        .send()
        .await
        .expect(204);
    assert_eq!(wake(&client, "w2").await, "none", "a look is no wait");
    let mut presence = client.events("?kinds=presence").await;
    let waits = hub.client().get("/wait?session=w2&timeout=60");
    let waits = tokio::spawn(async move { waits.send().await });
    presence.until_waiting("w2").await;
    assert_eq!(wake(&client, "w2").await, "live");
    // Breaks the connection, and nothing else.
    waits.abort();
    while presence.next_of("presence").await.data["waiters"] != json!([]) {}
    assert_eq!(wake(&client, "w2").await, "stale");
    client.delete("/sessions/w2").send().await.expect(200);
    assert_eq!(wake(&client, "w2").await, "none");
    hook(&client, json!({ "hook_event_name": "SessionStart" })).await;
    assert_eq!(wake(&client, "w1").await, "stale", "its hooks are live");
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
    let said = client.post(&text).body("postgres").send().await;
    assert_eq!(said.expect(201).json()["project"], "/a");
    let row = json!({ "msg": "sqlite", "reply_to": second, "data": { "type": "answer" } });
    let said = client.post_json("/notify", &row).await;
    assert_eq!(said.expect(201).json()["project"], "/b");
    for (id, answer) in [(first, "postgres"), (second, "sqlite")] {
        let asked = client.get(&format!("/questions/{id}")).send().await;
        assert_eq!(asked.expect(200).json()["answer"], answer);
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
    let path = format!("/questions/{id}?timeout=60");
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.get(&path).send().await }
    });
    client
        .post("/projects/default/reset")
        .send()
        .await
        .expect(200);
    let told = events.next_of("question").await;
    assert_fields(&told.data, json!({ "id": id, "state": "withdrawn" }));
    let answer = waiting.await.expect("an answer").expect(200).json();
    assert_eq!(answer["state"], "withdrawn");
}

#[tokio::test]
async fn a_reply_without_a_type_answers_the_question_from_any_project() {
    let (hub, client) = memory_hub();
    let dir = hub_harness::encoded(hub.scratch().to_str().expect("UTF-8"));
    for (kind, query) in [
        (None, ""),
        (Some("message"), ""),
        (None, &*format!("?cwd={dir}")),
    ] {
        let id = ask(&client, "/a").await;
        let mut reply = json!({ "msg": "postgres", "from": "lead", "reply_to": id });
        if let Some(kind) = kind {
            reply["type"] = json!(kind);
        }
        let said = client
            .post_json(&format!("/notify{query}"), &reply)
            .await
            .expect(201)
            .json();
        assert_eq!(said["project"], "/a");
        let asked = client.get(&format!("/questions/{id}")).send().await;
        let asked = asked.expect(200).json();
        assert_fields(&asked, json!({ "state": "answered", "answer": "postgres" }));
        let answer = client.get(&format!("/notifications/{}", said["id"]));
        let answer = answer.send().await.expect(200).json();
        assert_fields(&answer, json!({ "type": "answer", "title": "which?" }));
    }
}

#[tokio::test]
async fn a_reply_without_a_project_belongs_to_the_original_messages_project() {
    let (_hub, client) = memory_hub();
    let first = json!({ "msg": "hi", "from": "w1", "type": "message", "project": "/a" });
    let first = client.notify(first).await;
    let reply = json!({ "msg": "hello", "from": "lead", "to": "w1", "reply_to": first });
    let reply = client.post_json("/notify", &reply).await;
    assert_eq!(reply.expect(201).json()["project"], "/a");
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
    let answer = client.get(&format!("/notifications/{answer}")).send().await;
    assert_eq!(answer.expect(200).json().get("title"), None);
}

#[tokio::test]
async fn a_held_permission_accepts_only_a_decision() {
    let hub = Hub::builder().memory().set("approvals=true").start();
    let client = hub.client();
    let mut presence = client.events("?kinds=presence").await;
    let ask = {
        let client = hub.client();
        tokio::spawn(async move { hook(&client, permission()).await })
    };
    let held = loop {
        let held = presence.next_of("presence").await.data["held"].clone();
        if held != json!([]) {
            break held;
        }
    };
    let person = hub.person().await;
    let path = format!("/questions/{}/answer", held[0]);
    for text in ["ok", "do what you think is best", "allowed"] {
        let vague = person.post(&path).json(&json!({ "answer": text }));
        let refused = vague.send().await.expect(422).json();
        let detail = refused["detail"].as_str().expect("a detail");
        assert!(detail.contains("allow, or deny: why"), "{detail}");
    }
    assert_eq!(open(&client).await["state"], "open");
    answer(&person, &held[0], "Deny: not today").await;
    let told = ask.await.expect("a reply");
    let decision = &told["hookSpecificOutput"]["decision"];
    assert_eq!(decision["behavior"], "deny");
}
