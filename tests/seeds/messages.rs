//! Lines of a queue, and rows of a table of notifications.

use hub_harness::Hub;
use hub_protocol::{Kind, Priority, Question, QuestionState};
use serde_json::{Value, json};

use super::{drain, hub, read, texts};

const QUEUE: &str = concat!(
    r#"{"ts":"2026-02-17T14:30:05-0600","from":"agent-abc123","type":"complete","#,
    r#""msg":"Agent agent-abc123 completed its goal"}"#,
    "\n",
    r#"{"ts":"2026-02-17T14:30:07-0600","from":"agent-def456","type":"question","#,
    r#""msg":"Agent agent-def456 asks: Should I refactor the auth module?"}"#,
    "\n",
);

/// Posts a body that is accepted.
async fn post(hub: &Hub, body: &'static str) {
    let post = hub.client().post("/notify").body(body);
    post.await.expect(201);
}

#[tokio::test]
async fn two_queue_lines_are_drained_in_order_and_then_the_queue_is_empty() {
    let (hub, client) = hub();
    post(&hub, QUEUE).await;
    let got = drain(&client, "primary").await;
    let kinds: Vec<_> = got.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [Kind::Complete, Kind::Question]);
    assert_eq!(got[0].ts.to_string(), "2026-02-17T20:30:05.000Z");
    assert_eq!(got[1].from.as_str(), "agent-def456");
    let open = client.read("/questions").await;
    assert_eq!(open["questions"][0]["id"], got[1].id);
    assert!(drain(&client, "primary").await.is_empty());
}

#[tokio::test]
async fn one_line_is_drained_and_three_are_in_order() {
    let (_hub, client) = hub();
    for lines in [&["one"][..], &["first", "second", "third"]] {
        for text in lines {
            client.say(text).await;
        }
        assert_eq!(texts(&drain(&client, "primary").await), lines);
    }
}

#[tokio::test]
async fn quotes_line_ends_tabs_and_backslashes_are_delivered_unchanged() {
    let (_hub, client) = hub();
    for text in ["say \"hi\"", "a\nb", "a\rb", "a\tb", r"a\b", "\\\"\n\r\t"] {
        let line = json!({ "from": "agent-abc123", "type": "complete", "msg": text });
        client.notify(line).await;
        assert_eq!(texts(&drain(&client, "primary").await), [text]);
    }
}

#[tokio::test]
async fn an_unknown_type_is_refused_and_a_missing_one_is_complete() {
    let (hub, client) = hub();
    let unknown = json!({ "type": "finished", "msg": "x" });
    let unknown = client.post_json("/notify", unknown).await;
    assert_eq!(unknown.expect(422).code(), "unknown_type");
    // Transient notices of a session are no types.
    for kind in "running unknown creating compacting rate_limited stuck".split(' ') {
        let post = client.post(&format!("/notify?type={kind}")).body("x");
        assert_eq!(post.await.expect(422).code(), "unknown_type", "{kind}");
    }
    post(&hub, "hello world").await;
    let got = drain(&client, "primary").await;
    assert_eq!((got.len(), got[0].kind), (1, Kind::Complete));
}

#[tokio::test]
async fn an_approval_request_in_the_metadata_is_an_approval_for_its_target() {
    let (hub, client) = hub();
    let row = json!({
        "source": "claude_code_instance_2",
        "target": "claude_desktop",
        "priority": "high",
        "message": "Approval needed: About to modify database schema. Proceed?",
        "metadata": { "type": "approval_request", "action": "database_migration", "details": {} }
    });
    let id = client.notify(row).await;
    let got = drain(&client, "claude_desktop").await;
    let expected = (Kind::Approval, Priority::High);
    assert_eq!((got[0].kind, got[0].priority), expected);
    hub.person().await.answer(id, "allow").await.expect(201);
    let answer = drain(&client, "claude_code_instance_2").await;
    assert_eq!((answer[0].reply_to, &*answer[0].msg), (Some(id), "allow"));
}

#[tokio::test]
async fn a_progress_update_wakes_nobody_and_keeps_its_figures() {
    let (_hub, client) = hub();
    let row = json!({
        "source": "claude_code_instance_1",
        "target": "claude_desktop",
        "priority": "normal",
        "message": "Completed 5/10 test files. All passing so far.",
        "metadata": { "type": "progress_update", "completed": 5, "total": 10 }
    });
    client.notify(row).await;
    let got = &drain(&client, "claude_desktop").await[0];
    assert_eq!(got.kind, Kind::Progress);
    let data = got.data.as_ref().expect("data");
    let expected = (&json!(5), &json!(10));
    assert_eq!((&data["completed"], &data["total"]), expected);
}

#[tokio::test]
async fn feedback_from_an_editor_reaches_primary_and_person() {
    let (_hub, client) = hub();
    let row = json!({
        "source": "emacs",
        "target": "all",
        "priority": "high",
        "message": "Focus on error handling in the authentication flow",
        "metadata": { "context": "code_review" }
    });
    client.notify(row).await;
    for inbox in ["primary", "person"] {
        let got = drain(&client, inbox).await;
        assert_eq!(got[0].from.as_str(), "emacs", "{inbox}");
    }
}

#[tokio::test]
async fn each_notice_of_a_stop_hook_reaches_the_primary_and_wakes_it() {
    use Kind::{Complete, Question, Waiting};
    let (worker, manager) = ("agent-abc123", "agent-def456");
    let asks = "Agent agent-abc123 asks: Should I refactor the auth module?";
    let (_hub, client) = hub();
    for (from, kind, msg) in [
        (
            worker,
            Complete,
            "Agent agent-abc123 completed (worker of agent-def456)",
        ),
        (manager, Complete, "Manager agent-def456 completed its goal"),
        (worker, Waiting, "Agent agent-abc123 is waiting for input"),
        (manager, Waiting, "Manager agent-def456 is waiting"),
        (worker, Question, asks),
        ("test-agent", Complete, "Test message"),
        ("system", Complete, "hello world"),
    ] {
        let line =
            json!({ "ts": "2026-02-17T14:30:05-0600", "from": from, "type": kind, "msg": msg });
        let (got, _) = tokio::join!(read(&client, "primary", 60), client.notify(line));
        let got = &got[0];
        assert_eq!((got.from.as_str(), got.kind, &*got.msg), (from, kind, msg));
    }
}

#[tokio::test]
async fn a_message_to_an_agent_is_in_its_inbox_only() {
    let (_hub, client) = hub();
    for (to, msg) in [
        (
            "agent-def456",
            "[hook]: Your subtask agent-abc123 just completed",
        ),
        (
            "agent-def456",
            "[hook]: Your subtask agent-abc123 is now waiting for input",
        ),
        ("agent-abc123", "feedback"),
        ("agent-abc123", "instructions"),
        ("agent-abc123", "answer"),
    ] {
        let message = json!({ "to": to, "type": "message", "msg": msg });
        client.notify(message).await;
        assert_eq!(texts(&drain(&client, to).await), [msg]);
    }
    assert!(drain(&client, "primary").await.is_empty());
}

#[tokio::test]
async fn feedback_without_a_target_is_for_the_primary_with_its_priority() {
    let (_hub, client) = hub();
    for (priority, context) in [
        (Priority::High, Some("code_review")),
        (Priority::Normal, None),
        (Priority::Urgent, None),
        (Priority::Low, None),
    ] {
        let row = json!({
            "source": "emacs",
            "priority": priority,
            "message": "Focus on error handling in the authentication flow",
            "metadata": context.map(|context| json!({ "context": context }))
        });
        client.notify(row).await;
        let got = &drain(&client, "primary").await[0];
        assert_eq!((got.from.as_str(), got.priority), ("emacs", priority));
        let data = got.data.as_ref().map(|it| &it["context"]);
        assert_eq!(data.and_then(Value::as_str), context);
    }
    let sources = client.read("/sources").await;
    let emacs = &sources["sources"][0];
    assert_eq!(emacs["name"], "emacs");
    assert!(emacs["last_seen"].is_string(), "{emacs}");
}

#[tokio::test]
async fn a_row_is_pending_then_acknowledged_or_it_expires() {
    let (_hub, client) = hub();
    let status = async |id: u64| client.notification(id).await["status"].clone();
    let row = |field: &str, value: Value| {
        let (source, target) = ("claude_code", "claude_desktop");
        json!({ "source": source, "target": target, "message": "soon over", field: value })
    };
    let over = row("expires_at", json!("2026-02-17T14:30:05Z"));
    client.post_json("/notify", over).await.expect(422);
    let late = client.notify(row("ttl", json!(1))).await;
    let read = client
        .notify(row("expires_at", json!("2027-01-01T00:00:00Z")))
        .await;
    assert_eq!(status(read).await, "pending");
    let deliveries = format!("?kinds=delivery&since={late}");
    let mut deliveries = client.events(&deliveries).await;
    let expired = deliveries.next_of("delivery").await.data;
    assert_eq!(expired["ids"][0], late);
    assert_eq!(expired["state"], "expired");
    assert_eq!(drain(&client, "claude_desktop").await.len(), 1);
    assert_eq!(status(read).await, "acked");
    assert_eq!(status(late).await, "expired");
}

#[tokio::test]
async fn a_question_that_is_acknowledged_and_then_answered_by_a_message_is_settled() {
    let (_hub, client) = hub();
    let asked = json!({ "from": "agent-def456", "type": "question",
        "msg": "Should I refactor the auth module?" });
    let id = client.notify(asked).await;
    client.ack("primary", json!({ "ids": [id] })).await;
    let answer = json!({ "from": "primary", "to": "agent-def456", "reply_to": id, "msg": "yes" });
    client.notify(answer).await;
    let question = client.get(&format!("/questions/{id}")).await;
    let question: Question = question.expect(200).parse();
    assert_eq!(question.state, QuestionState::Answered);
    assert_eq!(question.answer.as_deref(), Some("yes"));
    let got = read(&client, "agent-def456", 60).await;
    assert_eq!((got[0].kind, &*got[0].msg), (Kind::Answer, "yes"));
}
