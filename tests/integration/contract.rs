//! Every operation of openapi.yaml.

use hub_harness::{Client, Hub};
use serde_json::json;

#[tokio::test]
async fn every_operation_is_exercised_and_keeps_the_contract() {
    let hub = Hub::start();
    let client = hub.client();
    publish(&client).await;
    receive(&client).await;
    look_back(&client).await;
    take_back(&client).await;
    know_sessions(&client).await;
    ask_and_answer(&client).await;
    ask_the_hub(&client).await;
    sign_in(&client).await;
    assert_eq!(hub.contract().unexercised(), Vec::<String>::new());
}

async fn publish(client: &Client) {
    let text = client
        .post("/notify?from=worker&type=done")
        .body("backup done")
        .send()
        .await;
    assert_eq!(text.expect(201).json()["id"], 1);
    let batch = json!([{ "msg": "a" }, { "msg": "b", "type": "progress" }]);
    let batch = client
        .post("/notify")
        .header("idempotency-key", "k")
        .json(&batch);
    batch.send().await.expect(201);
    let full = json!({
        "msg": "Which port?", "from": "worker", "to": "person", "type": "question", "priority": "high", "title": "Port",
        "data": { "a": [1, null] }, "session": "worker", "parent": "manager", "key": "port", "reply_to": 1,
        "ttl": 3600, "options": ["4782", "8080"], "ts": "2026-02-17T14:30:05-06:00", "project": "/home/me/src/hub",
    });
    client.post_json("/notify", &full).await.expect(201);
    let lines = "{\"msg\":\"c\"}\n{\"msg\":\"d\"}\n";
    let ndjson = client
        .post("/notify")
        .header("content-type", "application/x-ndjson");
    ndjson.body(lines).send().await.expect(201);
}

async fn receive(client: &Client) {
    let batch = client.read("/wait?timeout=0&as=me").await;
    let lease = batch["lease"].as_str().expect("a lease");
    client.get("/inboxes").send().await.expect(200);
    client
        .post_json("/inboxes/primary/ack", json!({ "lease": lease }))
        .await
        .expect(200);
    client.get("/wait?timeout=0").send().await.expect(204);
    let mut events = client
        .events("?since=0&kinds=notification,delivery,seen,session,listener,question,presence,preferences")
        .await;
    client.put("/notifications/1/seen").send().await.expect(200);
    for name in ["presence", "notification", "delivery", "seen"] {
        events.next_of(name).await;
    }
}

async fn look_back(client: &Client) {
    let page = client.read("/notifications?limit=2").await;
    assert!(page["next"].is_u64());
    client.get("/notifications/1").send().await.expect(200);
    let trace = client.read("/notifications/1/trace").await;
    let states: Vec<_> = trace["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| &step["state"])
        .collect();
    assert_eq!(states, ["stored", "acked", "seen"]);
    client
        .delete("/notifications/1/seen")
        .send()
        .await
        .expect(200);
    client
        .post_json("/seen", json!({ "up_to": 1, "seen": true }))
        .await
        .expect(200);
}

async fn take_back(client: &Client) {
    let id = client.say("never mind").await;
    let withdrawn = client.delete(&format!("/notifications/{id}")).send().await;
    assert_eq!(withdrawn.expect(200).json(), json!({ "withdrawn": [id] }));
    let id = client
        .notify(json!({ "msg": "50 %", "key": "build" }))
        .await;
    let withdrawn = client.delete("/notifications?key=build").send().await;
    assert_eq!(withdrawn.expect(200).json(), json!({ "withdrawn": [id] }));
    client.delete("/inboxes/primary").send().await.expect(200);
    let id = client
        .notify(json!({ "msg": "x", "project": "/a b" }))
        .await;
    let reset = client.post("/projects/%2Fa%20b/reset").send().await;
    assert_eq!(reset.expect(200).json(), json!({ "dropped": [id] }));
}

async fn know_sessions(client: &Client) {
    let info = json!({
        "name": "login", "agent": "run", "host": "mill", "cwd": "/r", "parent": "boss", "role": "worker",
        "main_worktree": false, "process": { "pid": 1 }, "pane": "%7", "title": "t", "metadata": { "a": 1 },
    });
    let mut events = client.events("?kinds=session,listener").await;
    client.put_json("/sessions/0b1c", &info).await.expect(201);
    events.next_of("session").await;
    client.get("/sessions").send().await.expect(200);
    client.get("/sessions/login").send().await.expect(200);
    client
        .put("/sessions/login/listeners/boss")
        .send()
        .await
        .expect(201);
    events.next_of("listener").await;
    client.get("/sessions/login").send().await.expect(200);
    client
        .delete("/sessions/login/listeners/boss")
        .send()
        .await
        .expect(200);
    client
        .post("/sessions/login/primary")
        .send()
        .await
        .expect(200);
    client.get("/sources").send().await.expect(200);
    client.delete("/sessions/login").send().await.expect(200);
    let hook = json!({ "hook_event_name": "SessionStart", "session_id": "s1" });
    client.post_json("/hooks/claude", &hook).await.expect(200);
    let hook = json!({ "hook_event_name": "PostToolUse", "session_id": "s1" });
    client.post_json("/hooks/claude", &hook).await.expect(204);
}

async fn ask_and_answer(client: &Client) {
    let ask =
        || client.notify(json!({ "msg": "?", "type": "question", "from": "s2", "options": ["a"] }));
    let mut events = client.events("?kinds=question").await;
    let id = ask().await;
    client.get("/questions").send().await.expect(200);
    client
        .get(&format!("/questions/{id}"))
        .send()
        .await
        .expect(200);
    client
        .post_json(&format!("/questions/{id}/claim"), json!({}))
        .await
        .expect(200);
    events.next_of("question").await;
    let answer = client
        .post(&format!("/questions/{id}/answer"))
        .json(&json!({ "answer": "a" }));
    answer.send().await.expect(201);
    events.next_of("question").await;
    let id = ask().await;
    let withdraw = client
        .post(&format!("/questions/{id}/withdraw"))
        .json(&json!({ "by": "s2" }));
    withdraw.send().await.expect(200);
}

async fn ask_the_hub(client: &Client) {
    let preferences = client.read("/preferences").await;
    client
        .put_json("/preferences", &preferences)
        .await
        .expect(200);
    client.get("/stats").send().await.expect(200);
    for path in [
        "/healthz",
        "/readyz",
        "/metrics",
        "/hello?nonce=0011223344556677",
        "/hub",
    ] {
        client.get(path).send().await.expect(200);
    }
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    client.post_json("/mcp", &ping).await.expect(200);
    let contract = client.get("/openapi.yaml").send().await.expect(200);
    assert_eq!(contract.text(), include_str!("../../openapi.yaml"));
}

async fn sign_in(client: &Client) {
    for path in ["/", "/assets/index.html"] {
        client.get(path).send().await.expect(200);
    }
    let made = client.post("/login/code").send().await.expect(201).json();
    client
        .post_json("/login", json!({ "code": made["code"] }))
        .await
        .expect(200);
}

#[tokio::test]
async fn a_hub_proves_that_it_knows_the_token() {
    let hub = Hub::builder().memory().start();
    let hello = hub
        .stranger()
        .get("/hello?nonce=00112233445566778899aabbccddeeff")
        .send()
        .await;
    let token: hubd::core::secret::Token = hub.token().parse().expect("a token");
    let address = format!("127.0.0.1:{}", hub.port());
    let proof = token.hmac(&[b"00112233445566778899aabbccddeeff", address.as_bytes()]);
    assert_eq!(
        hello.expect(200).json()["proof"],
        hubd::core::secret::hex(&proof)
    );
}
