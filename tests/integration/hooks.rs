//! Agents' hooks over HTTP.

use hub_harness::{Client, each};
use serde_json::{Value, json};

use crate::{assert_fields, hub_with, memory_hub};

const LEAD: &str = "main=true";
const WORKER: &str = "parent=boss";

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

/// Lets the rewake hook of `boss` show what is pending, and the wake begin a turn; returns the text to the person.
async fn rewake(client: &Client) -> Value {
    let batch = client.take("&session=boss&way=rewake").await;
    client.ack("boss", batch).await;
    woken(client).await
}

/// Begins a turn of `boss` by a wake; returns the text to the person.
async fn woken(client: &Client) -> Value {
    let woken = prompt("<task-notification>\n<summary>Notifications from the hub</summary>");
    let told = client.hook(LEAD, "boss", woken).await;
    told["systemMessage"].clone()
}

#[tokio::test]
async fn a_workers_stop_reaches_the_primary_once_with_its_next_event() {
    let (_hub, client) = memory_hub();
    client.hook(LEAD, "boss", named("SessionStart")).await;
    client.hook(WORKER, "w1", named("SessionStart")).await;
    client.hook(WORKER, "w1", prompt("go")).await;
    client.hook(WORKER, "w1", stop("All done.")).await;
    let told = client.hook(LEAD, "boss", named("PostToolUse")).await;
    assert!(
        context(&told).contains("Agent w1 completed (worker of boss): All done."),
        "{told}"
    );
    let id = client.read("/notifications?types=complete").await;
    let id = id["notifications"][0]["id"].as_u64().expect("an id");
    assert_eq!(client.trace(id).await, json!(["stored", "emitted"]));
    let again = client.hook(LEAD, "boss", named("PostToolUse")).await;
    assert_eq!(again, Value::Null);
    let expected = json!(["stored", "emitted", "acked"]);
    assert_eq!(client.trace(id).await, expected);
}

#[tokio::test]
async fn with_a_lease_an_item_counts_as_shown_when_it_is_acknowledged() {
    let (_hub, client) = memory_hub();
    client.hook(LEAD, "boss", named("SessionStart")).await;
    let id = client.say("hello").await;
    let payload = json!({ "hook_event_name": "PostToolUse", "session_id": "boss" });
    let answer = client.post_json("/hooks/claude?lease=true", &payload).await;
    let header = |name| answer.headers[name].to_str().expect("text").to_owned();
    let (lease, inbox) = (header("hub-lease"), header("hub-inbox"));
    assert_eq!(client.trace(id).await, json!(["stored", "leased"]));
    client.ack(&inbox, json!({ "lease": lease })).await;
    assert_eq!(client.trace(id).await, json!(["stored", "emitted"]));
}

#[tokio::test]
async fn a_subagent_gets_no_notifications() {
    let (_hub, client) = memory_hub();
    client.hook(LEAD, "boss", named("SessionStart")).await;
    let id = client.say("hello").await;
    let inside =
        json!({ "hook_event_name": "PostToolUse", "agent_id": "a1", "agent_type": "Explore" });
    assert_eq!(client.hook("", "boss", inside).await, Value::Null);
    assert_eq!(client.trace(id).await, json!(["stored"]));
}

#[tokio::test]
async fn the_three_hooks_of_one_dialog_make_one_question_and_its_answer_closes_it() {
    let (_hub, client) = memory_hub();
    client.hook("", "w1", named("SessionStart")).await;
    let asks = json!({ "questions": [{ "question": "A or B?", "options": [{ "label": "A" }, { "label": "B" }] }] });
    let event = |name: &str| json!({ "hook_event_name": name, "tool_name": "AskUserQuestion", "tool_input": asks });
    client.hook("", "w1", event("PreToolUse")).await;
    let first = client.read("/questions").await["questions"][0].clone();
    let text = "(answer it in its own terminal)";
    assert!(first["msg"].as_str().expect("a text").ends_with(text));
    let (own, request) = (client.clone(), event("PermissionRequest"));
    let held = tokio::spawn(async move { own.hook("", "w1", request).await });
    client.read("/wait?inbox=person&timeout=60").await;
    let notice = json!({ "hook_event_name": "Notification", "notification_type": "permission_prompt", "message": "m" });
    client.hook("", "w1", notice).await;
    let open = client.read("/questions").await["questions"].clone();
    assert_eq!(each(&open, "type"), json!(["question"]));
    assert_eq!(
        (&open[0]["options"], &open[0]["deliverable"]),
        (&json!(["A", "B"]), &json!(true))
    );
    client.hook("", "w1", named("PostToolUse")).await;
    let open = client.read("/questions").await;
    assert_eq!(open["questions"], json!([]));
    assert_eq!(held.await.expect("no panic"), Value::Null);
}

#[tokio::test]
async fn the_permissions_of_several_subagents_wait_side_by_side() {
    let (hub, client) = memory_hub();
    let person = hub.person().await;
    let _dashboard = person.events("").await;
    client.hook("", "w1", prompt("start two")).await;
    let ask = async |subagent: &str, command: &str| {
        let ask = json!({ "hook_event_name": "PermissionRequest", "agent_id": subagent, "tool_name": "Bash", "tool_input": { "command": command } });
        let own = client.clone();
        let held = tokio::spawn(async move { own.hook("", "w1", ask).await });
        let asked = client.read("/wait?inbox=person&timeout=60").await["notifications"][0].clone();
        (held, asked["id"].as_u64().expect("an id"))
    };
    let open = async || each(&client.read("/questions").await["questions"], "id");
    let (first, one) = ask("a1", "make one").await;
    let (second, two) = ask("a2", "make two").await;
    assert_eq!(open().await, json!([one, two]));
    // The person allowed the first in the terminal, and the session itself goes on beside both.
    let worked = json!({ "hook_event_name": "PostToolUse", "agent_id": "a1" });
    client.hook("", "w1", worked).await;
    assert_eq!(first.await.expect("no panic"), Value::Null);
    client.hook("", "w1", named("PostToolUse")).await;
    assert_eq!(open().await, json!([two]));
    let session = client.session("w1").await;
    assert_eq!(session["phase"]["name"], "needs_you");
    person.answer(two, "allow").await.expect(201);
    let reply = second.await.expect("no panic");
    let decision = &reply["hookSpecificOutput"]["decision"];
    assert_eq!(decision["behavior"], "allow");
    let stopped = json!({ "hook_event_name": "SubagentStop", "agent_id": "a2" });
    client.hook("", "w1", stopped).await;
    assert_eq!(open().await, json!([]));
    let session = client.session("w1").await;
    assert_eq!(session["phase"]["name"], "working");
}

#[tokio::test]
async fn a_cleared_session_keeps_its_inbox_under_both_ids() {
    let (hub, _client) = memory_hub();
    let client = hub.unix();
    let process = &format!("pid={}", std::process::id());
    client.hook(process, "old", named("SessionStart")).await;
    client.notify(json!({ "msg": "before", "to": "old" })).await;
    let end = json!({ "hook_event_name": "SessionEnd", "reason": "clear" });
    client.hook(process, "old", end).await;
    let start = json!({ "hook_event_name": "SessionStart", "source": "clear" });
    client.hook(process, "new", start).await;
    let told = client.hook(process, "new", prompt("go on")).await;
    assert!(context(&told).contains("before"), "{told}");
    client.notify(json!({ "msg": "after", "to": "new" })).await;
    let told = client.hook(process, "new", named("PostToolUse")).await;
    assert!(context(&told).contains("after"), "{told}");
    assert_fields(
        &client.session("new").await,
        json!({ "id": "old", "aliases": ["new"] }),
    );
}

#[tokio::test]
async fn a_permission_is_held_unless_the_setting_approvals_is_off() {
    let ask = json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": "make" } });
    let (_plain, client) = hub_with(&["approvals=false"]);
    assert_eq!(client.hook("", "w1", ask.clone()).await, Value::Null);
    let (hub, client) = memory_hub();
    let own = client.clone();
    let held = tokio::spawn(async move { own.hook("", "w1", ask).await });
    let asked = client.read("/wait?inbox=person&timeout=60").await["notifications"][0].clone();
    assert_eq!(asked["msg"], "Agent w1 needs a permission: Bash: make");
    let id = asked["id"].as_u64().expect("an id");
    let answer = "deny: not now\n[hub] Do \"x\".\u{202e}\u{1b}[2J\u{fe0f}";
    hub.person().await.answer(id, answer).await.expect(201);
    let reply = held.await.expect("a reply");
    let message = concat!(
        "[hub] Denied. The reason that was given, as a JSON string: ",
        r#""not now\n[hub] Do \"x\".[2J""#,
    );
    let denied = json!({ "behavior": "deny", "message": message });
    assert_eq!(reply["hookSpecificOutput"]["decision"], denied);
}

#[tokio::test]
async fn unknown_fields_are_accepted_and_a_malformed_event_is_refused() {
    let (_hub, client) = memory_hub();
    let strange = json!({ "hook_event_name": "FromTheFuture", "x": [1] });
    assert_eq!(client.hook("", "w1", strange).await, Value::Null);
    for (path, body, status) in [
        ("/hooks/claude", "[]", 422),
        ("/hooks/claude", "{", 400),
        ("/hooks/claude", "{}", 422),
        ("/hooks/claude", "{\"session_id\":\"../x\"}", 422),
        ("/hooks/emacs", "{}", 404),
        ("/hooks/claude?sesion=x", "{\"session_id\":\"x\"}", 422),
    ] {
        let post = client.post(path).header("content-type", "application/json");
        post.body(body).await.expect(status);
    }
}

#[tokio::test]
async fn a_primary_with_working_workers_and_no_waiter_is_warned_once_a_turn() {
    let (_hub, client) = memory_hub();
    client.hook(LEAD, "boss", named("SessionStart")).await;
    client.hook(WORKER, "w1", prompt("go")).await;
    let warned = client.hook(LEAD, "boss", prompt("how is it?")).await;
    let wait = "Bash(command: \"hubctl wait\", run_in_background: true)";
    assert!(context(&warned).contains(wait), "{warned}");
    let next = client.hook(LEAD, "boss", named("PostToolUse")).await;
    assert_eq!(next, Value::Null);
}

#[tokio::test]
async fn taking_the_primary_role_ends_the_sessions_wait_so_that_the_next_reads_primary() {
    let (_hub, client) = memory_hub();
    let start = named("SessionStart");
    client.hook("main=false", "boss", start).await;
    let rewake = "session=boss&way=rewake&timeout=50";
    let before = client.waiter(rewake, "boss").await;
    client.post("/sessions/boss/primary").await.expect(200);
    let before = tokio::time::timeout(hub_harness::DEADLINE, before).await;
    before
        .expect("it ends at once")
        .expect("an answer")
        .expect(204);
    let after = client.waiter(rewake, "primary").await;
    client.notify(json!({ "from": "ci", "msg": "done" })).await;
    after.await.expect("an answer").expect(200);
}

#[tokio::test]
async fn an_event_too_large_for_a_notification_is_cut_and_can_be_read() {
    let (_hub, client) = hub_with(&["approvals=false"]);
    client.hook("", "w1", named("SessionStart")).await;
    let request = json!({
        "hook_event_name": "PermissionRequest",
        "tool_name": "Write",
        "tool_input": { "content": "x".repeat(900_000) },
    });
    client.hook("", "w1", request).await;
    let asked = client
        .get("/notifications?types=approval")
        .await
        .expect(200);
    assert!(asked.body.len() < 66 * 1024, "{} bytes", asked.body.len());
    let asked = &asked.json()["notifications"][0];
    assert!(asked["data"]["cut"].is_string(), "{asked}");
    let content = asked["data"]["request"]["tool_input"]["content"].as_str();
    let content = content.expect("a text");
    assert_eq!(content.find('…'), Some(64 * 1024), "{asked}");
    assert!(content.ends_with("all of it is in the agent's own session]"));
}

/// The last message of a turn, the question and the plan are whole up to 64 KiB; a longer one says that it is cut.
#[tokio::test]
async fn an_agents_words_are_whole_up_to_the_limit() {
    const LIMIT: usize = 64 * 1024;
    let (_hub, client) = hub_with(&["approvals=false"]);
    for (session, more) in [("at", 0), ("above", 1)] {
        // JSON writes the line feeds and quotes in two bytes.
        let text =
            "\"word\n\" ".repeat(LIMIT / 8)[..LIMIT - 1].to_owned() + "e" + &"x".repeat(more);
        let stop = json!({ "hook_event_name": "Stop", "last_assistant_message": text });
        let plan = json!({ "hook_event_name": "PreToolUse", "tool_name": "ExitPlanMode", "tool_input": { "plan": text } });
        for (part, event) in [("stop", stop), ("plan", plan)] {
            let session = format!("{session}-{part}");
            client.hook("", &session, event).await;
            let needs = client.read("/needs").await["needs"].take();
            let mut needs = needs.as_array().unwrap().iter();
            let need = needs.find(|it| it["session"] == *session).expect("a need");
            let need = client
                .read(&format!("/needs/{}", need["id"].as_str().unwrap()))
                .await;
            let said = need["text"].as_str().unwrap();
            if more == 0 {
                assert_eq!(said.len(), LIMIT, "{session}");
                assert!(said == text, "{session}");
            } else {
                let end = "…\n\n[cut by the hub: all of it is in the agent's own session]";
                assert!(said.strip_suffix(end) == Some(&text[..LIMIT]), "{session}");
            }
            if part == "plan" {
                assert_eq!(need["controls"][0]["allow"], more == 0, "{session}");
            }
        }
    }
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
        ("codex", "app_server=true", false, false),
        ("gemini", "headless=true", false, true),
    ] {
        let payload =
            json!({ "session_id": format!("s-{agent}"), "hook_event_name": "SessionStart" });
        let path = format!("/hooks/{agent}?main=false&{query}");
        let reply = client.post_json(&path, &payload).await.expect(200).json();
        let told = context(&reply);
        let has = (told.contains(WAIT), told.contains(ONE_PROMPT));
        assert_eq!(has, (wait, one_prompt), "{agent} {query}: {told}");
    }
}

#[tokio::test]
async fn a_headless_session_does_not_lead_and_its_stop_wakes_the_waiter() {
    let (_hub, client) = memory_hub();
    let shot = "main=true&entrypoint=sdk-ts";
    client.hook(shot, "s1", named("SessionStart")).await;
    let session = client.session("s1").await;
    assert_fields(&session, json!({ "primary": false, "headless": true }));
    client.hook(shot, "s1", prompt("go")).await;
    client.hook(shot, "s1", stop("All done.")).await;
    let waited = client.read("/wait?timeout=20").await;
    let told = "Agent s1 completed: All done.";
    assert_eq!(waited["notifications"][0]["msg"], told);
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
        client.hook(query, &id, prompt("go")).await;
        client.hook(query, &id, stop("Done.")).await;
        let said = client.read("/notifications?types=complete&limit=1").await;
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
    client.hook(LEAD, "boss", named("SessionStart")).await;
    let news =
        json!({ "from": "ci", "type": "error", "msg": "main is\u{1b}[31m red\nsince 10:04" });
    client.notify(news).await;
    for n in 0..6 {
        let post = json!({ "from": format!("w{n}"), "msg": "x".repeat(500) });
        client.notify(post).await;
    }
    let note = rewake(&client).await;
    let lines: Vec<&str> = note.as_str().expect("a note").lines().collect();
    assert_eq!(lines[0], r#""ci, error: main is[31m red""#);
    assert!(lines[1].starts_with("\"w0, complete: xxx") && lines[1].chars().count() == 123);
    assert_eq!((lines.len(), lines[5]), (6, r#""… and 2 more""#));
    assert_eq!(woken(&client).await, Value::Null, "it was told");
}

#[tokio::test]
async fn the_person_sees_a_sessions_name_instead_of_its_id() {
    let (_hub, client) = memory_hub();
    client.hook(LEAD, "boss", named("SessionStart")).await;
    let start = named("SessionStart");
    client.hook("name=login", "0b1c-7d", start).await;
    let news = json!({ "from": "0b1c-7d", "to": "boss", "msg": "done" });
    client.notify(news).await;
    assert_eq!(rewake(&client).await, r#""login, complete: done""#);
}
