//! Messages of earlier designs of such a hub, verbatim, keep their meaning.

mod files;
mod hooks;
mod listeners;
mod messages;

use hub_harness::Client;
use hub_protocol::{Notification, WaitReply};
use serde_json::json;

/// Reads and acknowledges everything pending in an inbox.
async fn drain(client: &Client, inbox: &str) -> Vec<Notification> {
    read(client, inbox, 0).await
}

/// Waits for notifications in an inbox for at most `timeout` seconds, and acknowledges them.
async fn read(client: &Client, inbox: &str, timeout: u32) -> Vec<Notification> {
    let wait = client.get(&format!("/wait?inbox={inbox}&timeout={timeout}"));
    let answer = wait.send().await;
    if answer.status == 204 {
        return Vec::new();
    }
    let batch: WaitReply = answer.expect(200).parse();
    let ack = client.post(&format!("/inboxes/{inbox}/ack"));
    let lease = json!({ "lease": batch.lease });
    ack.json(&lease).send().await.expect(200);
    let all = batch.notifications.iter();
    all.map(|it| serde_json::from_str(it.get()).expect("a notification"))
        .collect()
}

fn texts(notifications: &[Notification]) -> Vec<&str> {
    notifications.iter().map(|it| it.msg.as_str()).collect()
}
