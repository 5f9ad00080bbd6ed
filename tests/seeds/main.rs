//! Messages of earlier designs of such a hub, verbatim, keep their meaning.

mod files;
mod hooks;
mod listeners;
mod messages;

use hub_harness::{Client, Hub};
use hub_protocol::{Notification, WaitReply};
use serde_json::json;

/// Starts a hub that keeps its log in memory; returns it with a client.
fn hub() -> (Hub, Client) {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    (hub, client)
}

/// Reads and acknowledges everything pending in an inbox.
async fn drain(client: &Client, inbox: &str) -> Vec<Notification> {
    read(client, inbox, 0).await
}

/// Waits for notifications in an inbox for at most `timeout` seconds, and acknowledges them.
async fn read(client: &Client, inbox: &str, timeout: u32) -> Vec<Notification> {
    let path = format!("/wait?inbox={inbox}&timeout={timeout}");
    let answer = client.get(&path).await;
    if answer.status == 204 {
        return Vec::new();
    }
    let batch: WaitReply = answer.expect(200).parse();
    client.ack(inbox, json!({ "lease": batch.lease })).await;
    let all = batch.notifications.iter();
    all.map(|it| serde_json::from_str(it.get()).expect("a notification"))
        .collect()
}

fn texts(notifications: &[Notification]) -> Vec<&str> {
    notifications.iter().map(|it| it.msg.as_str()).collect()
}
