//! `GET /sessions/{target}/conversation`.

use std::process::Command;

use hub_harness::{Client, Hub, binary, each};
use serde_json::{Value, json};

use crate::{hub_with, memory_hub};

fn prompt(text: &str) -> Value {
    json!({ "hook_event_name": "UserPromptSubmit", "prompt": text })
}

fn stop(text: &str) -> Value {
    json!({ "hook_event_name": "Stop", "last_assistant_message": text })
}

/// The newest part of a conversation: who did what, and the words.
async fn lines(client: &Client, of: &str) -> Value {
    let path = format!("/sessions/{of}/conversation");
    let entries = client.read(&path).await["entries"].clone();
    let line = |it: &Value| json!([it["kind"], it["by"], it["title"], it["text"]]);
    let entries = entries.as_array().expect("entries").iter();
    entries.map(line).collect()
}

/// Lets Claude Code's session ask, and answers its question when it is held.
async fn ask_and_answer(hub: &Hub, client: &Client, asks: Value, answer: &str) {
    let own = client.clone();
    let held = tokio::spawn(async move { own.hook("", "w1", asks).await });
    let batch = client.read("/wait?inbox=person&timeout=60").await;
    client
        .ack("person", json!({ "lease": batch["lease"] }))
        .await;
    let id = batch["notifications"][0]["id"].as_u64().expect("an id");
    hub.person().await.answer(id, answer).await.expect(201);
    held.await.expect("a reply");
}

#[tokio::test]
async fn a_conversation_has_what_was_said_to_an_agent_and_by_it_with_the_answers() {
    let (hub, client) = memory_hub();
    let whole = format!("Fix the *login*\n\n{}", "word ".repeat(1000));
    client.hook("", "w1", prompt(&whole)).await;
    let command = json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": "git push" } });
    ask_and_answer(&hub, &client, command, "deny: not yet").await;
    let choice = json!({ "questions": [{ "question": "A or B?", "options": [{ "label": "A" }, { "label": "B" }] }] });
    let question = json!({ "hook_event_name": "PermissionRequest", "tool_name": "AskUserQuestion", "tool_input": choice });
    ask_and_answer(&hub, &client, question, "A").await;
    let failed = json!({ "hook_event_name": "StopFailure", "error": "rate_limit" });
    client.hook("", "w1", failed).await;
    client.hook("", "w1", stop("All\n\n- done")).await;
    let expected = json!([
        ["prompt", "person", "wrote", whole.trim()],
        [
            "permission",
            "w1",
            "wants to run a command",
            "Bash: git push"
        ],
        ["question", "w1", "asks", "A or B?"],
        ["limit", "w1", "cannot go on for now", "rate_limit"],
        ["stop", "w1", "has stopped", "All\n\n- done"],
    ]);
    assert_eq!(lines(&client, "w1").await, expected);
    let read = client.read("/sessions/w1/conversation").await;
    assert_eq!(read["keeps_words"], true);
    let denied = json!({ "state": "answered", "title": "denied", "by": "person", "decision": "deny", "text": "not yet" });
    assert_eq!(read["entries"][1]["answer"], denied);
    let chosen = json!({ "state": "answered", "title": "answered", "by": "person", "text": "A" });
    assert_eq!(read["entries"][2]["answer"], chosen);
}

#[tokio::test]
async fn each_agent_has_a_conversation_of_its_own_with_what_others_wrote_to_it() {
    let (_hub, client) = memory_hub();
    let codex = |event: Value| {
        let mut payload = json!({ "session_id": "c1", "cwd": "/r/c1" });
        let fields = event.as_object().expect("an object").clone();
        payload.as_object_mut().expect("an object").extend(fields);
        client.post("/hooks/codex").json(&payload)
    };
    codex(prompt("Look around")).await.expect(204);
    client.hook("", "w1", prompt("Write")).await;
    client
        .notify(json!({ "from": "w1", "to": "c1", "msg": "Tests pass." }))
        .await;
    let reads = json!({ "hook_event_name": "PostToolUse" });
    codex(reads).await.expect(200);
    client
        .notify(json!({ "from": "c1", "type": "complete", "msg": "Seen." }))
        .await;
    // The agent has reported its end itself, so its stop is no notification.
    codex(stop("I saw it all.")).await.expect(204);
    let expected = json!([
        ["prompt", "person", "wrote", "Look around"],
        ["message", "w1", "wrote", "Tests pass."],
        ["note", "c1", "complete", "Seen."],
        ["stop", "c1", "has stopped", "I saw it all."],
    ]);
    assert_eq!(lines(&client, "c1").await, expected);
    let expected = json!([
        ["prompt", "person", "wrote", "Write"],
        ["note", "w1", "wrote to c1", "Tests pass."],
    ]);
    assert_eq!(lines(&client, "w1").await, expected);
    client.get("/sessions/w2/conversation").await.expect(404);
}

#[tokio::test]
async fn a_wake_says_who_caused_it_and_shows_no_words_of_the_hub() {
    let (_hub, client) = memory_hub();
    client.hook("", "w1", prompt("go")).await;
    client.hook("", "w1", stop("Done.")).await;
    client
        .notify(json!({ "from": "ci", "to": "w1", "msg": "The build is red." }))
        .await;
    let batch = client.take("&session=w1&way=rewake").await;
    client.ack("w1", batch).await;
    let woken = prompt("<task-notification>\n[hub] The build is red.</task-notification>");
    client.hook("", "w1", woken).await;
    let expected = json!([
        ["prompt", "person", "wrote", "go"],
        ["stop", "w1", "has stopped", "Done."],
        ["message", "ci", "wrote", "The build is red."],
        ["wake", "hub", "woke it: ci wrote", null],
    ]);
    assert_eq!(lines(&client, "w1").await, expected);
}

#[tokio::test]
async fn older_parts_of_a_conversation_follow_from_next() {
    let (_hub, client) = memory_hub();
    for n in 0..7 {
        client.hook("", "w1", prompt(&format!("prompt {n}"))).await;
        client.hook("", "w2", prompt("other")).await;
    }
    let mut path = "/sessions/w1/conversation?limit=3".to_owned();
    let mut parts = Vec::new();
    loop {
        let part = client.read(&path).await;
        parts.push(each(&part["entries"], "text"));
        let Some(next) = part["next"].as_u64() else {
            break;
        };
        path = format!("/sessions/w1/conversation?limit=3&before={next}");
    }
    let expected = json!([
        ["prompt 4", "prompt 5", "prompt 6"],
        ["prompt 1", "prompt 2", "prompt 3"],
        ["prompt 0"],
    ]);
    assert_eq!(json!(parts), expected);
    let limit = client.get("/sessions/w1/conversation?limit=201").await;
    limit.expect(422);
}

#[tokio::test]
async fn without_keep_words_the_log_has_no_prompt_and_no_last_message() {
    let (_hub, client) = hub_with(&["keep_words=false"]);
    client.hook("", "w1", prompt("a SECRET prompt")).await;
    client.hook("", "w1", stop("a SECRET answer")).await;
    client.hook("", "w1", prompt("SECRET again")).await;
    client
        .notify(json!({ "from": "w1", "type": "complete", "msg": "done" }))
        .await;
    client.hook("", "w1", stop("a SECRET end")).await;
    let read = client.read("/sessions/w1/conversation").await;
    assert_eq!(read["keeps_words"], false);
    let kinds = json!(["prompt", "stop", "prompt", "note"]);
    assert_eq!(each(&read["entries"], "kind"), kinds);
    for kept in [read, client.read("/notifications").await] {
        assert!(!kept.to_string().contains("SECRET"), "{kept}");
    }
}

#[tokio::test]
async fn a_reset_with_its_history_hides_what_was_said() {
    let (_hub, client) = memory_hub();
    client.hook("", "w1", prompt("the OLD plan")).await;
    let done = json!({ "from": "w1", "type": "complete", "msg": "done" });
    client.notify(done).await;
    client.hook("", "w1", stop("the OLD end")).await;
    let reset = client.post("/projects/default/reset?history=true").await;
    reset.expect(200);
    client.hook("", "w1", prompt("the new plan")).await;
    let expected = json!([["prompt", "person", "wrote", "the new plan"]]);
    assert_eq!(lines(&client, "w1").await, expected);
}

/// The first notification that the log keeps.
async fn first_kept(client: &Client) -> u64 {
    let mut events = client.events("?since=0&kinds=notification").await;
    events.next_of("notification").await.data["id"]
        .as_u64()
        .expect("an id")
}

#[tokio::test]
async fn retention_drops_what_was_said() {
    let hub = Hub::builder().set("retention.max_bytes=200000");
    let mut hub = hub.set("snapshot.every_records=20").start();
    let client = hub.client();
    client.hook("", "w1", prompt("the OLD plan")).await;
    client
        .notify(json!({ "from": "w1", "type": "complete", "msg": "done" }))
        .await;
    client.hook("", "w1", stop("the OLD end")).await;
    let said = |entries: &Value| entries.to_string().contains("OLD");
    assert!(said(&lines(&client, "w1").await));
    let last = client.head().await;
    while first_kept(&client).await <= last {
        let fills = json!({ "to": "nobody", "type": "progress", "msg": "x".repeat(20_000) });
        client.notify(fills).await;
    }
    assert!(!said(&lines(&client, "w1").await));
    let dir = hub.state_dir();
    assert!(hub.stop().success());
    let mut export = Command::new(binary("hubd"));
    let export = export.args(["export", "--state-dir"]).arg(dir).output();
    let export = export.expect("hubd runs");
    assert!(export.status.success());
    assert!(!String::from_utf8_lossy(&export.stdout).contains("OLD"));
}
