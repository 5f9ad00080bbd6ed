//! From a publisher to a waiter, and delivery after a crash.

use hub_harness::{Answer, Client, Event, Hub};
use serde_json::{Value, json};

use crate::{assert_fields, memory_hub};

/// Returns the ids in a response of `GET /wait`.
fn ids(reply: &Value) -> Vec<u64> {
    let all = reply["notifications"].as_array().expect("a list");
    all.iter()
        .filter_map(|notification| notification["id"].as_u64())
        .collect()
}

async fn drain(client: &Client, query: &str) -> Value {
    client.read(&format!("/wait?timeout=0{query}")).await
}

/// Starts a wait, and returns once the hub has registered the waiter.
async fn waiting(hub: &Hub, query: &str) -> tokio::task::JoinHandle<hub_harness::Answer> {
    let mut presence = hub.client().events("?kinds=presence").await;
    let ask = hub.client().get(&format!("/wait?{query}"));
    let wait = tokio::spawn(async move { ask.send().await });
    presence.until_waiting("primary").await;
    wait
}

/// Starts a wait, and returns it once the hub has this many waiters.
async fn waiting_as(hub: &Hub, query: &str, waiters: usize) -> tokio::task::JoinHandle<Answer> {
    let mut presence = hub.client().events("?kinds=presence").await;
    let ask = hub.client().get(&format!("/wait?{query}"));
    let wait = tokio::spawn(async move { ask.send().await });
    let count = |event: &Event| event.data["waiters"].as_array().map(Vec::len);
    while count(&presence.next_of("presence").await) != Some(waiters) {}
    wait
}

#[tokio::test]
async fn a_waiter_is_woken_and_the_publishers_response_says_so() {
    let hub = Hub::start();
    let wait = waiting(&hub, "timeout=20").await;
    let post = json!({ "msg": "backup done", "from": "cron" });
    let published = hub
        .client()
        .post_json("/notify", &post)
        .await
        .expect(201)
        .json();
    assert_eq!(published["woken"], 1);
    assert_eq!(
        published["inboxes"],
        json!([{ "name": "primary", "created": true, "waiter": true }])
    );
    let reply = wait.await.unwrap().expect(200).json();
    assert_eq!(reply["notifications"][0]["msg"], "backup done");
    assert_eq!(
        reply["why_woken"],
        json!({ "reason": "arrived", "id": 1, "from": "cron", "type": "complete" })
    );
}

#[tokio::test]
async fn a_notification_begins_with_the_promised_fields() {
    let hub = Hub::builder().memory().start();
    hub.client().say("x").await;
    let reply = hub
        .client()
        .get("/wait?timeout=0")
        .send()
        .await
        .expect(200)
        .text();
    let first = reply
        .find("{\"id\":1,\"ts\":\"")
        .expect("id and ts come first");
    let order: Vec<usize> = ["\"from\":", "\"type\":", "\"msg\":"]
        .iter()
        .map(|key| reply.find(key).unwrap())
        .collect();
    assert!(first < order[0] && order.is_sorted(), "{reply}");
}

#[tokio::test]
async fn after_kill_9_answered_notifications_are_stored_and_acked_ones_stay_acked() {
    let mut hub = Hub::start();
    let client = hub.client();
    let first = client.say("one").await;
    let lease = drain(&client, "").await["lease"].clone();
    let second = client.say("two").await;
    client
        .post_json("/inboxes/primary/ack", json!({ "lease": lease }))
        .await
        .expect(200);
    hub.kill_9();
    hub.start_again();
    let client = hub.client();
    assert_eq!(ids(&drain(&client, "").await), [second]);
    let status = client.read(&format!("/notifications/{first}")).await;
    assert_eq!(status["status"], "acked");
    assert!(
        client.say("three").await > second,
        "no number is used again"
    );
}

#[tokio::test]
async fn a_lease_from_before_a_restart_still_acknowledges() {
    let mut hub = Hub::start();
    hub.client().say("one").await;
    let lease = drain(&hub.client(), "").await["lease"].clone();
    hub.kill_9();
    hub.start_again();
    let ack = hub
        .client()
        .post("/inboxes/primary/ack")
        .json(&json!({ "lease": lease }));
    assert_eq!(ack.send().await.expect(200).json(), json!({ "acked": [1] }));
    hub.client().get("/wait?timeout=0").send().await.expect(204);
}

#[tokio::test]
async fn an_ack_never_covers_ids_that_were_not_delivered() {
    let (_hub, client) = memory_hub();
    client.say("one").await;
    let lease = drain(&client, "&as=me").await["lease"].clone();
    let later = client.say("two").await;
    client
        .post_json("/inboxes/primary/ack", json!({ "lease": lease }))
        .await
        .expect(200);
    assert_eq!(ids(&drain(&client, "&as=me").await), [later]);
}

#[tokio::test]
async fn a_repeated_ack_succeeds_and_a_forged_lease_is_refused() {
    let (_hub, client) = memory_hub();
    client.say("one").await;
    let lease = drain(&client, "").await["lease"]
        .as_str()
        .unwrap()
        .to_owned();
    for acked in [json!([1]), json!([])] {
        let ack = client
            .post("/inboxes/primary/ack")
            .json(&json!({ "lease": lease }));
        assert_eq!(ack.send().await.expect(200).json()["acked"], acked);
    }
    let forged = client
        .post("/inboxes/primary/ack")
        .json(&json!({ "lease": format!("A{lease}") }));
    assert_eq!(forged.send().await.expect(422).code(), "forged_lease");
}

#[tokio::test]
async fn an_ack_of_ids_never_put_into_the_inbox_is_an_error_and_changes_nothing() {
    let (_hub, client) = memory_hub();
    let here = client.say("here").await;
    let elsewhere = client.notify(json!({ "msg": "there", "to": "w1" })).await;
    for foreign in [elsewhere, 99] {
        let ack = client
            .post("/inboxes/primary/ack")
            .json(&json!({ "ids": [here, foreign] }));
        assert_eq!(ack.send().await.expect(404).code(), "unknown_notification");
    }
    assert_eq!(ids(&drain(&client, "").await), [here]);
}

#[tokio::test]
async fn the_last_batch_is_acknowledged_with_the_next_wait() {
    let (_hub, client) = memory_hub();
    client.say("one").await;
    let lease = drain(&client, "").await["lease"]
        .as_str()
        .unwrap()
        .to_owned();
    client
        .get(&format!("/wait?timeout=0&ack={lease}"))
        .send()
        .await
        .expect(204);
    let acked = client.read("/notifications/1").await;
    assert_eq!(acked["status"], "acked");
}

#[tokio::test]
async fn a_second_waiter_is_refused_with_the_name_of_the_first() {
    let hub = Hub::builder().memory().start();
    let wait = waiting(&hub, "inbox=primary&timeout=20&as=first&session=boss").await;
    let held = hub
        .client()
        .get("/wait?timeout=20&as=second")
        .send()
        .await
        .expect(409);
    assert_eq!(held.code(), "inbox_held");
    assert_eq!(
        (
            &held.json()["holder"]["as"],
            &held.json()["holder"]["session"]
        ),
        (&json!("first"), &json!("boss"))
    );
    let ask = hub.client().get("/wait?timeout=20&as=second&takeover=true");
    let second = tokio::spawn(async move { ask.send().await });
    assert_eq!(wait.await.unwrap().expect(409).code(), "taken_over");
    hub.client().say("for the second").await;
    second.await.unwrap().expect(200);
}

#[tokio::test]
async fn a_request_with_the_same_key_is_stored_once_also_after_a_crash() {
    let mut hub = Hub::start();
    let send = |hub: &Hub, body: &'static str| {
        hub.client()
            .post("/notify")
            .header("idempotency-key", "k")
            .body(body)
            .send()
    };
    let first = send(&hub, "once").await.expect(201).json();
    hub.kill_9();
    hub.start_again();
    assert_eq!(
        send(&hub, "once").await.expect(200).json()["id"],
        first["id"]
    );
    assert_eq!(send(&hub, "other").await.expect(409).code(), "key_reused");
    assert_eq!(ids(&drain(&hub.client(), "").await).len(), 1);
}

#[tokio::test]
async fn a_batch_is_stored_whole_or_not_at_all() {
    let hub = Hub::builder().memory().start();
    let batch = json!([{ "msg": "good" }, { "msg": "bad", "type": "answer" }]);
    hub.client().post_json("/notify", &batch).await.expect(422);
    hub.client().get("/wait?timeout=0").send().await.expect(204);
}

#[tokio::test]
async fn a_newer_notification_supersedes_a_pending_one_with_the_same_key() {
    let (_hub, client) = memory_hub();
    let say =
        |msg, priority| json!({ "msg": msg, "from": "ci", "key": "build", "priority": priority });
    let old = client.notify(say("50 %", "high")).await;
    let new = client.notify(say("60 %", "normal")).await;
    let reply = drain(&client, "").await;
    assert_eq!(ids(&reply), [new]);
    assert_eq!(
        reply["notifications"][0]["priority"], "high",
        "the higher priority stays"
    );
    let status = client.read(&format!("/notifications/{old}")).await;
    assert_eq!(status["status"], "superseded");
}

#[tokio::test]
async fn a_misaddressed_message_returns_a_hint() {
    let hub = Hub::builder().memory().start();
    let _wait = waiting(&hub, "timeout=20&project=here").await;
    let post = json!({ "msg": "hello?", "project": "there" });
    let published = hub
        .client()
        .post_json("/notify", &post)
        .await
        .expect(201)
        .json();
    assert!(
        published["hint"]
            .as_str()
            .is_some_and(|hint| hint.contains("'here'")),
        "{published}"
    );
    hub.client()
        .notify(json!({ "msg": "x", "to": "worker-1" }))
        .await;
    let typo = json!({ "msg": "x", "to": "worker-2" });
    let published = hub
        .client()
        .post_json("/notify", &typo)
        .await
        .expect(201)
        .json();
    assert_eq!(published["inboxes"][0]["nearest"], "worker-1");
}

#[tokio::test]
async fn an_expired_notification_is_not_offered() {
    let hub = Hub::builder().memory().start();
    let mut events = hub.client().events("?kinds=delivery").await;
    let id = hub
        .client()
        .notify(json!({ "msg": "quick", "ttl": 1 }))
        .await;
    let expired = events.next_of("delivery").await;
    assert_fields(&expired.data, json!({ "ids": [id], "state": "expired" }));
    hub.client().get("/wait?timeout=0").send().await.expect(204);
}

#[tokio::test]
async fn a_wait_that_times_out_returns_204_and_a_barrier_its_missing_sessions() {
    let (_hub, client) = memory_hub();
    client
        .get("/wait?timeout=1&inbox=w9")
        .send()
        .await
        .expect(204);
    client
        .notify(json!({ "msg": "done", "from": "w1", "type": "complete" }))
        .await;
    let reply = client.read("/wait?timeout=1&all=w1,w2").await;
    assert_eq!(reply["barrier"], json!({ "met": false, "missing": ["w2"] }));
    assert_eq!(reply["why_woken"], json!({ "reason": "timeout" }));
}

#[tokio::test]
async fn replies_stop_waking_after_eight_hops() {
    let (hub, client) = memory_hub();
    let mut last = client.say("ping").await;
    for _ in 0..8 {
        last = client
            .notify(json!({ "msg": "pong", "type": "message", "reply_to": last }))
            .await;
    }
    let wait = waiting(&hub, "timeout=20&inbox=primary&since=9").await;
    let tired = json!({ "msg": "pong", "type": "message", "reply_to": last });
    let published = client.post_json("/notify", &tired).await.expect(201).json();
    assert_eq!(published["woken"], 0, "the ninth reply");
    client.say("a new thought").await;
    wait.await.unwrap().expect(200);
}

#[tokio::test]
async fn a_head_request_of_a_wait_leases_nothing() {
    let (_hub, client) = memory_hub();
    let id = client.say("for who waits").await;
    let head = client.ask("HEAD", "/wait?timeout=0").send().await;
    assert_eq!(
        (head.status, &head.headers["allow"]),
        (405, &"GET".parse().expect("a value"))
    );
    let batch = client.read("/wait?timeout=0").await;
    assert_eq!(batch["notifications"][0]["id"], id);
    assert_eq!(batch["notifications"][0].get("redelivered"), None);
}

#[tokio::test]
async fn a_notification_that_woke_a_waiter_has_no_hint_about_missing_waiters() {
    let (hub, client) = memory_hub();
    let _elsewhere = waiting_as(&hub, "timeout=20&project=there", 1).await;
    let _here = waiting_as(&hub, "timeout=20&project=here", 2).await;
    let post = json!({ "msg": "done", "project": "here" });
    let published = client.post_json("/notify", &post).await;
    let published = published.expect(201).json();
    assert_eq!(published["woken"], 1, "{published}");
    assert_eq!(published.get("hint"), None, "{published}");
    client.put_json("/sessions/w1", json!({})).await.expect(201);
    client.delete("/sessions/w1").send().await.expect(200);
    let _wait = waiting_as(&hub, "timeout=20&inbox=w1", 2).await;
    let post = json!({ "msg": "done", "to": "w1" });
    let published = client.post_json("/notify", &post).await;
    let published = published.expect(201).json();
    assert_eq!(published["woken"], 1, "{published}");
    assert_eq!(published.get("hint"), None, "{published}");
}

#[tokio::test]
async fn hints_and_traces_name_sessions_by_their_names() {
    let hub = Hub::builder()
        .memory()
        .set("wake.per_sender_per_minute=1")
        .start();
    let client = hub.client();
    for (id, name) in [("0b1c-7d", "login"), ("77aa-01", "deploy")] {
        let put = client.put(&format!("/sessions/{id}"));
        put.json(&json!({ "name": name })).send().await.expect(201);
    }
    let say = async || {
        let post = json!({ "from": "0b1c-7d", "to": "77aa-01", "type": "message", "msg": "x" });
        client.post_json("/notify", &post).await.expect(201).json()
    };
    let wait = waiting_as(&hub, "timeout=20&session=77aa-01", 1).await;
    assert_eq!(say().await["woken"], 1);
    wait.await.expect("an answer").expect(200);
    let _wait = waiting_as(&hub, "timeout=20&session=77aa-01", 1).await;
    let held = say().await;
    let hint = held["hint"].as_str().expect("a hint");
    assert!(
        hint.contains("1 wakes a minute by login") && hint.contains("'deploy'"),
        "{hint}"
    );
    let path = format!("/notifications/{}/trace", held["id"]);
    let trace = client.read(&path).await;
    let steps = trace["steps"].as_array().expect("steps");
    let limit = &steps.last().expect("a step")["limit"];
    assert_eq!(*limit, "1 wakes a minute by login");
    let own = json!({ "from": "77aa-01", "to": "77aa-01", "msg": "x" });
    let own = client.post_json("/notify", &own).await;
    let hint = own.expect(201).json()["hint"].clone();
    assert!(
        hint.as_str().expect("a hint").contains("'deploy'"),
        "{hint}"
    );
}
