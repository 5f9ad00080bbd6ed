//! Tests of the scripted model server.

use serde_json::{Value, json};

use super::{Model, Reply, rules, turns};

#[tokio::test]
async fn a_request_without_tools_is_outside_the_conversation() {
    let model = Model::start(turns([Reply::text("first")]));
    ask(&model, &json!({"messages": [user("title")]})).await;
    let answer = ask(&model, &conversation(&[user("hello")])).await;
    assert!(answer.contains("first"), "{answer}");
    assert_eq!(
        (model.requests().len(), model.other_requests().len()),
        (1, 1)
    );
}

#[tokio::test]
async fn a_text_that_the_model_has_answered_is_not_new() {
    let model = Model::start(rules([("apples", Reply::text("yes"))]));
    let answered = json!({"role": "assistant", "content": "yes"});
    let result = json!({"type": "tool_result", "content": [{"type": "text", "text": "pears"}]});
    let asked = json!({"role": "user", "content": [result]});
    ask(&model, &conversation(&[user("apples")])).await;
    ask(&model, &conversation(&[user("apples"), answered, asked])).await;
    assert_eq!(
        (model.received("apples"), model.received("pears")),
        (vec![0], vec![1])
    );
    assert_eq!(model.requests()[1].contains("apples"), 1);
}

#[tokio::test]
async fn a_text_that_occurs_twice_counts_twice() {
    let model = Model::start(turns([]));
    ask(&model, &conversation(&[user("apples, apples")])).await;
    assert_eq!(model.received("apples"), [0, 0]);
}

#[tokio::test]
async fn a_refusal_has_its_status() {
    let model = Model::start(|_| Reply::Fails(529, "overloaded_error".into()));
    let url = format!("{}/v1/messages", model.url());
    let asked = reqwest::Client::new().post(url).json(&conversation(&[]));
    assert_eq!(asked.send().await.expect("an answer").status(), 529);
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn conversation(messages: &[Value]) -> Value {
    json!({"stream": true, "tools": [{"name": "Bash"}], "messages": messages})
}

async fn ask(model: &Model, body: &Value) -> String {
    let url = format!("{}/v1/messages", model.url());
    let asked = reqwest::Client::new().post(url).json(body).send();
    let answer = asked.await.expect("an answer");
    answer.text().await.expect("a body")
}
