//! Messages of earlier designs of such a hub, verbatim, keep their meaning.

mod files;
mod hooks;
mod listeners;
mod messages;

use hub_harness::Client;
use serde_json::{Value, json};

/// Reads and acknowledges everything pending in an inbox.
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
