//! What a feed and its details are made of.

use hub_harness::{Client, Hub};
use serde_json::{Value, json};

async fn list(client: &Client, query: &str) -> Vec<Value> {
    let page = client.get(&format!("/notifications?{query}")).send().await;
    let page = page.expect(200).json();
    page["notifications"].as_array().expect("a list").clone()
}

async fn ids(client: &Client, query: &str) -> Vec<u64> {
    let found = list(client, query).await;
    found
        .iter()
        .map(|it| it["id"].as_u64().expect("a number"))
        .collect()
}

async fn reply(client: &Client, to: u64) -> u64 {
    let reply = json!({ "msg": "re", "from": "w", "type": "message", "reply_to": to });
    client.notify(reply).await
}

#[tokio::test]
async fn a_thread_is_whole_from_each_of_its_notifications_and_oldest_first() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let root = client.say("root").await;
    let first = reply(&client, root).await;
    let stranger = client.say("not of it").await;
    reply(&client, stranger).await;
    let deeper = reply(&client, first).await;
    let second = reply(&client, root).await;
    let thread = [root, first, deeper, second];
    for id in thread {
        assert_eq!(ids(&client, &format!("thread={id}")).await, thread, "{id}");
    }
    let lone = client.say("\"reply_to\":1").await;
    assert_eq!(ids(&client, &format!("thread={lone}")).await, [lone]);
}

#[tokio::test]
async fn a_thread_keeps_what_was_asked_for_however_little_room_there_is() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let root = client.say("root").await;
    let first = reply(&client, root).await;
    let second = reply(&client, first).await;
    reply(&client, second).await;
    let cut = ids(&client, &format!("thread={second}&limit=1")).await;
    assert_eq!(cut, [root, first, second]);
    let cut = ids(&client, &format!("thread={root}&limit=2")).await;
    assert_eq!(cut, [root, first]);
}

#[tokio::test]
async fn an_answer_is_in_the_thread_of_its_question_with_what_became_of_both() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let asked = json!({ "msg": "?", "from": "w1", "type": "question" });
    let asked = client.notify(asked).await;
    let answer = client.post(&format!("/questions/{asked}/answer"));
    let answer = answer.json(&json!({ "answer": "yes" })).send().await;
    let answer = answer.expect(201).json()["answer_id"].clone();
    let thread = list(&client, &format!("thread={answer}")).await;
    let told: Vec<Value> = thread
        .iter()
        .map(|it| json!([it["id"], it["type"], it["status"], it["seen"]]))
        .collect();
    assert_eq!(
        json!(told),
        json!([
            [asked, "question", "answered", false],
            [answer, "answer", "pending", false]
        ])
    );
}

#[tokio::test]
async fn a_feed_is_chosen_by_type_priority_project_session_and_text_and_tells_what_was_superseded()
{
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let say = async |post: Value| client.notify(post).await;
    let old = say(
        json!({ "msg": "50 %", "key": "build", "from": "w1", "project": "p", "type": "error" }),
    )
    .await;
    let new = say(
        json!({ "msg": "60 %", "key": "build", "from": "w1", "project": "p", "type": "error" }),
    )
    .await;
    let high =
        say(json!({ "msg": "Look here", "priority": "high", "from": "w2", "type": "message" }))
            .await;
    say(json!({ "msg": "low", "priority": "low", "from": "w2", "type": "message" })).await;
    let statuses: Vec<Value> = list(&client, "project=p")
        .await
        .iter()
        .map(|it| it["status"].clone())
        .collect();
    assert_eq!(json!(statuses), json!(["pending", "superseded"]));
    for (query, expected) in [
        ("types=error", vec![new, old]),
        ("types=error&limit=1", vec![new]),
        (&format!("types=error&before={new}"), vec![old]),
        (&format!("types=error&after={old}"), vec![new]),
        ("session=w1&project=p", vec![new, old]),
        ("min_priority=high", vec![high]),
        ("q=look%20HERE", vec![high]),
    ] {
        assert_eq!(ids(&client, query).await, expected, "{query}");
    }
}
