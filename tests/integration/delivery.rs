//! From a publisher to a waiter, and delivery after a crash.

use hub_harness::{Answer, Client, Event, each};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{assert_fields, disk_hub, hub_with, memory_hub};

/// Returns the ids of a batch.
fn ids(batch: &Value) -> Value {
    each(&batch["notifications"], "id")
}

/// Starts a wait, and returns it once the hub has this many waiters.
async fn waiting(client: &Client, query: &str, waiters: usize) -> JoinHandle<Answer> {
    let mut presence = client.events("?kinds=presence").await;
    let wait = client.get(&format!("/wait?timeout=20&{query}")).spawn();
    let count = |event: &Event| event.data["waiters"].as_array().map(Vec::len);
    while count(&presence.next_of("presence").await) != Some(waiters) {}
    wait
}

#[tokio::test]
async fn a_waiter_is_woken_and_the_publishers_response_says_so() {
    let (_hub, client) = disk_hub();
    let wait = waiting(&client, "", 1).await;
    let post = json!({ "msg": "backup done", "from": "cron" });
    let published = client.publish(post).await;
    let inbox = json!({ "name": "primary", "created": true, "waiter": true });
    assert_fields(&published, json!({ "woken": 1, "inboxes": [inbox] }));
    let reply = wait.await.unwrap().expect(200).json();
    assert_eq!(reply["notifications"][0]["msg"], "backup done");
    let why = json!({ "reason": "arrived", "id": 1, "from": "cron", "type": "complete" });
    assert_eq!(reply["why_woken"], why);
}

#[tokio::test]
async fn a_notification_begins_with_the_promised_fields() {
    let (_hub, client) = memory_hub();
    client.say("x").await;
    let reply = client.get("/wait?timeout=0").await.expect(200).text();
    let order = ["{\"id\":1,\"ts\":\"", "\"from\":", "\"type\":", "\"msg\":"];
    let order = order.map(|key| reply.find(key).expect(key));
    assert!(order.is_sorted(), "{reply}");
}

#[tokio::test]
async fn after_kill_9_answered_notifications_are_stored_and_acked_ones_stay_acked() {
    let (mut hub, client) = disk_hub();
    let first = client.say("one").await;
    let batch = client.take("").await;
    let second = client.say("two").await;
    client.ack("primary", batch).await;
    hub.crash();
    assert_eq!(ids(&client.take("").await), json!([second]));
    assert_eq!(client.notification(first).await["status"], "acked");
    assert!(
        client.say("three").await > second,
        "no number is used again"
    );
}

#[tokio::test]
async fn a_lease_from_before_a_restart_still_acknowledges() {
    let (mut hub, client) = disk_hub();
    client.say("one").await;
    let batch = client.take("").await;
    hub.crash();
    assert_eq!(client.ack("primary", batch).await, json!({ "acked": [1] }));
    client.expect_nothing().await;
}

#[tokio::test]
async fn an_ack_never_covers_ids_that_were_not_delivered() {
    let (_hub, client) = memory_hub();
    client.say("one").await;
    let batch = client.take("&as=me").await;
    let later = client.say("two").await;
    client.ack("primary", batch).await;
    assert_eq!(ids(&client.take("&as=me").await), json!([later]));
}

#[tokio::test]
async fn a_repeated_ack_succeeds_and_a_forged_lease_is_refused() {
    let (_hub, client) = memory_hub();
    let id = client.say("one").await;
    let lease = client.take("").await["lease"].clone();
    for (what, acked) in [
        (json!({ "lease": lease }), json!([id])),
        (json!({ "lease": lease }), json!([])),
        (json!({ "ids": [id] }), json!([])),
    ] {
        assert_eq!(client.ack("primary", what).await["acked"], acked);
    }
    let forged = json!({ "lease": format!("A{}", lease.as_str().expect("a lease")) });
    let refused = client.post_json("/inboxes/primary/ack", forged).await;
    assert_eq!(refused.expect(422).code(), "forged_lease");
}

#[tokio::test]
async fn the_last_batch_is_acknowledged_with_the_next_wait() {
    let (_hub, client) = memory_hub();
    let id = client.say("one").await;
    let lease = client.take("").await["lease"].clone();
    let next = format!("/wait?timeout=0&ack={}", lease.as_str().expect("a lease"));
    client.get(&next).await.expect(204);
    assert_eq!(client.notification(id).await["status"], "acked");
}

#[tokio::test]
async fn a_second_waiter_is_refused_with_the_name_of_the_first() {
    let (_hub, client) = memory_hub();
    let wait = waiting(&client, "inbox=primary&as=first&session=boss", 1).await;
    let second = "/wait?timeout=20&as=second";
    let held = client.get(second).await.expect(409);
    assert_eq!(held.code(), "inbox_held");
    let first = json!({ "as": "first", "session": "boss" });
    assert_fields(&held.json()["holder"], first);
    let second = client.get(&format!("{second}&takeover=true")).spawn();
    assert_eq!(wait.await.unwrap().expect(409).code(), "taken_over");
    client.say("for the second").await;
    second.await.unwrap().expect(200);
}

#[tokio::test]
async fn a_request_with_the_same_key_is_stored_once_also_after_a_crash() {
    let (mut hub, client) = disk_hub();
    let keyed = || client.post("/notify").header("idempotency-key", "k");
    let first = keyed().body("once").await.expect(201).json();
    hub.crash();
    let again = keyed().body("once").await.expect(200).json();
    assert_eq!(again["id"], first["id"]);
    let other = keyed().body("other").await.expect(409);
    assert_eq!(other.code(), "key_reused");
    assert_eq!(ids(&client.take("").await), json!([first["id"]]));
}

#[tokio::test]
async fn a_batch_is_stored_whole_or_not_at_all() {
    let (_hub, client) = memory_hub();
    let batch = json!([{ "msg": "good" }, { "msg": "bad", "type": "answer" }]);
    client.post_json("/notify", &batch).await.expect(422);
    client.expect_nothing().await;
}

#[tokio::test]
async fn a_misaddressed_message_returns_a_hint() {
    let (_hub, client) = memory_hub();
    let _wait = waiting(&client, "project=here", 1).await;
    let post = json!({ "msg": "hello?", "project": "there" });
    let published = client.publish(post).await;
    let hint = published["hint"].as_str().expect("a hint");
    assert!(hint.contains("'here'"), "{published}");
    client.notify(json!({ "msg": "x", "to": "worker-1" })).await;
    let post = json!({ "msg": "x", "to": "worker-2" });
    let published = client.publish(post).await;
    assert_eq!(published["inboxes"][0]["nearest"], "worker-1");
}

#[tokio::test]
async fn a_wait_that_times_out_returns_204_and_a_barrier_its_missing_sessions() {
    let (_hub, client) = memory_hub();
    for reader in ["inbox=w9", "session=w9"] {
        let wait = format!("/wait?timeout=1&{reader}");
        client.get(&wait).await.expect(204);
    }
    let post = json!({ "msg": "done", "from": "w1", "type": "complete" });
    client.notify(post).await;
    let reply = client.read("/wait?timeout=1&all=w1,w2").await;
    assert_eq!(reply["barrier"], json!({ "met": false, "missing": ["w2"] }));
    assert_eq!(reply["why_woken"], json!({ "reason": "timeout" }));
}

#[tokio::test]
async fn replies_stop_waking_after_eight_hops() {
    let (_hub, client) = memory_hub();
    let reply = |to| json!({ "msg": "pong", "type": "message", "reply_to": to });
    let mut last = client.say("ping").await;
    for _ in 0..8 {
        last = client.notify(reply(last)).await;
    }
    let wait = waiting(&client, "inbox=primary&since=9", 1).await;
    let published = client.publish(reply(last)).await;
    assert_eq!(published["woken"], 0, "the ninth reply");
    client.say("a new thought").await;
    wait.await.unwrap().expect(200);
}

#[tokio::test]
async fn a_head_request_of_a_wait_leases_nothing() {
    let (_hub, client) = memory_hub();
    let id = client.say("for who waits").await;
    let head = client.ask("HEAD", "/wait?timeout=0").await.expect(405);
    assert_eq!(head.headers["allow"], "GET");
    let batch = client.take("").await;
    assert_fields(
        &batch["notifications"][0],
        json!({ "id": id, "redelivered": null }),
    );
}

#[tokio::test]
async fn a_notification_that_woke_a_waiter_has_no_hint_about_missing_waiters() {
    let (_hub, client) = memory_hub();
    let _elsewhere = waiting(&client, "project=there", 1).await;
    let _here = waiting(&client, "project=here", 2).await;
    let woken = json!({ "woken": 1, "hint": null });
    let post = json!({ "msg": "done", "project": "here" });
    let published = client.publish(post).await;
    assert_fields(&published, woken.clone());
    client.register("w1", json!({})).await;
    client.end_session("w1").await;
    let _wait = waiting(&client, "inbox=w1", 2).await;
    let published = client.publish(json!({ "msg": "done", "to": "w1" })).await;
    assert_fields(&published, woken);
}

#[tokio::test]
async fn hints_and_traces_name_sessions_by_their_names() {
    let (_hub, client) = hub_with(&["wake.per_sender_per_minute=1"]);
    client.register("0b1c-7d", json!({ "name": "login" })).await;
    let info = json!({ "name": "deploy" });
    client.register("77aa-01", info).await;
    let say = |from| {
        let post = json!({ "from": from, "to": "77aa-01", "type": "message", "msg": "x" });
        client.publish(post)
    };
    let wait = waiting(&client, "session=77aa-01", 1).await;
    assert_eq!(say("0b1c-7d").await["woken"], 1);
    wait.await.expect("an answer").expect(200);
    let _wait = waiting(&client, "session=77aa-01", 1).await;
    let held = say("0b1c-7d").await;
    let hint = held["hint"].as_str().expect("a hint");
    let limit = "1 wake a minute by login";
    assert!(hint.contains(limit) && hint.contains("'deploy'"), "{hint}");
    let path = format!("/notifications/{}/trace", held["id"]);
    let trace = client.read(&path).await;
    let steps = trace["steps"].as_array().expect("steps");
    assert_eq!(steps.last().expect("a step")["limit"], limit);
    let own = say("77aa-01").await;
    let hint = own["hint"].as_str().expect("a hint");
    assert!(hint.contains("'deploy'"), "{hint}");
}
