//! What earlier designs of such a hub send, verbatim, has the meaning here that it had there.

mod files;
mod hooks;
mod listeners;
mod messages;

use hub_harness::Client;
use serde_json::{Value, json};

/// What an inbox gives, all at once; acknowledged.
async fn drain(client: &Client, inbox: &str) -> Vec<Value> {
    let answer = client.get(&format!("/wait?inbox={inbox}&timeout=0"));
    let answer = answer.send().await;
    if answer.status == 204 {
        return Vec::new();
    }
    let batch = answer.expect(200).json();
    let ack = client.post(&format!("/inboxes/{inbox}/ack"));
    let ack = ack.json(&json!({ "lease": batch["lease"] }));
    ack.send().await.expect(200);
    batch["notifications"].as_array().expect("a list").clone()
}

fn texts(notifications: &[Value]) -> Vec<&str> {
    let texts = notifications.iter().map(|it| it["msg"].as_str());
    texts.map(|text| text.expect("a text")).collect()
}
