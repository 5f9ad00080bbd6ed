//! Hooks that delay their agents are held for a dashboard.

use hub_harness::{Answer, Client, Events, Hub};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::disk_hub;

/// Sends a hook, each time under the same key.
fn ask(client: &Client, query: &str, event: &Value) -> JoinHandle<Answer> {
    let hook = client.post(&format!("/hooks/claude?{query}"));
    hook.header("idempotency-key", "k").json(event).spawn()
}

/// Opens the event stream of a dashboard.
async fn dashboard(hub: &Hub) -> Events {
    hub.person().await.events("?kinds=presence").await
}

/// Waits until a hook is held; returns its question.
async fn until_held(presence: &mut Events) -> u64 {
    loop {
        let held = presence.next_of("presence").await.data["held"][0].clone();
        if let Some(id) = held.as_u64() {
            return id;
        }
    }
}

#[tokio::test]
async fn a_hook_that_delays_its_agent_is_released_after_the_last_dashboard_was_closed() {
    let (hub, client) = disk_hub();
    let mut page = dashboard(&hub).await;
    let form = json!({ "hook_event_name": "Elicitation", "session_id": "w1", "cwd": "/r",
        "mcp_server_name": "t", "message": "Which?", "mode": "url" });
    let hook = ask(&client, "", &form);
    let id = until_held(&mut page).await;
    drop(page);
    assert_eq!(hook.await.expect("an answer").status, 204);
    assert_eq!(client.question(id).await["delivery"], "terminal");
}

#[tokio::test]
async fn a_hook_that_delays_its_agent_is_held_by_the_next_hub_although_no_dashboard_is_back_yet() {
    let (mut hub, client) = disk_hub();
    let mut page = dashboard(&hub).await;
    let permission = json!({ "hook_event_name": "PermissionRequest", "session_id": "w1", "cwd": "/r",
        "tool_name": "Bash", "tool_input": { "command": "make" } });
    let hook = ask(&client, "headless=true", &permission);
    let id = until_held(&mut page).await;
    hub.restart();
    assert_eq!(hook.await.expect("an answer").status, 503);
    let client = hub.client();
    let mut presence = client.events("?kinds=presence").await;
    let hook = ask(&client, "headless=true", &permission);
    assert_eq!(until_held(&mut presence).await, id);
    hub.person().await.answer(id, "allow").await.expect(201);
    let told: Value = hook.await.expect("an answer").expect(200).json();
    let decision = &told["hookSpecificOutput"]["decision"];
    assert_eq!(*decision, json!({ "behavior": "allow" }));
}
