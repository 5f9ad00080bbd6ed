//! Hooks of agents other than Claude Code, with the payloads that the real agents send.

use hub_harness::{Client, each};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::memory_hub;

/// A question with two options, as Codex, Qwen Code and `OpenCode` ask it.
fn questions() -> Value {
    json!({ "questions": [{
        "id": "db", "header": "Database", "question": "Which db?",
        "options": [{ "label": "postgres", "description": "big" }, { "label": "sqlite", "description": "small" }],
    }] })
}

/// Posts a hook of the agent's session `s1`; returns the answer.
async fn hook(client: &Client, agent: &str, event: &Value) -> Value {
    let mut payload = event.clone();
    let id = if agent == "copilot" {
        "sessionId"
    } else {
        "session_id"
    };
    payload[id] = "s1".into();
    let answer = client.post_json(&format!("/hooks/{agent}"), &payload).await;
    match answer.status {
        204 => Value::Null,
        _ => answer.expect(200).json(),
    }
}

/// Posts a hook that the hub may hold.
fn holding(client: &Client, agent: &'static str, event: &Value) -> JoinHandle<Value> {
    let (client, event) = (client.clone(), event.clone());
    tokio::spawn(async move { hook(&client, agent, &event).await })
}

async fn open(client: &Client) -> Vec<Value> {
    let open = client.read("/questions").await["questions"].clone();
    open.as_array().expect("a list").clone()
}

/// The hook with which each agent asks the person a question.
fn asking() -> [(&'static str, Value); 6] {
    let named = |name: &str, tool: &str| json!({ "hook_event_name": name, "tool_name": tool, "tool_input": questions() });
    let several = json!({ "questions": [{
        "header": "Database", "question": "Which db?", "multi_select": false,
        "options": [{ "label": "postgres", "description": "big" }, { "label": "sqlite", "description": "small" }],
    }] });
    let schema = json!({ "type": "object", "properties": { "db": { "type": "string", "enum": ["postgres", "sqlite"] } }, "required": ["db"] });
    [
        ("codex", named("PreToolUse", "request_user_input")),
        ("qwen", named("PermissionRequest", "ask_user_question")),
        (
            "kimi",
            json!({ "hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion", "tool_input": several, "tool_call_id": "t" }),
        ),
        (
            "copilot",
            json!({ "hook_event_name": "preToolUse", "toolName": "ask_user", "toolArgs": { "message": "Which db?", "requestedSchema": schema } }),
        ),
        (
            "opencode",
            json!({ "hook_event_name": "question.asked", "answerable": true, "properties": questions() }),
        ),
        (
            "opencode",
            json!({ "hook_event_name": "form.created", "properties": { "form": { "id": "f", "sessionID": "s1", "title": "Questions", "fields": [{
                "key": "q0", "title": "Database", "description": "Which db?", "type": "string", "custom": true,
                "options": [{ "value": "postgres", "label": "postgres" }, { "value": "sqlite", "label": "sqlite" }],
            }] } } }),
        ),
    ]
}

#[tokio::test]
async fn a_question_of_every_agent_has_its_text_and_its_options_and_wakes_no_agent() {
    for (agent, event) in asking() {
        let (_hub, client) = memory_hub();
        hook(
            &client,
            agent,
            &json!({ "hook_event_name": "SessionStart" }),
        )
        .await;
        let held = holding(&client, agent, &event);
        let asked = client.read("/wait?inbox=person&timeout=60").await["notifications"][0].clone();
        let text = asked["msg"].as_str().expect("a text");
        assert!(
            text.starts_with(&format!("Agent {agent} asks: Which db?")),
            "{agent}: {text}"
        );
        assert_eq!(asked["options"], json!(["postgres", "sqlite"]), "{agent}");
        let question = &asked["data"]["dialog"]["tool_input"]["questions"][0];
        assert_eq!(question["question"], "Which db?", "{agent}");
        let trace = client
            .read(&format!("/notifications/{}/trace", asked["id"]))
            .await;
        let steps = trace["steps"].as_array().expect("steps");
        let mut primary = steps.iter().filter(|it| it["inbox"] == "primary");
        assert!(
            primary.all(|it| it["rides_along"].is_string()),
            "{agent}: {trace}"
        );
        held.abort();
    }
}

#[tokio::test]
async fn without_a_dashboard_a_question_says_that_its_terminal_answers_it() {
    for (agent, event) in asking() {
        if event["answerable"] == true {
            continue;
        }
        let (_hub, client) = memory_hub();
        assert_eq!(hook(&client, agent, &event).await, Value::Null, "{agent}");
        let asked = open(&client).await.remove(0);
        let text = asked["msg"].as_str().expect("a text");
        assert!(
            text.ends_with("(answer it in its own terminal)"),
            "{agent}: {text}"
        );
        assert_eq!(asked["deliverable"], false, "{agent}");
    }
}

#[tokio::test]
async fn an_answer_from_the_hub_reaches_every_agent_whose_hook_takes_one() {
    for (agent, event) in asking() {
        if event["hook_event_name"] == "form.created" {
            continue;
        }
        let (hub, client) = memory_hub();
        let person = hub.person().await;
        let _dashboard = person.events("").await;
        let held = holding(&client, agent, &event);
        let asked = client.read("/wait?inbox=person&timeout=60").await["notifications"][0].clone();
        let id = asked["id"].as_u64().expect("an id");
        person.answer(id, "sqlite \"x\"\u{202e}").await.expect(201);
        let reply = held.await.expect("no panic");
        let reason = match agent {
            "codex" | "kimi" => {
                assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny");
                &reply["hookSpecificOutput"]["permissionDecisionReason"]
            }
            "qwen" => {
                assert_eq!(reply["hookSpecificOutput"]["decision"]["behavior"], "deny");
                &reply["hookSpecificOutput"]["decision"]["message"]
            }
            "copilot" => {
                assert_eq!(reply["permissionDecision"], "deny");
                &reply["permissionDecisionReason"]
            }
            _ => {
                assert_eq!(reply, json!({ "answers": ["sqlite \"x\""] }));
                continue;
            }
        };
        let reason = reason.as_str().expect("a reason");
        let answer = r#"The answer, as a JSON string: "sqlite \"x\"""#;
        assert!(
            reason.starts_with("[hub] ") && reason.ends_with(answer),
            "{agent}: {reason}"
        );
    }
}

#[tokio::test]
async fn a_permission_of_copilot_and_of_opencode_is_given_from_the_hub() {
    let allow = json!({ "behavior": "allow" });
    let why = r#"[hub] Denied. The reason that was given, as a JSON string: "not now""#;
    let deny = json!({ "behavior": "deny", "message": why });
    let copilot = json!({ "hook_event_name": "permissionRequest", "hookName": "permissionRequest", "toolName": "bash",
        "toolInput": { "command": "touch it" }, "permissionSuggestions": [] });
    let opencode = json!({ "hook_event_name": "permission.asked", "answerable": true, "properties": {
        "id": "per_1", "sessionID": "s1", "permission": "bash", "patterns": ["touch it"], "always": ["touch *"], "metadata": { "command": "touch it" } } });
    for (agent, event, answer, expected) in [
        ("copilot", &copilot, "allow", allow),
        ("copilot", &copilot, "deny: not now", deny),
        (
            "opencode",
            &opencode,
            "allow",
            json!({ "decision": "once" }),
        ),
        (
            "opencode",
            &opencode,
            "allow always",
            json!({ "decision": "always" }),
        ),
        (
            "opencode",
            &opencode,
            "deny: not now",
            json!({ "decision": "reject", "message": why }),
        ),
    ] {
        let (hub, client) = memory_hub();
        let person = hub.person().await;
        let _dashboard = person.events("").await;
        let held = holding(&client, agent, event);
        let asked = client.read("/wait?inbox=person&timeout=60").await["notifications"][0].clone();
        assert_eq!(
            asked["msg"], "Agent s1 needs a permission: bash: touch it",
            "{agent}"
        );
        // Copilot CLI's notice of the same dialog.
        let notice = json!({ "hook_event_name": "Notification", "notification_type": "permission_prompt", "message": "Run command: touch it" });
        hook(&client, "copilot", &notice).await;
        assert_eq!(open(&client).await.len(), 1, "{agent}");
        person
            .answer(asked["id"].as_u64().expect("an id"), answer)
            .await
            .expect(201);
        assert_eq!(held.await.expect("no panic"), expected, "{agent} {answer}");
    }
}

#[tokio::test]
async fn an_event_that_proves_the_decision_closes_the_question_before_the_command_ends() {
    let ask = json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": "make" } });
    let with = |mut event: Value, agent_id: Option<&str>| {
        if let Some(id) = agent_id {
            event["agent_id"] = id.into();
        }
        event
    };
    let started = json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": "make" } });
    let decided = json!({ "hook_event_name": "PermissionResult", "tool_name": "Bash", "decision": "approved" });
    for (agent, agent_id, decided) in [
        ("qwen", None, &started),
        ("kimi", Some("main"), &decided),
        ("kimi", Some("agent-0"), &decided),
    ] {
        let (_hub, client) = memory_hub();
        let prompt = json!({ "hook_event_name": "UserPromptSubmit", "prompt": [{ "type": "text", "text": "go" }] });
        hook(&client, agent, &prompt).await;
        hook(&client, agent, &with(ask.clone(), agent_id)).await;
        assert_eq!(open(&client).await.len(), 1, "{agent}");
        hook(&client, agent, &with(decided.clone(), agent_id)).await;
        assert_eq!(
            open(&client).await,
            Vec::<Value>::new(),
            "{agent} {agent_id:?}"
        );
        assert_eq!(
            client.session("s1").await["phase"]["name"],
            "working",
            "{agent}"
        );
    }
}

#[tokio::test]
async fn a_stop_of_kimi_after_a_permission_is_told() {
    let (_hub, client) = memory_hub();
    let prompt = json!({ "hook_event_name": "UserPromptSubmit", "prompt": [{ "type": "text", "text": "go" }], "is_steer": false });
    let ask = json!({ "hook_event_name": "PermissionRequest", "id": "approval_1", "agent_id": "main", "turn_id": 1,
        "tool_call_id": "t", "tool_name": "Bash", "tool_input": { "command": "make" } });
    let done = json!({ "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": { "command": "make" }, "tool_call_id": "t" });
    let stop = json!({ "hook_event_name": "Stop", "stop_hook_active": false });
    // An earlier install has no hook of the decision.
    for event in [prompt, ask, done, stop] {
        hook(&client, "kimi", &event).await;
    }
    let told = client.read("/notifications?types=complete").await;
    assert_eq!(
        each(&told["notifications"], "msg"),
        json!(["Agent kimi completed"])
    );
}

#[tokio::test]
async fn the_dialog_of_a_subagent_of_opencode_is_its_sessions_and_closes_by_its_own_answer() {
    let (_hub, client) = memory_hub();
    let event = |name: &str, agent_id: Option<&str>| {
        let properties = json!({ "id": "per_1", "sessionID": "child", "permission": "bash", "metadata": { "command": "ls" } });
        let mut event = json!({ "hook_event_name": name, "properties": properties });
        if let Some(id) = agent_id {
            event["agent_id"] = id.into();
        }
        event
    };
    let prompt = json!({ "hook_event_name": "chat.message", "properties": { "text": "go" } });
    hook(&client, "opencode", &prompt).await;
    hook(
        &client,
        "opencode",
        &event("permission.asked", Some("child")),
    )
    .await;
    let asked = open(&client).await.remove(0);
    assert_eq!(asked["msg"], "Agent opencode needs a permission: bash: ls");
    hook(&client, "opencode", &event("tool.execute.after", None)).await;
    assert_eq!(
        open(&client).await.len(),
        1,
        "the session itself went on beside it"
    );
    hook(
        &client,
        "opencode",
        &event("permission.replied", Some("child")),
    )
    .await;
    assert_eq!(open(&client).await, Vec::<Value>::new());
}

#[tokio::test]
async fn two_permissions_of_opencode_at_once_are_each_answered_from_the_hub() {
    let (hub, client) = memory_hub();
    let person = hub.person().await;
    let event = |name: &str, properties: Value| json!({ "hook_event_name": name, "properties": properties });
    let ask = async |id: &str| {
        let properties = json!({ "id": id, "permission": "bash", "metadata": { "command": id } });
        let mut asked = event("permission.asked", properties);
        asked["answerable"] = true.into();
        let held = holding(&client, "opencode", &asked);
        let asked = client.read("/wait?inbox=person&timeout=60").await["notifications"][0].clone();
        (held, asked["id"].as_u64().expect("an id"))
    };
    let open = async || each(&client.read("/questions").await["questions"], "id");
    let until_delivered =
        async |id: u64| while client.question(id).await["delivery"] != "delivered" {};
    let (first, one) = ask("per_1").await;
    let (second, two) = ask("per_2").await;
    let ended = event("tool.execute.after", json!({ "tool": "bash" }));
    hook(&client, "opencode", &ended).await;
    assert_eq!(open().await, json!([one, two]));
    person.answer(one, "allow").await.expect(201);
    assert_eq!(
        first.await.expect("no panic"),
        json!({ "decision": "once" })
    );
    until_delivered(one).await;
    let replied = json!({ "requestID": "per_1", "reply": "once" });
    hook(&client, "opencode", &event("permission.replied", replied)).await;
    hook(&client, "opencode", &ended).await;
    assert_eq!(open().await, json!([two]));
    person.answer(two, "deny").await.expect(201);
    assert_eq!(second.await.expect("no panic")["decision"], "reject");
    until_delivered(two).await;
    let replied = json!({ "requestID": "per_2", "reply": "reject" });
    hook(&client, "opencode", &event("permission.replied", replied)).await;
    assert_eq!(open().await, json!([]));
    assert_eq!(client.session("s1").await["phase"]["name"], "working");
}

#[tokio::test]
async fn the_end_of_an_unknown_session_makes_none() {
    let (_hub, client) = memory_hub();
    for agent in ["claude", "codex", "gemini", "kimi"] {
        let end = json!({ "hook_event_name": "SessionEnd", "reason": "other" });
        hook(&client, agent, &end).await;
    }
    assert_eq!(
        client.read("/sessions?all=true").await["sessions"],
        json!([])
    );
    let said = client.read("/notifications").await;
    assert_eq!(said["notifications"], json!([]));
}

#[tokio::test]
async fn an_agent_below_another_one_does_not_take_the_name_that_it_inherits() {
    let (hub, _client) = memory_hub();
    let client = hub.unix();
    let parent = std::os::unix::process::parent_id();
    let start = |id: &str| json!({ "hook_event_name": "SessionStart", "session_id": id });
    let above = format!("/hooks/claude?session=boss&pid={parent}");
    client.post_json(&above, &start("outer")).await;
    // This process stands for an agent that `boss` has started, with the environment of `boss`.
    let below = format!("/hooks/codex?session=boss&pid={}", std::process::id());
    client.post_json(&below, &start("inner")).await;
    let prompt =
        json!({ "hook_event_name": "UserPromptSubmit", "session_id": "inner", "prompt": "go" });
    client.post_json(&below, &prompt).await;
    assert_eq!(client.session("inner").await["phase"]["name"], "working");
    let boss = client.session("boss").await;
    assert_eq!(
        (&boss["process"]["pid"], &boss["agent"]),
        (&json!(parent), &json!("claude"))
    );
    assert_ne!(boss["phase"]["name"], "working");
    // The next session of `boss` itself keeps the name.
    client.post_json(&above, &start("outer-2")).await;
    assert_eq!(client.session("outer-2").await["id"], boss["id"]);
}
