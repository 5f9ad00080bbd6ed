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
async fn two_lines_of_a_queue_are_drained_in_their_order_and_then_there_is_none() {
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
async fn one_is_drained_and_three_are_in_order() {
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
async fn quotes_line_ends_tabs_and_backslashes_come_as_they_went() {
    let hub = Hub::builder().memory().start();
    for text in ["say \"hi\"", "a\nb", "a\rb", "a\tb", r"a\b", "\\\"\n\r\t"] {
        let line = json!({ "from": "agent-abc123", "type": "complete", "msg": text }).to_string();
        post(&hub, line).await;
        assert_eq!(texts(&drain(&hub.client(), "primary").await), [text]);
    }
}

#[tokio::test]
async fn a_type_that_is_unknown_is_refused_and_none_is_complete() {
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
    let answer = hub.client().post(&format!("/questions/{id}/answer"));
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
async fn a_progress_update_rides_along_and_keeps_its_figures() {
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
async fn feedback_from_an_editor_goes_to_all() {
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
