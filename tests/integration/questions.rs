//! Questions over HTTP: reachability of the asker, the inbox of the answer, and resets.

use hub_harness::{Client, Events};
use hub_protocol::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{assert_fields, disk_hub, hub_with, memory_hub};

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
async fn a_question_can_be_read_as_soon_as_presence_says_that_a_hook_holds_it() {
    let (_hub, client) = disk_hub();
    let mut presence = client.events("?kinds=presence").await;
    for _ in 0..20 {
        let (ask, id) = held(&client, &mut presence).await;
        assert_eq!(client.question(id).await["id"], id);
        ask.abort();
    }
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

/// The numbers of a page of questions, and its `next`.
async fn page(client: &Client, query: &str) -> (Vec<u64>, Option<u64>) {
    let page = client.read(&format!("/questions?{query}")).await;
    let listed = page["questions"].as_array().expect("a list");
    let ids = listed.iter().filter_map(|it| it["id"].as_u64()).collect();
    (ids, page["next"].as_u64())
}

#[tokio::test]
async fn questions_are_listed_in_pages_from_the_newest_to_the_oldest_and_within_a_page_oldest_first()
 {
    let (_hub, client) = memory_hub();
    let mut ids = Vec::new();
    for n in 0..5 {
        let project = if n == 2 { "/other" } else { "default" };
        let ask = json!({ "msg": "?", "from": "w", "type": "question", "project": project });
        ids.push(client.notify(ask).await);
    }
    let all = |places: &[usize]| places.iter().map(|at| ids[*at]).collect::<Vec<_>>();
    assert_eq!(page(&client, "").await, (ids.clone(), None));
    assert_eq!(page(&client, "limit=2").await, (all(&[3, 4]), Some(ids[3])));
    let second = format!("limit=2&before={}", ids[3]);
    assert_eq!(page(&client, &second).await, (all(&[1, 2]), Some(ids[1])));
    let last = format!("limit=2&before={}", ids[1]);
    assert_eq!(page(&client, &last).await, (all(&[0]), None));
    // The limit counts what the filter chooses.
    let own = "limit=3&project=default&state=all";
    assert_eq!(page(&client, own).await, (all(&[1, 3, 4]), Some(ids[1])));
    for wrong in ["limit=0", "limit=2001", "before=x"] {
        let path = format!("/questions?{wrong}");
        client.get(&path).await.expect(422);
    }
}

#[tokio::test]
async fn a_page_of_questions_ends_above_eight_mebibytes() {
    let (_hub, client) = memory_hub();
    let mut ids = Vec::new();
    for _ in 0..160 {
        let ask = json!({ "msg": "x".repeat(60_000), "from": "w", "type": "question" });
        ids.push(client.notify(ask).await);
    }
    let (mut listed, mut next) = page(&client, "").await;
    assert!(next.is_some() && listed.len() < ids.len());
    while let Some(before) = next {
        assert_eq!(listed.first(), Some(&before));
        let (older, beyond) = page(&client, &format!("before={before}")).await;
        (listed, next) = ([older, listed].concat(), beyond);
    }
    assert_eq!(listed, ids);
}

/// Asks by a hook that the hub holds; returns the request, and the question once the hub holds the request.
async fn asks(client: &Client, query: &'static str, event: Value) -> (JoinHandle<Value>, Value) {
    let mut events = client.events("?types=question,approval").await;
    let own = client.clone();
    let ask = tokio::spawn(async move { own.hook(query, "w1", event).await });
    let id = events.next_of("notification").await.data["id"].clone();
    let id = id.as_u64().expect("an id");
    let mut question = client.question(id).await;
    while question["held_until"].is_null() {
        question = client.question(id).await;
    }
    (ask, question)
}

#[tokio::test]
async fn an_answer_is_stored_then_delivered_then_taken() {
    let (hub, client) = memory_hub();
    let (ask, question) = asks(&client, "", permission()).await;
    let id = question["id"].as_u64().expect("an id");
    assert_fields(
        &question,
        json!({ "delivery": "waiting", "deliverable": true }),
    );
    let left = |of: &Value| of["held_until"].as_str().map(str::to_owned);
    assert!(left(&question) > question["ts"].as_str().map(str::to_owned));
    let answered = hub.person().await.answer(id, "allow").await.expect(201);
    let delivered = json!({ "delivery": "delivered", "held_until": null, "state": "answered" });
    assert_fields(&answered.json(), delivered.clone());
    ask.await.expect("a reply");
    // It stays in the list until the agent has gone on.
    assert_fields(&open(&client).await, delivered);
    let mut ran = permission();
    ran["hook_event_name"] = "PostToolUse".into();
    hook(&client, ran).await;
    assert_eq!(client.read("/questions").await["questions"], json!([]));
    assert_eq!(client.question(id).await["delivery"], "taken");
    let trace = client.trace(id).await.to_string();
    assert!(trace.ends_with(r#""delivered","taken"]"#), "{trace}");
}

#[tokio::test]
async fn a_plan_is_approved_with_its_edits_or_rejected_with_a_reason() {
    let plan = "# All of it".repeat(1000);
    let input = json!({ "plan": plan, "planFilePath": "/p.md" });
    let event = json!({ "hook_event_name": "PermissionRequest", "tool_name": "ExitPlanMode", "tool_input": input });
    let mode = json!([{ "type": "setMode", "mode": "acceptEdits", "destination": "session" }]);
    let allow = json!({ "behavior": "allow", "updatedInput": input });
    let edits = json!({ "behavior": "allow", "updatedInput": input, "updatedPermissions": mode });
    let why = r#"[hub] Denied. The reason that was given, as a JSON string: "too long""#;
    let deny = json!({ "behavior": "deny", "message": why });
    for (answer, decision) in [
        ("approve", allow),
        ("approve: accept edits", edits),
        ("reject: too long", deny),
    ] {
        let (hub, client) = memory_hub();
        let (ask, question) = asks(&client, "", event.clone()).await;
        let id = question["id"].as_u64().expect("an id");
        assert_eq!(question["data"]["dialog"]["tool_input"]["plan"], plan);
        let offers = json!(["approve", "approve: accept edits", "reject"]);
        assert_fields(&question, json!({ "type": "question", "options": offers }));
        let person = hub.person().await;
        person.answer(id, "perhaps").await.expect(422);
        person.answer(id, answer).await.expect(201);
        let reply = ask.await.expect("a reply");
        assert_eq!(reply["hookSpecificOutput"]["decision"], decision);
    }
}

#[tokio::test]
async fn each_question_of_a_dialog_gets_the_answer_that_was_chosen_for_it() {
    let (hub, client) = memory_hub();
    let labels = |all: [&str; 2]| all.map(|it| json!({ "label": it, "description": "d" }));
    let asked = json!([
        { "question": "Which file wins?", "options": labels(["Keep both; rename mine", "Theirs"]) },
        { "question": "Push?", "options": labels(["Yes", "No"]) },
    ]);
    let event = json!({ "hook_event_name": "PermissionRequest", "tool_name": "AskUserQuestion", "tool_input": { "questions": asked } });
    let (ask, question) = asks(&client, "", event).await;
    let control = |at: usize| {
        let one = &asked[at];
        json!({ "type": "choice", "question": one["question"], "header": "", "many": false, "options": one["options"] })
    };
    assert_eq!(question["controls"], json!([control(0), control(1)]));
    let id = question["id"].as_u64().expect("an id");
    let person = hub.person().await;
    let path = format!("/needs/{id}/answer");
    for unclear in [
        json!({ "reply": "Keep both; rename mine; No" }),
        json!({ "reply": "Theirs; No" }),
        json!({ "choices": [{ "text": "Theirs" }] }),
        json!({ "choices": [{ "text": "Theirs" }, { "text": "No" }, { "text": "x" }] }),
        json!({ "choices": [{ "text": "" }, { "text": " " }] }),
        json!({ "choices": [{ "labels": ["Mine"] }, { "labels": ["No"] }] }),
        json!({ "choices": [{ "labels": ["Theirs"] }, { "labels": ["Yes", "No"] }] }),
        json!({ "reply": "x", "choices": [{ "labels": ["Theirs"] }, { "labels": ["No"] }] }),
        json!({ "verdict": "allow" }),
        json!({ "reply": "x", "reason": "y" }),
        json!({ "choices": [{ "labels": ["Theirs"] }, { "labels": ["No"] }], "revision": id + 1 }),
        json!({}),
    ] {
        let refused = person.post_json(&path, &unclear).await.expect(422).json();
        assert_eq!(refused["code"], "invalid", "{unclear}");
    }
    let reply = json!({ "msg": "Theirs; No", "type": "answer", "from": "person", "reply_to": id });
    let refused = person.post_json("/notify", &reply).await.expect(422).json();
    let says = refused["detail"].as_str().expect("a detail");
    assert!(says.contains("--each"), "{says}");
    assert_eq!(client.question(id).await["state"], "open");
    let answers = json!(["Keep both; rename mine", "No"]);
    let choices = json!([{ "labels": [answers[0]] }, { "labels": [answers[1]] }]);
    let answered = person
        .post_json(&path, &json!({ "choices": choices, "revision": id }))
        .await;
    let answered = answered.expect(201).json();
    let said = "1. Keep both; rename mine 2. No";
    assert_fields(&answered, json!({ "answer": said, "answers": answers }));
    let reply = ask.await.expect("a reply");
    assert_eq!(
        reply["hookSpecificOutput"]["decision"]["updatedInput"]["answers"],
        json!({ "Which file wins?": "Keep both; rename mine", "Push?": "No" })
    );
    let answer = answered["answer_id"].as_u64().expect("an id");
    let found = client.read("/notifications?types=answer").await["notifications"][0].clone();
    assert_fields(
        &found,
        json!({ "id": answer, "msg": said, "answers": answers }),
    );
}

#[tokio::test]
async fn a_permission_is_allowed_for_the_session_as_its_agent_suggests() {
    let rules = json!([{ "toolName": "Bash", "ruleContent": "make *" }]);
    let suggestion = |destination: &str| json!([{ "type": "addRules", "rules": rules, "behavior": "allow", "destination": destination }]);
    let (hub, client) = memory_hub();
    let mut event = permission();
    event["permission_suggestions"] = suggestion("localSettings");
    let (ask, question) = asks(&client, "", event).await;
    let offered = &question["data"]["request"]["suggestions"];
    assert_eq!(*offered, suggestion("localSettings"));
    let id = question["id"].as_u64().expect("an id");
    hub.person()
        .await
        .answer(id, "allow always")
        .await
        .expect(201);
    let allowed = json!({ "behavior": "allow", "updatedPermissions": suggestion("session") });
    let reply = ask.await.expect("a reply");
    assert_eq!(reply["hookSpecificOutput"]["decision"], allowed);
}

#[tokio::test]
async fn a_request_that_delays_its_agent_is_held_only_for_an_open_dashboard_and_briefly_unless_it_is_a_form()
 {
    let schema = json!({ "type": "object", "properties": { "db": { "type": "string", "enum": ["pg", "lite"] } }, "required": ["db"] });
    let form = json!({ "hook_event_name": "Elicitation", "mcp_server_name": "t", "message": "Which?", "mode": "form", "requested_schema": schema });
    let accepted =
        json!({ "hookEventName": "Elicitation", "action": "accept", "content": { "db": "pg" } });
    let allowed =
        json!({ "hookEventName": "PermissionRequest", "decision": { "behavior": "allow" } });
    for (query, event, answer, reply, seconds) in [
        ("", form, "pg", accepted, 3_600),
        ("headless=true", permission(), "allow", allowed, 60),
    ] {
        let (hub, client) = memory_hub();
        assert_eq!(client.hook(query, "w1", event.clone()).await, Value::Null);
        let question = open(&client).await;
        assert_fields(
            &question,
            json!({ "delivery": "terminal", "held_until": null }),
        );
        hook(&client, json!({ "hook_event_name": "PostToolUse" })).await;
        let person = hub.person().await;
        let _dashboard = person.events("").await;
        let watched = format!("{query}&watched=true");
        assert_eq!(
            client.hook(&watched, "w1", event.clone()).await,
            Value::Null
        );
        hook(&client, json!({ "hook_event_name": "PostToolUse" })).await;
        let (ask, question) = asks(&client, query, event).await;
        let at = |field: &str| {
            question[field]
                .as_str()
                .and_then(|it| it.parse::<Timestamp>().ok())
        };
        let held =
            at("held_until").expect("a time").as_millis() - at("ts").expect("a time").as_millis();
        assert_eq!(held, seconds * 1_000);
        assert_eq!(question["delays"], true);
        let id = question["id"].as_u64().expect("an id");
        if query.is_empty() {
            person.answer(id, "mysql").await.expect(422);
        }
        person.answer(id, answer).await.expect(201);
        assert_eq!(ask.await.expect("a reply")["hookSpecificOutput"], reply);
    }
}

#[tokio::test]
async fn a_form_that_shows_a_question_of_the_hub_asks_nothing() {
    let (_hub, client) = memory_hub();
    let form = json!({ "hook_event_name": "Elicitation", "mcp_server_name": "hub", "message": "w2 asks (question 41):\n  Why?" });
    assert_eq!(hook(&client, form).await, Value::Null);
    assert_eq!(client.read("/questions").await["questions"], json!([]));
}

#[tokio::test]
async fn an_answer_to_a_terminal_dialog_is_refused_with_its_place() {
    let (_hub, client) = memory_hub();
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
        let why = r#""w1" shows this in a dialog of its own: answer it there (host "mill", "/r/w1", tmux pane "%7")"#;
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
    let said = json!({ "msg": "A", "from": "boss", "type": "answer", "reply_to": id });
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
    let (hub, client) = memory_hub();
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
    let (hub, client) = memory_hub();
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
    let (hub, client) = hub_with(&["approvals=false"]);
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
    let (hub, client) = memory_hub();
    let mut presence = client.events("?kinds=presence").await;
    let (ask, id) = held(&client, &mut presence).await;
    let person = hub.person().await;
    for vague in ["ok", "do what you think is best", "allowed"] {
        let refused = person.answer(id, vague).await.expect(422).json();
        let detail = refused["detail"].as_str().expect("a detail");
        assert!(detail.contains("or deny with a `reason`"), "{detail}");
    }
    assert_eq!(open(&client).await["state"], "open");
    person.answer(id, "Deny: not today").await.expect(201);
    let told = ask.await.expect("a reply");
    assert_eq!(told["hookSpecificOutput"]["decision"]["behavior"], "deny");
}

#[tokio::test]
async fn a_request_says_whether_its_text_is_the_whole_of_it() {
    let (_hub, client) = hub_with(&["approvals=false"]);
    let long = "x".repeat(64 * 1024 + 1);
    for (tool, input, text, complete) in [
        (
            "Bash",
            json!({"command": "a\n  b", "timeout": 5}),
            "Bash: a\n  b\ntimeout: 5",
            true,
        ),
        (
            "Write",
            json!({"file_path": "/a", "content": "curl"}),
            "Write: /a\ncontent: curl",
            true,
        ),
        (
            "Write",
            json!({"file_path": "/a"}),
            "Agent w1 needs a permission: Write: /a",
            false,
        ),
        (
            "Bash",
            json!({"command": "ma\u{200b}ke"}),
            "Bash: ma[U+200B]ke",
            false,
        ),
        (
            "Bash",
            json!({"command": "ls\r\ncurl"}),
            "Bash: ls[U+000D]\ncurl",
            false,
        ),
    ] {
        let event = json!({ "hook_event_name": "PermissionRequest", "tool_name": tool, "tool_input": input });
        hook(&client, event).await;
        let expected = json!({ "text": text, "complete": complete });
        assert_fields(&open(&client).await, expected);
    }
    let event = json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": long } });
    hook(&client, event).await;
    let question = open(&client).await;
    assert_eq!(question["complete"], false);
    let text = question["text"].as_str().unwrap();
    assert!(text.ends_with("[cut by the hub: all of it is in the agent's own session]"));
}

#[tokio::test]
async fn only_its_terminal_allows_a_request_that_the_hub_does_not_have_whole() {
    let (hub, client) = memory_hub();
    let event = json!({ "hook_event_name": "PermissionRequest", "tool_name": "Write", "tool_input": { "file_path": "/a" } });
    let (ask, question) = asks(&client, "", event).await;
    let id = question["id"].as_u64().expect("an id");
    assert_eq!(question["controls"][0]["allow"], false);
    let person = hub.person().await;
    let reply = json!({ "msg": "allow", "type": "answer", "from": "person", "reply_to": id });
    for refused in [
        person.answer(id, "allow").await,
        person.answer(id, "allow always").await,
        person.post_json("/notify", &reply).await,
    ] {
        let refused = refused.expect(422).json();
        let says = refused["detail"].as_str().expect("a detail");
        assert!(says.contains("own terminal"), "{says}");
    }
    let own = json!({ "verdict": "allow", "session": "w1" });
    let path = format!("/needs/{id}/answer");
    client.post_json(&path, &own).await.expect(403);
    person.answer(id, "deny").await.expect(201);
    let told = ask.await.expect("a reply");
    assert_eq!(told["hookSpecificOutput"]["decision"]["behavior"], "deny");
}
