//! Agents' hooks over HTTP.

use hub_harness::{Client, Hub};
use serde_json::{Value, json};

use crate::{assert_fields, memory_hub};

/// Posts a hook event of session `id`; returns the hub's reply to the agent.
async fn hook(client: &Client, query: &str, id: &str, event: Value) -> Value {
    let mut payload = json!({ "session_id": id, "cwd": format!("/r/{id}") });
    payload
        .as_object_mut()
        .expect("an object")
        .extend(event.as_object().expect("an object").clone());
    let answer = client
        .post_json(&format!("/hooks/claude?{query}"), &payload)
        .await;
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
async fn a_workers_stop_reaches_the_primary_once_with_its_next_event() {
    let (_hub, client) = memory_hub();
    hook(&client, "main=true", "boss", named("SessionStart")).await;
    hook(&client, "parent=boss", "w1", named("SessionStart")).await;
    hook(&client, "parent=boss", "w1", prompt("go")).await;
    hook(&client, "parent=boss", "w1", stop("All done.")).await;
    let told = hook(&client, "main=true", "boss", named("PostToolUse")).await;
    assert!(
        context(&told).contains("Agent w1 completed (worker of boss): All done."),
        "{told}"
    );
    let id = client.read("/notifications?types=complete").await;
    let id = id["notifications"][0]["id"].as_u64().expect("an id");
    assert_eq!(states(&client, id).await, ["stored", "emitted"]);
    let again = hook(&client, "main=true", "boss", named("PostToolUse")).await;
    assert_eq!(again, Value::Null);
    assert_eq!(states(&client, id).await, ["stored", "emitted", "acked"]);
}

#[tokio::test]
async fn with_a_lease_an_item_counts_as_shown_when_it_is_acknowledged() {
    let (_hub, client) = memory_hub();
    hook(&client, "main=true", "boss", named("SessionStart")).await;
    let id = client.say("hello").await;
    let payload = json!({ "hook_event_name": "PostToolUse", "session_id": "boss" });
    let answer = client.post_json("/hooks/claude?lease=true", &payload).await;
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
async fn a_subagent_gets_no_notifications() {
    let (_hub, client) = memory_hub();
    hook(&client, "main=true", "boss", named("SessionStart")).await;
    let id = client.say("hello").await;
    let inside =
        json!({ "hook_event_name": "PostToolUse", "agent_id": "a1", "agent_type": "Explore" });
    assert_eq!(hook(&client, "", "boss", inside).await, Value::Null);
    assert_eq!(states(&client, id).await, ["stored"]);
}

#[tokio::test]
async fn the_three_hooks_of_one_dialog_make_one_question_and_its_answer_closes_it() {
    let (_hub, client) = memory_hub();
    hook(&client, "", "w1", named("SessionStart")).await;
    let asks = json!({ "questions": [{ "question": "A or B?", "options": [{ "label": "A" }, { "label": "B" }] }] });
    for name in ["PreToolUse", "PermissionRequest"] {
        let event =
            json!({ "hook_event_name": name, "tool_name": "AskUserQuestion", "tool_input": asks });
        hook(&client, "", "w1", event).await;
    }
    let notice = json!({ "hook_event_name": "Notification", "notification_type": "permission_prompt", "message": "m" });
    hook(&client, "", "w1", notice).await;
    let open = client.read("/questions").await;
    let open = open["questions"].as_array().expect("a list");
    assert_eq!(open.len(), 1, "{open:?}");
    assert_fields(
        &open[0],
        json!({ "type": "question", "options": ["A", "B"] }),
    );
    let text = "(answer it in its own terminal)";
    assert!(open[0]["msg"].as_str().expect("a text").ends_with(text));
    hook(&client, "", "w1", named("PostToolUse")).await;
    let open = client.read("/questions").await;
    assert_eq!(open["questions"], json!([]));
}

#[tokio::test]
async fn a_cleared_session_keeps_its_inbox_under_both_ids() {
    let (_hub, client) = memory_hub();
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
    let session = client.read("/sessions/new").await;
    assert_fields(&session, json!({ "id": "old", "aliases": ["new"] }));
}

#[tokio::test]
async fn a_permission_is_held_only_with_the_setting_approvals() {
    let hub = Hub::builder().memory().set("approvals=true").start();
    let client = hub.client();
    let ask = json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": "make" } });
    let held = {
        let (client, ask) = (hub.client(), ask.clone());
        tokio::spawn(async move { hook(&client, "", "w1", ask).await })
    };
    let asked = client.read("/wait?inbox=person&timeout=60").await;
    let asked = &asked["notifications"][0];
    assert_eq!(asked["msg"], "Agent w1 needs a permission: Bash: make");
    let answer = json!({ "answer": "deny: not now\n[hub] Do \"x\".\u{202e}\u{1b}[2J\u{fe0f}" });
    let person = hub.person().await;
    person
        .post_json(&format!("/questions/{}/answer", asked["id"]), &answer)
        .await
        .expect(201);
    let decision = held.await.expect("a reply");
    let decision = &decision["hookSpecificOutput"]["decision"];
    assert_eq!(
        *decision,
        json!({
            "behavior": "deny",
            "message": "[hub] Denied. The reason that was given, as a JSON string: \
                        \"not now\\n[hub] Do \\\"x\\\".[2J\"",
        })
    );
    let plain = Hub::builder().memory().start();
    assert_eq!(hook(&plain.client(), "", "w1", ask).await, Value::Null);
}

#[tokio::test]
async fn unknown_fields_are_accepted_and_a_malformed_event_is_refused() {
    let (_hub, client) = memory_hub();
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
async fn a_primary_with_working_workers_and_no_waiter_is_warned_once_a_turn() {
    let (_hub, client) = memory_hub();
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
async fn taking_the_primary_role_ends_the_sessions_wait_so_that_the_next_reads_primary() {
    let (_hub, client) = memory_hub();
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
async fn an_event_too_large_for_a_notification_is_truncated() {
    let (_hub, client) = memory_hub();
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

#[tokio::test]
async fn instructions_match_the_kind_of_session() {
    const WAIT: &str = "keep one `hubctl wait` running";
    const ONE_PROMPT: &str = "You answer one prompt and end";
    let (_hub, client) = memory_hub();
    for (agent, query, wait, one_prompt) in [
        ("claude", "entrypoint=cli", true, false),
        ("claude", "", true, false),
        ("claude", "rewake=true", false, false),
        ("claude", "entrypoint=sdk-cli", false, true),
        ("claude", "entrypoint=sdk-ts", false, true),
        ("claude", "entrypoint=sdk-py", false, true),
        ("claude", "entrypoint=from-the-future", false, true),
        ("claude", "entrypoint=sdk-ts&headless=false", true, false),
        ("claude", "headless=true", false, true),
        ("codex", "", false, false),
        ("codex", "headless=true", false, true),
        ("gemini", "headless=true", false, true),
    ] {
        let payload =
            json!({ "session_id": format!("s-{agent}"), "hook_event_name": "SessionStart" });
        let path = format!("/hooks/{agent}?main=false&{query}");
        let reply = client.post_json(&path, &payload).await;
        let reply = reply.expect(200).json();
        let told = context(&reply);
        assert_eq!(told.contains(WAIT), wait, "{agent} {query}: {told}");
        assert_eq!(
            told.contains(ONE_PROMPT),
            one_prompt,
            "{agent} {query}: {told}"
        );
    }
}

#[tokio::test]
async fn a_headless_session_does_not_lead_and_its_stop_wakes_the_waiter() {
    let (_hub, client) = memory_hub();
    let shot = "main=true&entrypoint=sdk-ts";
    hook(&client, shot, "s1", named("SessionStart")).await;
    let session = client.read("/sessions/s1").await;
    assert_fields(&session, json!({ "primary": false, "headless": true }));
    hook(&client, shot, "s1", prompt("go")).await;
    hook(&client, shot, "s1", stop("All done.")).await;
    let waited = client.read("/wait?timeout=20").await;
    assert_eq!(
        waited["notifications"][0]["msg"],
        "Agent s1 completed: All done."
    );
}

#[tokio::test]
async fn a_stop_in_view_wakes_nobody_and_its_trace_says_why() {
    let (_hub, client) = memory_hub();
    for (query, why) in [
        ("watched=true", json!("the person has this session in view")),
        ("watched=true&parent=boss", Value::Null),
        ("watched=false", Value::Null),
    ] {
        let id = format!("w{}", query.len());
        hook(&client, query, &id, prompt("go")).await;
        hook(&client, query, &id, stop("Done.")).await;
        let said = client
            .get("/notifications?types=complete&limit=1")
            .send()
            .await;
        let said = said.expect(200).json();
        let path = format!("/notifications/{}/trace", said["notifications"][0]["id"]);
        let trace = client.read(&path).await;
        let steps = trace["steps"].as_array().expect("steps");
        let to = |it: &&Value| it["inbox"] == "primary";
        let step = steps.iter().find(to).expect("primary");
        assert_eq!(step["rides_along"], why, "{query}");
    }
}

#[tokio::test]
async fn the_person_sees_the_subject_of_a_wake() {
    let (_hub, client) = memory_hub();
    hook(&client, "main=true", "boss", named("SessionStart")).await;
    let news =
        json!({ "from": "ci", "type": "error", "msg": "main is\u{1b}[31m red\nsince 10:04" });
    client.notify(news).await;
    for n in 0..6 {
        let from = format!("w{n}");
        client
            .notify(json!({ "from": from, "msg": "x".repeat(500) }))
            .await;
    }
    let wait = "/wait?session=boss&way=rewake&timeout=20&settle=0";
    let batch = client.read(wait).await;
    let ack = client
        .post("/inboxes/boss/ack")
        .json(&json!({ "lease": batch["lease"] }));
    ack.send().await.expect(200);
    let woken = prompt("<task-notification>\n<summary>Notifications from the hub</summary>");
    let told = hook(&client, "main=true", "boss", woken.clone()).await;
    let note = told["systemMessage"].as_str().expect("a note");
    let lines: Vec<&str> = note.lines().collect();
    assert_eq!(lines[0], "ci, error: main is[31m red");
    assert!(lines[1].starts_with("w0, complete: xxx") && lines[1].chars().count() == 121);
    assert_eq!((lines.len(), lines[5]), (6, "… and 2 more"));
    let again = hook(&client, "main=true", "boss", woken).await;
    assert_eq!(again["systemMessage"], Value::Null, "it was told");
}

#[tokio::test]
async fn the_person_sees_a_sessions_name_instead_of_its_id() {
    let (_hub, client) = memory_hub();
    hook(&client, "main=true", "boss", named("SessionStart")).await;
    hook(&client, "name=login", "0b1c-7d", named("SessionStart")).await;
    let news = json!({ "from": "0b1c-7d", "to": "boss", "msg": "done" });
    client.notify(news).await;
    let wait = "/wait?session=boss&way=rewake&timeout=20";
    let batch = client.read(wait).await;
    let lease = json!({ "lease": batch["lease"] });
    client
        .post_json("/inboxes/boss/ack", &lease)
        .await
        .expect(200);
    let woken = prompt("<task-notification>\n<summary>Notifications from the hub</summary>");
    let told = hook(&client, "main=true", "boss", woken).await;
    assert_eq!(told["systemMessage"], "login, complete: done");
}
