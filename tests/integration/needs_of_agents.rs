//! The need that a payload of each agent makes. The views draw the same needs: `tests/web/alerts.test.js` and the tests of
//! `client/desktop` read this fixture too.

use std::path::PathBuf;

use hub_harness::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::memory_hub;

/// Fields that differ from run to run, or are tested elsewhere.
const VOLATILE: [&str; 9] = [
    "id",
    "since",
    "until",
    "resume",
    "project",
    "name",
    "session",
    "notification",
    "revision",
];

fn fixture(path: &str) -> Value {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let text = std::fs::read_to_string(root.join(path)).expect(path);
    serde_json::from_str(&text).expect(path)
}

/// Posts a hook of a session; the hub may hold it.
fn post(client: &Client, agent: &str, session: &str, event: &Value) -> JoinHandle<()> {
    let mut payload = match event["fixture"].as_str() {
        Some(path) => fixture(&format!("hooks/{path}.json")),
        None => event.clone(),
    };
    let id = match agent {
        "copilot" => "sessionId",
        "cursor" => "conversation_id",
        _ => "session_id",
    };
    payload[id] = session.into();
    let (client, path) = (client.clone(), format!("/hooks/{agent}"));
    tokio::spawn(async move {
        client.post_json(&path, &payload).await;
    })
}

/// The need that a session has once its hook is held, or has returned.
async fn need_of(client: &Client, session: &str, mut asked: JoinHandle<()>) -> Value {
    let mut events = client.events("?kinds=need").await;
    let mut is_held = true;
    loop {
        let list = client.read("/needs").await["needs"].take();
        let mut all = list.as_array().expect("a list").iter();
        let found =
            all.find(|it| it["session"] == session && (it["answerable"] == true || !is_held));
        if let Some(need) = found {
            let path = format!("/needs/{}", need["id"].as_str().expect("an id"));
            let need = client.read(&path).await;
            asked.abort();
            return need;
        }
        tokio::select! {
            _ = events.next_of("need") => {}
            _ = &mut asked, if is_held => is_held = false,
        }
    }
}

#[tokio::test]
async fn a_payload_of_every_agent_makes_the_need_that_all_views_draw() {
    let (hub, client) = memory_hub();
    // Some agents wait for the hub only while a dashboard is open.
    let _dashboard = hub.person().await.events("").await;
    let mut different = Vec::new();
    let cases = fixture("needs.json");
    for (n, case) in cases.as_array().expect("cases").iter().enumerate() {
        let (agent, session) = (case["agent"].as_str().expect("an agent"), format!("s{n}"));
        let (last, before) = case["events"]
            .as_array()
            .and_then(|it| it.split_last())
            .expect("events");
        for event in before {
            post(&client, agent, &session, event)
                .await
                .expect("a reply");
        }
        let asked = post(&client, agent, &session, last);
        let mut need = need_of(&client, &session, asked).await;
        let fields = need.as_object_mut().expect("an object");
        fields.retain(|name, _| !VOLATILE.contains(&name.as_str()));
        if need != case["need"] {
            different.push(json!({ "agent": agent, "name": case["name"], "need": need }));
        }
    }
    assert!(different.is_empty(), "{}", Value::from(different));
}
