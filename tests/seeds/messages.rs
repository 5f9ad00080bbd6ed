//! Lines of a queue, and rows of a table of notifications.

use hub_harness::Hub;
use serde_json::{Value, json};

use super::{drain, texts};

const QUEUE: &str = concat!(
    r#"{"ts":"2026-02-17T14:30:05-0600","from":"agent-abc123","type":"complete","msg":"Agent agent-abc123 completed its goal"}"#,
    "\n",
    r#"{"ts":"2026-02-17T14:30:07-0600","from":"agent-def456","type":"question","msg":"Agent agent-def456 asks: Should I refactor the auth module?"}"#,
    "\n",
);

async fn post(hub: &Hub, body: impl Into<String>) -> Value {
    let post = hub.client().post("/notify").body(body.into());
    post.send().await.expect(201).json()
}

#[tokio::test]
async fn two_queue_lines_are_drained_in_order_and_then_the_queue_is_empty() {
    let hub = Hub::builder().memory().start();
    post(&hub, QUEUE).await;
    let got = drain(&hub.client(), "primary").await;
    let kinds: Vec<_> = got.iter().map(|it| &it["type"]).collect();
    assert_eq!(kinds, ["complete", "question"]);
    assert_eq!(got[0]["ts"], "2026-02-17T20:30:05.000Z");
    assert_eq!(got[1]["from"], "agent-def456");
    let open = hub
        .client()
        .get("/questions")
        .send()
        .await
        .expect(200)
        .json();
    assert_eq!(open["questions"][0]["id"], got[1]["id"]);
    assert!(drain(&hub.client(), "primary").await.is_empty());
}

#[tokio::test]
async fn one_line_is_drained_and_three_are_in_order() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    client.say("one").await;
    assert_eq!(texts(&drain(&client, "primary").await), ["one"]);
    for text in ["first", "second", "third"] {
        client.say(text).await;
    }
    let got = drain(&client, "primary").await;
    assert_eq!(texts(&got), ["first", "second", "third"]);
}

#[tokio::test]
async fn quotes_line_ends_tabs_and_backslashes_are_delivered_unchanged() {
    let hub = Hub::builder().memory().start();
    for text in ["say \"hi\"", "a\nb", "a\rb", "a\tb", r"a\b", "\\\"\n\r\t"] {
        let line = json!({ "from": "agent-abc123", "type": "complete", "msg": text }).to_string();
        post(&hub, line).await;
        assert_eq!(texts(&drain(&hub.client(), "primary").await), [text]);
    }
}

#[tokio::test]
async fn an_unknown_type_is_refused_and_a_missing_one_is_complete() {
    let hub = Hub::builder().memory().start();
    let unknown = json!({ "type": "finished", "msg": "x" });
    let unknown = hub.client().post("/notify").json(&unknown).send().await;
    assert_eq!(unknown.expect(422).code(), "unknown_type");
    post(&hub, "hello world").await;
    assert_eq!(drain(&hub.client(), "primary").await[0]["type"], "complete");
}

#[tokio::test]
async fn an_approval_request_in_the_metadata_is_an_approval_for_its_target() {
    let hub = Hub::builder().memory().start();
    let row = json!({
        "source": "claude_code_instance_2",
        "target": "claude_desktop",
        "priority": "high",
        "message": "Approval needed: About to modify database schema. Proceed?",
        "metadata": { "type": "approval_request", "action": "database_migration", "details": {} }
    });
    let id = post(&hub, row.to_string()).await["id"].clone();
    let got = drain(&hub.client(), "claude_desktop").await;
    assert_eq!(
        (&got[0]["type"], &got[0]["priority"]),
        (&json!("approval"), &json!("high"))
    );
    let person = hub.person().await;
    let answer = person.post(&format!("/questions/{id}/answer"));
    answer
        .json(&json!({ "answer": "allow" }))
        .send()
        .await
        .expect(201);
    let answer = drain(&hub.client(), "claude_code_instance_2").await;
    assert_eq!(
        (&answer[0]["reply_to"], &answer[0]["msg"]),
        (&id, &json!("allow"))
    );
}

#[tokio::test]
async fn a_progress_update_wakes_nobody_and_keeps_its_figures() {
    let hub = Hub::builder().memory().start();
    let row = json!({
        "source": "claude_code_instance_1",
        "target": "claude_desktop",
        "priority": "normal",
        "message": "Completed 5/10 test files. All passing so far.",
        "metadata": { "type": "progress_update", "completed": 5, "total": 10 }
    });
    post(&hub, row.to_string()).await;
    let got = drain(&hub.client(), "claude_desktop").await;
    assert_eq!(got[0]["type"], "progress");
    assert_eq!(
        (&got[0]["data"]["completed"], &got[0]["data"]["total"]),
        (&json!(5), &json!(10))
    );
}

#[tokio::test]
async fn feedback_from_an_editor_reaches_primary_and_person() {
    let hub = Hub::builder().memory().start();
    let row = json!({
        "source": "emacs",
        "target": "all",
        "priority": "high",
        "message": "Focus on error handling in the authentication flow",
        "metadata": { "context": "code_review" }
    });
    post(&hub, row.to_string()).await;
    for inbox in ["primary", "person"] {
        let got = drain(&hub.client(), inbox).await;
        assert_eq!(got[0]["from"], "emacs", "{inbox}");
    }
}

#[tokio::test]
async fn each_notice_of_a_stop_hook_reaches_the_primary_and_wakes_it() {
    let hub = Hub::builder().memory().start();
    for (from, kind, msg) in [
        (
            "agent-abc123",
            "complete",
            "Agent agent-abc123 completed (worker of agent-def456)",
        ),
        (
            "agent-def456",
            "complete",
            "Manager agent-def456 completed its goal",
        ),
        (
            "agent-abc123",
            "waiting",
            "Agent agent-abc123 is waiting for input",
        ),
        ("agent-def456", "waiting", "Manager agent-def456 is waiting"),
        (
            "agent-abc123",
            "question",
            "Agent agent-abc123 asks: Should I refactor the auth module?",
        ),
        ("test-agent", "complete", "Test message"),
        ("system", "complete", "hello world"),
    ] {
        let client = hub.client();
        let waits = tokio::spawn(async move { client.get("/wait?timeout=60").send().await });
        let line =
            json!({ "ts": "2026-02-17T14:30:05-0600", "from": from, "type": kind, "msg": msg });
        post(&hub, line.to_string()).await;
        let got = waits.await.expect("an answer").expect(200).json();
        let lease = json!({ "lease": got["lease"] });
        let ack = hub.client().post("/inboxes/primary/ack").json(&lease);
        ack.send().await.expect(200);
        let got = &got["notifications"][0];
        assert_eq!(
            (&got["from"], &got["type"], &got["msg"]),
            (&json!(from), &json!(kind), &json!(msg))
        );
    }
}

#[tokio::test]
async fn a_transient_notice_is_not_a_type() {
    let hub = Hub::builder().memory().start();
    for kind in [
        "running",
        "unknown",
        "creating",
        "compacting",
        "rate_limited",
        "stuck",
    ] {
        let said = hub.client().post(&format!("/notify?type={kind}"));
        let refused = said.body("x").send().await.expect(422);
        assert_eq!(refused.code(), "unknown_type", "{kind}");
    }
    assert!(drain(&hub.client(), "primary").await.is_empty());
}

#[tokio::test]
async fn a_message_to_an_agent_is_in_its_inbox_only() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
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
        let send = json!({ "to": to, "type": "message", "msg": msg });
        post(&hub, send.to_string()).await;
        assert_eq!(texts(&drain(&client, to).await), [msg]);
    }
    assert!(drain(&client, "primary").await.is_empty());
}

#[tokio::test]
async fn feedback_without_a_target_is_for_the_primary_with_its_priority() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    for (priority, metadata) in [
        ("high", json!({ "context": "code_review" })),
        ("normal", Value::Null),
        ("urgent", Value::Null),
        ("low", Value::Null),
    ] {
        let row = json!({
            "source": "emacs",
            "priority": priority,
            "message": "Focus on error handling in the authentication flow",
            "metadata": metadata
        });
        post(&hub, row.to_string()).await;
        let got = drain(&client, "primary").await;
        assert_eq!(
            (
                &got[0]["from"],
                &got[0]["priority"],
                &got[0]["data"]["context"]
            ),
            (&json!("emacs"), &json!(priority), &metadata["context"])
        );
    }
    let sources = client.get("/sources").send().await.expect(200).json();
    let emacs = &sources["sources"][0];
    assert!(
        emacs["name"] == "emacs" && emacs["last_seen"].is_string(),
        "{emacs}"
    );
}

#[tokio::test]
async fn a_row_is_pending_then_acknowledged_or_it_expires() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let status = async |id: &Value| {
        let one = client.get(&format!("/notifications/{id}")).send().await;
        one.expect(200).json()["status"].clone()
    };
    let row = |expires_at: &str| {
        json!({
            "source": "claude_code",
            "target": "claude_desktop",
            "message": "soon over",
            "expires_at": expires_at
        })
    };
    let over = client.post("/notify").json(&row("2026-02-17T14:30:05Z"));
    over.send().await.expect(422);
    let in_an_hour =
        json!({ "source": "claude_code", "target": "claude_desktop", "message": "x", "ttl": 1 });
    let late = post(&hub, in_an_hour.to_string()).await["id"].clone();
    let read = post(&hub, row("2027-01-01T00:00:00Z").to_string()).await["id"].clone();
    assert_eq!(status(&read).await, "pending");
    let mut settled = client
        .events(&format!("?kinds=delivery&since={late}"))
        .await;
    let expired = settled.next_of("delivery").await;
    assert_eq!(
        (&expired.data["ids"][0], &expired.data["state"]),
        (&late, &json!("expired"))
    );
    assert_eq!(drain(&client, "claude_desktop").await.len(), 1);
    assert_eq!(status(&read).await, "acked");
    assert_eq!(status(&late).await, "expired");
}

#[tokio::test]
async fn a_question_that_is_acknowledged_and_then_answered_by_a_message_is_settled() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let asked = json!({ "from": "agent-def456", "type": "question", "msg": "Should I refactor the auth module?" });
    let id = client.notify(asked).await;
    let ack = client
        .post("/inboxes/primary/ack")
        .json(&json!({ "ids": [id] }));
    ack.send().await.expect(200);
    let answer = json!({ "from": "primary", "to": "agent-def456", "reply_to": id, "msg": "yes" });
    let answered = client.notify(answer).await;
    let question = client
        .get(&format!("/questions/{id}"))
        .send()
        .await
        .expect(200)
        .json();
    assert_eq!(
        (&question["state"], &question["answer"]),
        (&json!("answered"), &json!("yes"))
    );
    let told = client
        .get(&format!("/notifications/{answered}"))
        .send()
        .await;
    assert_eq!(told.expect(200).json()["type"], "answer");
    let told = client
        .get("/wait?inbox=agent-def456&timeout=60")
        .send()
        .await;
    assert_eq!(told.expect(200).json()["notifications"][0]["msg"], "yes");
}
