//! Agents' hooks over HTTP.

use hub_harness::{Client, Hub};
use serde_json::{Value, json};

/// Posts a hook event of session `id`; what the agent is told.
async fn hook(client: &Client, query: &str, id: &str, event: Value) -> Value {
    let mut payload = json!({ "session_id": id, "cwd": format!("/r/{id}") });
    payload
        .as_object_mut()
        .expect("an object")
        .extend(event.as_object().expect("an object").clone());
    let answer = client
        .post(&format!("/hooks/claude?{query}"))
        .json(&payload);
    let answer = answer.send().await;
    match answer.status {
        204 => Value::Null,
        _ => answer.expect(200).json(),
    }
}

fn named(name: &str) -> Value {
    json!({ "hook_event_name": name })
}

fn prompt(text: &str) -> Value {
    json!({ "hook_event_name": "UserPromptSubmit", "prompt": text })
}

fn stop(text: &str) -> Value {
    json!({ "hook_event_name": "Stop", "last_assistant_message": text, "background_tasks": [] })
}

fn context(reply: &Value) -> &str {
    reply["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap_or_default()
}

async fn states(client: &Client, id: u64) -> Vec<String> {
    let trace = client
        .get(&format!("/notifications/{id}/trace"))
        .send()
        .await;
    let trace = trace.expect(200).json();
    let steps = trace["steps"].as_array().expect("steps");
    steps
        .iter()
        .map(|step| step["state"].as_str().expect("a state").to_owned())
        .collect()
}

#[tokio::test]
async fn a_worker_stops_and_the_primary_hears_of_it_once_with_its_next_event() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    hook(&client, "main=true", "boss", named("SessionStart")).await;
    hook(&client, "parent=boss", "w1", named("SessionStart")).await;
    hook(&client, "parent=boss", "w1", prompt("go")).await;
    hook(&client, "parent=boss", "w1", stop("All done.")).await;
    let told = hook(&client, "main=true", "boss", named("PostToolUse")).await;
    assert!(
        context(&told).contains("Agent w1 completed (worker of boss): All done."),
        "{told}"
    );
    let id = client
        .get("/notifications?types=complete")
        .send()
        .await
        .expect(200)
        .json();
    let id = id["notifications"][0]["id"].as_u64().expect("an id");
    assert_eq!(states(&client, id).await, ["stored", "emitted"]);
    let again = hook(&client, "main=true", "boss", named("PostToolUse")).await;
    assert_eq!(again, Value::Null);
    assert_eq!(states(&client, id).await, ["stored", "emitted", "acked"]);
}

#[tokio::test]
async fn with_a_lease_it_counts_as_shown_when_it_is_acknowledged() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    hook(&client, "main=true", "boss", named("SessionStart")).await;
    let id = client.say("hello").await;
    let payload = json!({ "hook_event_name": "PostToolUse", "session_id": "boss" });
    let answer = client
        .post("/hooks/claude?lease=true")
        .json(&payload)
        .send()
        .await;
    let header = |name| answer.headers[name].to_str().expect("text").to_owned();
    let (lease, inbox) = (header("hub-lease"), header("hub-inbox"));
    assert_eq!(states(&client, id).await, ["stored", "leased"]);
    let ack = client
        .post(&format!("/inboxes/{inbox}/ack"))
        .json(&json!({ "lease": lease }));
    ack.send().await.expect(200);
    assert_eq!(states(&client, id).await, ["stored", "emitted"]);
}

#[tokio::test]
async fn a_subagent_is_told_nothing() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    hook(&client, "main=true", "boss", named("SessionStart")).await;
    let id = client.say("hello").await;
    let inside =
        json!({ "hook_event_name": "PostToolUse", "agent_id": "a1", "agent_type": "Explore" });
    assert_eq!(hook(&client, "", "boss", inside).await, Value::Null);
    assert_eq!(states(&client, id).await, ["stored"]);
}

#[tokio::test]
async fn the_three_hooks_of_one_dialog_make_one_question_and_its_answer_ends_it() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    hook(&client, "", "w1", named("SessionStart")).await;
    let asks = json!({ "questions": [{ "question": "A or B?", "options": [{ "label": "A" }, { "label": "B" }] }] });
    for name in ["PreToolUse", "PermissionRequest"] {
        let event =
            json!({ "hook_event_name": name, "tool_name": "AskUserQuestion", "tool_input": asks });
        hook(&client, "", "w1", event).await;
    }
    let notice = json!({ "hook_event_name": "Notification", "notification_type": "permission_prompt", "message": "m" });
    hook(&client, "", "w1", notice).await;
    let open = client.get("/questions").send().await.expect(200).json();
    let open = open["questions"].as_array().expect("a list");
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(
        (&open[0]["type"], &open[0]["options"]),
        (&json!("question"), &json!(["A", "B"]))
    );
    let text = format!("(hubctl answer {} \"…\")", open[0]["id"]);
    assert!(open[0]["msg"].as_str().expect("a text").ends_with(&text));
    hook(&client, "", "w1", named("PostToolUse")).await;
    let open = client.get("/questions").send().await.expect(200).json();
    assert_eq!(open["questions"], json!([]));
}

#[tokio::test]
async fn a_cleared_session_keeps_its_inbox_under_both_ids() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let process = "pid=4711&started=99&boot_id=b";
    hook(&client, process, "old", named("SessionStart")).await;
    client.notify(json!({ "msg": "before", "to": "old" })).await;
    let end = json!({ "hook_event_name": "SessionEnd", "reason": "clear" });
    hook(&client, process, "old", end).await;
    let start = json!({ "hook_event_name": "SessionStart", "source": "clear" });
    hook(&client, process, "new", start).await;
    let told = hook(&client, process, "new", prompt("go on")).await;
    assert!(context(&told).contains("before"), "{told}");
    client.notify(json!({ "msg": "after", "to": "new" })).await;
    let told = hook(&client, process, "new", named("PostToolUse")).await;
    assert!(context(&told).contains("after"), "{told}");
    let session = client.get("/sessions/new").send().await.expect(200).json();
    assert_eq!(
        (&session["id"], &session["aliases"]),
        (&json!("old"), &json!(["new"]))
    );
}

#[tokio::test]
async fn a_permission_is_held_for_an_answer_only_where_that_is_wanted() {
    let hub = Hub::builder().memory().set("approvals=true").start();
    let client = hub.client();
    let ask = json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": "make" } });
    let held = {
        let (client, ask) = (hub.client(), ask.clone());
        tokio::spawn(async move { hook(&client, "", "w1", ask).await })
    };
    let asked = client
        .get("/wait?inbox=person&timeout=60")
        .send()
        .await
        .expect(200)
        .json();
    let asked = &asked["notifications"][0];
    assert_eq!(asked["msg"], "Agent w1 needs a permission: Bash: make");
    let answer = json!({ "answer": "deny: not now" });
    client
        .post(&format!("/questions/{}/answer", asked["id"]))
        .json(&answer)
        .send()
        .await
        .expect(201);
    let decision = held.await.expect("a reply");
    let decision = &decision["hookSpecificOutput"]["decision"];
    assert_eq!(
        *decision,
        json!({ "behavior": "deny", "message": "not now" })
    );
    let plain = Hub::builder().memory().start();
    assert_eq!(hook(&plain.client(), "", "w1", ask).await, Value::Null);
}

#[tokio::test]
async fn what_is_not_known_is_fine_and_what_is_no_event_is_told() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let strange = json!({ "hook_event_name": "FromTheFuture", "x": [1] });
    assert_eq!(hook(&client, "", "w1", strange).await, Value::Null);
    for (path, body, status) in [
        ("/hooks/claude", "[]", 422),
        ("/hooks/claude", "{", 400),
        ("/hooks/claude", "{}", 422),
        ("/hooks/claude", "{\"session_id\":\"../x\"}", 422),
        ("/hooks/emacs", "{}", 404),
        ("/hooks/claude?sesion=x", "{\"session_id\":\"x\"}", 422),
    ] {
        let answer = client
            .post(path)
            .header("content-type", "application/json")
            .body(body);
        answer.send().await.expect(status);
    }
}

#[tokio::test]
async fn the_primary_with_workers_at_work_is_warned_once_a_turn_where_nothing_wakes_it() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    hook(&client, "main=true", "boss", named("SessionStart")).await;
    hook(&client, "parent=boss", "w1", prompt("go")).await;
    let warned = hook(&client, "main=true", "boss", prompt("how is it?")).await;
    assert!(
        context(&warned).contains("Bash(command: \"hubctl wait\", run_in_background: true)"),
        "{warned}"
    );
    assert_eq!(
        hook(&client, "main=true", "boss", named("PostToolUse")).await,
        Value::Null
    );
}

#[tokio::test]
async fn the_waiter_of_a_session_that_takes_the_role_asks_again() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    hook(&client, "main=false", "boss", named("SessionStart")).await;
    let mut presence = client.events("?kinds=presence").await;
    let waits = client.get("/wait?session=boss&way=rewake&timeout=50");
    let before = tokio::spawn(async move { waits.send().await });
    presence.until_waiting("boss").await;
    let taken = client.post("/sessions/boss/primary").send().await;
    taken.expect(200);
    let before = tokio::time::timeout(hub_harness::DEADLINE, before).await;
    let before = before.expect("it ends at once").expect("an answer");
    assert_eq!(before.status, 204);
    let waits = client.get("/wait?session=boss&way=rewake&timeout=50");
    let after = tokio::spawn(async move { waits.send().await });
    presence.until_waiting("primary").await;
    client.notify(json!({ "from": "ci", "msg": "done" })).await;
    after.await.expect("an answer").expect(200);
}

#[tokio::test]
async fn what_is_too_large_for_a_notification_is_cut_from_it_and_the_rest_is_said() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    hook(&client, "", "w1", named("SessionStart")).await;
    let request = json!({
        "hook_event_name": "PermissionRequest",
        "tool_name": "Write",
        "tool_input": { "content": "x".repeat(900_000) },
    });
    hook(&client, "", "w1", request).await;
    let asked = client.get("/notifications?types=approval").send().await;
    let asked = asked.expect(200);
    assert!(asked.body.len() < 64 * 1024, "{} bytes", asked.body.len());
    let asked = &asked.json()["notifications"][0];
    assert!(asked["data"]["cut"].is_string(), "{asked}");
}
