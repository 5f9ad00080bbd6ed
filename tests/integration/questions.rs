//! Questions of a project: where their answers go, and what a reset makes of them.

use hub_harness::{Client, Hub};
use serde_json::json;

async fn ask(client: &Client, project: &str) -> u64 {
    let question = json!({ "msg": "which?", "from": "w1", "type": "question", "project": project });
    client.notify(question).await
}

#[tokio::test]
async fn an_answer_that_names_no_project_belongs_to_that_of_its_question() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let (first, second) = (ask(&client, "/a").await, ask(&client, "/b").await);
    let text = format!("/notify?type=answer&from=lead&reply_to={first}");
    let said = client.post(&text).body("postgres").send().await;
    assert_eq!(said.expect(201).json()["project"], "/a");
    let row = json!({ "msg": "sqlite", "reply_to": second, "data": { "type": "answer" } });
    let said = client.post("/notify").json(&row).send().await;
    assert_eq!(said.expect(201).json()["project"], "/b");
    for (id, answer) in [(first, "postgres"), (second, "sqlite")] {
        let asked = client.get(&format!("/questions/{id}")).send().await;
        assert_eq!(asked.expect(200).json()["answer"], answer);
    }
    let third = ask(&client, "/a").await;
    let elsewhere = json!({ "msg": "x", "type": "answer", "reply_to": third, "project": "/b" });
    let refused = client.post("/notify").json(&elsewhere).send().await;
    assert_eq!(refused.status / 100, 4, "{}", refused.text());
}

#[tokio::test]
async fn a_reset_withdraws_what_is_asked_and_tells_who_waits_for_the_answer() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let mut events = client.events("?kinds=question").await;
    let id = ask(&client, "default").await;
    let path = format!("/questions/{id}?timeout=60");
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.get(&path).send().await }
    });
    client
        .post("/projects/default/reset")
        .send()
        .await
        .expect(200);
    let told = events.next_of("question").await;
    assert_eq!(
        (&told.data["id"], &told.data["state"]),
        (&json!(id), &json!("withdrawn"))
    );
    let answer = waiting.await.expect("an answer").expect(200).json();
    assert_eq!(answer["state"], "withdrawn");
}
