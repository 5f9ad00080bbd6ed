//! Every operation of openapi.yaml.

use std::collections::BTreeSet;

use hub_harness::{Client, Contract, Hub, PushService};
use hub_http::routes::{Property, ROUTES};
use hub_protocol::Timestamp;
use serde_json::{Value, json};

use crate::memory_hub;

#[tokio::test]
async fn every_operation_is_exercised_and_keeps_the_contract() {
    // A phone is paired at an address of the configuration.
    let builder = Hub::builder().set("allowed_hosts=['hub.example']");
    let hub = builder.start();
    let client = hub.client();
    publish(&client).await;
    receive(&client).await;
    look_back(&client).await;
    take_back(&client).await;
    know_sessions(&client).await;
    crate::timeline::go_to_a_pane(&hub, &client).await;
    ask_and_answer(&client).await;
    meet_needs(&client).await;
    resume(&client).await;
    ask_the_hub(&hub, &client).await;
    // `tests/cluster` exercises the path that only a hub in a cluster has.
    assert_eq!(hub.contract().unexercised(), ["handOver"]);
}

/// Sends a request, which must be answered with this status. Returns the response's JSON, `null` if there is none.
async fn call(client: &Client, method: &str, path: &str, body: Value, status: u16) -> Value {
    let ask = client.ask(method, path);
    let ask = if body.is_null() { ask } else { ask.json(&body) };
    let answer = ask.await.expect(status);
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

/// Sends these requests without a body, which must succeed.
async fn succeed(client: &Client, requests: &[&str]) {
    for request in requests {
        let (method, path) = request.split_once(' ').expect("a method");
        call(client, method, path, Value::Null, 200).await;
    }
}

async fn publish(client: &Client) {
    let text = client.post("/notify?from=worker&type=done");
    let text = text.body("backup done").await;
    assert_eq!(text.expect(201).json()["id"], 1);
    let batch = client.post("/notify").header("idempotency-key", "k");
    let posts = json!([{ "msg": "a" }, { "msg": "b", "type": "progress" }]);
    batch.json(&posts).await.expect(201);
    let full = json!({
        "msg": "Which port?", "from": "worker", "to": "person", "type": "question", "priority": "high", "title": "Port",
        "data": { "a": [1, null] }, "session": "worker", "parent": "manager", "key": "port", "reply_to": 1,
        "ttl": 3600, "options": ["4782", "8080"], "ts": "2026-02-17T14:30:05-06:00", "project": "/home/me/src/hub",
    });
    client.publish(full).await;
    let lines = client
        .post("/notify")
        .header("content-type", "application/x-ndjson");
    let lines = lines.body("{\"msg\":\"c\"}\n{\"msg\":\"d\"}\n");
    lines.await.expect(201);
}

async fn receive(client: &Client) {
    let batch = client.take("&as=me").await;
    succeed(client, &["GET /inboxes"]).await;
    client.ack("primary", batch).await;
    client.expect_nothing().await;
    let kinds = "notification,delivery,seen,session,listener,question,presence,preferences";
    let mut events = client.events(&format!("?since=0&kinds={kinds}")).await;
    succeed(client, &["PUT /notifications/1/seen"]).await;
    for name in ["presence", "notification", "delivery", "seen"] {
        events.next_of(name).await;
    }
}

async fn look_back(client: &Client) {
    let page = client.read("/notifications?limit=2").await;
    assert!(page["next"].is_u64());
    let states = json!(["stored", "acked", "seen"]);
    assert_eq!(client.trace(1).await, states);
    succeed(
        client,
        &["GET /notifications/1", "DELETE /notifications/1/seen"],
    )
    .await;
    let seen = json!({ "up_to": 1, "seen": true });
    call(client, "POST", "/seen", seen, 200).await;
}

async fn take_back(client: &Client) {
    let post = json!({ "msg": "50 %", "key": "build", "project": "/a b" });
    for (method, path, member) in [
        ("DELETE", "/notifications/{id}", "withdrawn"),
        (
            "DELETE",
            "/notifications?key=build&project=%2Fa%20b",
            "withdrawn",
        ),
        ("POST", "/projects/%2Fa%20b/reset", "dropped"),
    ] {
        let id = client.notify(post.clone()).await;
        let path = path.replace("{id}", &id.to_string());
        let gone = call(client, method, &path, Value::Null, 200).await;
        assert_eq!(gone, json!({ member: [id] }));
    }
    succeed(client, &["DELETE /inboxes/primary"]).await;
}

async fn know_sessions(client: &Client) {
    let info = json!({
        "name": "login", "agent": "run", "host": "mill", "cwd": "/r", "parent": "boss", "role": "worker",
        "main_worktree": false, "process": { "pid": 1 }, "branch": "main", "repository": "https://a.b/c", "pane": "%7", "title": "t", "metadata": { "a": 1 },
    });
    let mut events = client.events("?kinds=session,listener").await;
    client.register("0b1c", info).await;
    events.next_of("session").await;
    let get = [
        "GET /sessions",
        "GET /sessions/login",
        "GET /sessions/login/conversation",
    ];
    succeed(client, &get).await;
    let listener = "/sessions/login/listeners/boss";
    client.put(listener).await.expect(201);
    events.next_of("listener").await;
    client.session("login").await;
    client.delete(listener).await.expect(200);
    let rest = [
        "POST /sessions/login/primary",
        "GET /timeline",
        "GET /timeline/moment?at=2026-02-17T14:30:05Z",
        "GET /sources",
        "DELETE /sessions/login",
    ];
    succeed(client, &rest).await;
    for name in ["SessionStart", "PostToolUse"] {
        let event = json!({ "hook_event_name": name });
        client.hook("", "s1", event).await;
    }
}

async fn ask_and_answer(client: &Client) {
    let mut events = client.events("?kinds=question").await;
    let ask = json!({ "msg": "?", "type": "question", "from": "s2", "options": ["a"] });
    let id = client.notify(ask).await;
    succeed(client, &["GET /questions"]).await;
    client.question(id).await;
    let claim = format!("/questions/{id}/claim");
    call(client, "POST", &claim, json!({}), 200).await;
    events.next_of("question").await;
    client.answer(id, "a").await.expect(201);
    events.next_of("question").await;
    let each = format!("/needs/{}/answer", client.asks("s2").await);
    call(
        client,
        "POST",
        &each,
        json!({ "choices": [{ "text": "a" }] }),
        201,
    )
    .await;
    events.next_of("question").await;
    let withdraw = format!("/questions/{}/withdraw", client.asks("s2").await);
    call(client, "POST", &withdraw, json!({ "by": "s2" }), 200).await;
}

async fn meet_needs(client: &Client) {
    let mut events = client.events("?kinds=need").await;
    let stop = json!({ "from": "w9", "session": "w9", "type": "error", "msg": "no disk" });
    client.notify(stop).await;
    events.next_of("need").await;
    let needs = client.read("/needs").await["needs"].clone();
    let needs = needs.as_array().expect("a list");
    let need = needs.iter().find(|it| it["name"] == "w9");
    let id = need.and_then(|it| it["id"].as_str()).expect("its need");
    let path = format!("/needs/{id}");
    client.read(&path).await;
    let done = format!("{path}/done");
    call(client, "POST", &done, Value::Null, 204).await;
    call(client, "DELETE", &done, Value::Null, 204).await;
    let until = json!({ "until": Timestamp::now().plus_millis(60_000) });
    client
        .post_json(&format!("{path}/snooze"), until)
        .await
        .expect(204);
}

/// Decides whether a session goes on after its limit.
async fn resume(client: &Client) {
    let limit = json!({ "hook_event_name": "StopFailure", "error": "rate_limit",
        "last_assistant_message": "resets 3pm (UTC)" });
    client.hook("", "w7", limit).await;
    let needs = client.read("/needs").await["needs"].take();
    let needs = needs.as_array().expect("a list");
    let need = needs.iter().find(|it| it["name"] == "w7");
    let id = need.and_then(|it| it["id"].as_str()).expect("its need");
    let path = format!("/needs/{id}/resume");
    call(client, "POST", &path, Value::Null, 204).await;
    call(client, "DELETE", &path, Value::Null, 204).await;
}

async fn ask_the_hub(hub: &Hub, client: &Client) {
    let preferences = client.read("/preferences").await;
    call(client, "PUT", "/preferences", preferences, 200).await;
    let text = json!({ "text": "# a\n\n- [x] [b](https://c.d) `e`" });
    call(client, "POST", "/markdown", text, 200).await;
    let health = [
        "GET /stats",
        "GET /why/1",
        "GET /healthz",
        "GET /readyz",
        "GET /metrics",
    ];
    succeed(
        client,
        &["GET /dashboard", "GET /rules", "GET /directory?cwd=/"],
    )
    .await;
    call(client, "POST", "/rules/test", json!({}), 200).await;
    succeed(client, &health).await;
    succeed(client, &["GET /hello?nonce=0011223344556677", "GET /hub"]).await;
    succeed(client, &["GET /", "GET /assets/index.html"]).await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    call(client, "POST", "/mcp", ping, 200).await;
    let contract = client.get("/openapi.yaml").await.expect(200);
    assert_eq!(contract.text(), include_str!("../../openapi.yaml"));
    let made = call(&hub.unix(), "POST", "/login/code", Value::Null, 201).await;
    let code = json!({ "code": made["code"] });
    let login = call(client, "POST", "/login", code, 200).await;
    call(&hub.unix(), "POST", "/login/phone", json!({}), 201).await;
    let session = login["token"].as_str().expect("a token");
    crate::dashboard::resume(hub, session).await.expect(200);
    let device = hub.session(session);
    let service = PushService::start();
    call(&device, "GET", "/login/push", Value::Null, 200).await;
    let subscription = service.subscription("a");
    call(&device, "PUT", "/login/push", subscription, 204).await;
    call(&device, "DELETE", "/login/push", Value::Null, 204).await;
    succeed(client, &["GET /login/devices", "DELETE /login/devices/all"]).await;
    succeed(client, &["GET /service-worker.js"]).await;
}

#[tokio::test]
async fn a_hub_proves_that_it_knows_the_token() {
    let (hub, _client) = memory_hub();
    let nonce = "00112233445566778899aabbccddeeff";
    let hello = hub.stranger().read(&format!("/hello?nonce={nonce}")).await;
    let token: hub_core::secret::Token = hub.token().parse().expect("a token");
    let address = format!("127.0.0.1:{}", hub.port());
    let proof = token.hmac(&[nonce.as_bytes(), address.as_bytes()]);
    assert_eq!(hello["proof"], hub_core::secret::hex(&proof));
}

#[test]
fn the_table_of_routes_has_the_operations_of_the_contract_and_no_other() {
    let contract = Contract::new();
    let declared = contract.operations().iter();
    let declared = declared.map(|it| (it.path.clone(), it.method.clone(), it.public));
    let served = ROUTES.iter().flat_map(|route| {
        // The contract has no HEAD, which is GET without a body.
        let methods = route.methods.iter().filter(|(method, _)| *method != "head");
        methods.map(|(method, properties)| {
            let path = route.path.replace("{*", "{");
            let method = method.to_uppercase();
            (path, method, properties.contains(&Property::Public))
        })
    });
    assert_eq!(
        served.collect::<BTreeSet<_>>(),
        declared.collect::<BTreeSet<_>>()
    );
}
