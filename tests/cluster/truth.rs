//! What a hub says about itself, and what it refuses, while it does not know what the others store.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use hub_harness::{Hub, pause};
use hub_protocol::{SpoolItem, Spooled, Timestamp};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::nats::Nats;
use super::proxy::Proxy;
use super::support::{
    TAKEOVER, cluster, eventually, member, message, pair, publish, stored, until_active,
    until_cluster, until_follows,
};
use super::takeover::keys;

/// Starts two hubs, `a` active on a line that can be cut, and `b` following.
async fn cuttable(servers: &[Nats; 1]) -> (Hub, Hub, Proxy) {
    let line = Proxy::start(&servers[0].url()).await;
    let urls = format!("cluster.urls=['{}']", line.url());
    let a = member("a", servers).set(&urls).start();
    until_active(&a).await;
    let b = member("b", servers).start();
    until_follows(&b, "a").await;
    (a, b, line)
}

/// Asks a question at a hub; returns its number.
async fn ask(hub: &Hub, to: &str) -> u64 {
    let post = json!({ "from": "asker", "type": "question", "to": to, "msg": "which?" });
    let asked = hub.client().post_json("/notify", post).await.expect(201);
    asked.json()["id"].as_u64().unwrap()
}

// The proxy must run while a hub is started.
#[tokio::test(flavor = "multi_thread")]
async fn an_active_hub_that_lost_nats_says_so_and_neither_refuses_nor_decides() {
    let servers = [Nats::start()];
    let (a, b, line) = cuttable(&servers).await;
    publish(&a, "old", "w").await;
    line.cut(true);
    until_active(&b).await;
    let new = publish(&b, "new", "w").await;
    let question = ask(&b, "person").await;
    let told = until_cluster(&a, "alone", |it| it["role"] == "standby").await;
    assert_eq!(told["active"], Value::Null, "{told}");
    let client = a.client();
    let ready = client.get("/readyz").send().await.expect(503);
    assert_eq!(ready.code(), "not_ready");
    for path in [
        "/inboxes",
        "/questions",
        "/sessions",
        "/dashboard",
        "/notifications",
    ] {
        let read = client.get(path).send().await.expect(200);
        assert_eq!(read.headers["hub-stale"], "1", "{path}");
    }
    let answer = json!({ "reply": "yes" });
    for request in [
        client.get(&format!("/notifications/{new}")),
        client.get(&format!("/notifications/{new}/trace")),
        client.delete(&format!("/notifications/{new}")),
        client
            .post(&format!("/needs/{question}/answer"))
            .json(&answer),
    ] {
        let refused = request.send().await.expect(503);
        assert_eq!(refused.code(), "no_active_hub");
        assert_eq!(refused.headers["retry-after"], "1");
    }
    line.cut(false);
    until_follows(&a, "b").await;
    client.get("/readyz").send().await.expect(200);
    let read = client.get(&format!("/notifications/{new}")).send().await;
    assert!(!read.expect(200).headers.contains_key("hub-stale"));
    client
        .delete(&format!("/notifications/{new}"))
        .send()
        .await
        .expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spooled_answer_to_a_question_of_the_next_active_hub_is_not_set_aside() {
    let servers = [Nats::start()];
    let (a, b, line) = cuttable(&servers).await;
    line.cut(true);
    until_active(&b).await;
    let question = ask(&b, "w1").await;
    let post = json!({ "from": "w1", "reply_to": question, "msg": "that one" });
    let item = SpoolItem {
        key: "answer".parse().unwrap(),
        request: Spooled::Post(to_raw_value(&post).unwrap()),
    };
    let spool = a.state_dir().join("spool");
    let draft = spool.join(".item");
    std::fs::write(&draft, serde_json::to_vec(&item).unwrap()).unwrap();
    std::fs::rename(&draft, spool.join(item.key.path())).unwrap();
    // Each pass of the spool begins with the oldest item, so this one is read after the answer was.
    let later = SpoolItem {
        key: "later".parse().unwrap(),
        request: Spooled::Post(to_raw_value(&message("w", "later")).unwrap()),
    };
    std::fs::write(&draft, serde_json::to_vec(&later).unwrap()).unwrap();
    std::fs::rename(&draft, spool.join(later.key.path())).unwrap();
    line.cut(false);
    eventually("stored, the later item", async || {
        let all = stored(&b).await;
        let found = all.iter().any(|(_, text)| text == "later");
        found.then_some(()).ok_or_else(|| format!("{all:?}"))
    })
    .await;
    let aside: Vec<_> = std::fs::read_dir(spool.join("rejected")).unwrap().collect();
    assert!(aside.is_empty(), "{aside:?}");
    let settled = b.client().read(&format!("/questions/{question}")).await;
    assert_eq!(settled["answer"], "that one", "{settled}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_without_an_active_hub() {
    let servers = [Nats::start()];
    let (a, b, line) = cuttable(&servers).await;
    drop(b);
    let reader = member("reader", &servers).set("cluster.lead=false").start();
    until_follows(&reader, "a").await;
    let wait = |hub: &Hub, seconds: u32| {
        let path = format!("/wait?inbox=w{seconds}&timeout={seconds}");
        hub.client().get(&path).patience(TAKEOVER).send()
    };
    // This one begins before, and its time is over when the hub is not active any more.
    let begun = tokio::spawn(wait(&a, 12));
    until_waits(&a, "w12").await;
    line.cut(true);
    until_cluster(&a, "alone", |it| it["role"] == "standby").await;
    for hub in [&a, &reader] {
        for seconds in [0, 1] {
            let ended = wait(hub, seconds).await;
            assert_eq!(ended.expect(503).code(), "no_active_hub");
        }
    }
    let ended = begun.await.unwrap();
    assert_eq!(ended.expect(503).code(), "no_active_hub");
}

/// Waits until somebody waits at an inbox.
async fn until_waits(hub: &Hub, inbox: &str) {
    eventually("held, the inbox", async || {
        let found = hub.client().read("/inboxes").await;
        let held = |it: &Value| it["name"] == inbox && !it["waiter"].is_null();
        let all = found["inboxes"].as_array().unwrap();
        all.iter()
            .any(held)
            .then_some(())
            .ok_or_else(|| found.to_string())
    })
    .await;
}

/// Returns the time in some milliseconds.
fn moment(millis: i64) -> Value {
    json!(Timestamp::now().plus_millis(millis))
}

#[tokio::test]
async fn what_is_pending_moves_with_the_clock_of_the_hub_that_takes_over_a_released_lease() {
    let servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    let post = |ttl: u64| json!({ "from": "tester", "to": "w", "msg": "soon", "ttl": ttl });
    let expires = async |hub: &Hub| {
        let sent = hub.client().post_json("/notify", post(20)).await;
        sent.expect(201).json()["id"].as_u64().unwrap()
    };
    let before = expires(&a).await;
    until_follows(&b, "a").await;
    // As if `a`, whose clock is a day behind that of `b`, had handed over to `b`.
    let lease = json!({
        "node": "", "run": "", "from": "a", "heir": "b", "head": a.client().head().await,
        "at": moment(-24 * 3600 * 1000), "version": "",
    });
    let keys = keys(&servers[0]).await;
    keys.put("active", lease.to_string().into()).await.unwrap();
    until_active(&b).await;
    let after = expires(&b).await;
    let status = async |id: u64| {
        let read = b.client().read(&format!("/notifications/{id}")).await;
        read["status"].clone()
    };
    eventually("expired", async || {
        let found = status(after).await;
        (found == "expired")
            .then_some(())
            .ok_or_else(|| found.to_string())
    })
    .await;
    assert_eq!(status(before).await, "pending");
}

#[tokio::test]
async fn the_beats_of_others_do_not_shorten_the_time_after_which_a_lease_counts_as_lost() {
    let servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    let client = async_nats::connect(servers[0].url()).await.unwrap();
    // A hub looks at the lease at once when another one leaves.
    let beat = json!({
        "role": "leaving", "head": 1, "version": "0", "at": moment(0), "open": [], "held": [], "presence": 0,
    });
    let beats = tokio::spawn(async move {
        loop {
            let sent = client.publish("hub.hub.beat.other", beat.to_string().into());
            sent.await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    pause(a.pid(), true);
    let paused = Instant::now();
    until_active(&b).await;
    // The lease was renewed two seconds before at most, and the paused hub is sure for six.
    assert!(paused.elapsed() > Duration::from_secs(4));
    beats.abort();
}

#[tokio::test]
async fn a_hub_that_has_slept_counts_the_time_of_the_lease_from_its_waking() {
    let servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    // Longer than the time after which a lease that is not renewed counts as lost.
    let asleep = Duration::from_secs(10);
    for hub in [&a, &b] {
        pause(hub.pid(), true);
    }
    tokio::time::sleep(asleep).await;
    // The active hub wakes later than the other one, which reads the lease that it has seen before it slept.
    pause(b.pid(), false);
    let woken = Instant::now();
    until_active(&b).await;
    assert!(woken.elapsed() > Duration::from_secs(4));
    pause(a.pid(), false);
    until_follows(&a, "b").await;
}

#[tokio::test]
async fn a_second_hub_with_the_name_of_a_running_one_is_refused() {
    let servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    for (node, hub) in [("a", &a), ("b", &b)] {
        let twin = member(node, &servers).start();
        let told = until_cluster(&twin, "refused", |it| it["fault"].is_string()).await;
        let fault = told["fault"].as_str().unwrap();
        assert!(
            fault.contains(&format!("another hub is '{node}'")) && fault.contains("cluster.node"),
            "{fault}"
        );
        let told = cluster(hub).await;
        assert!(told["fault"].is_null(), "{told}");
        assert_eq!(told["active"], "a", "{told}");
    }
    publish(&b, "goes on", "w").await;
    assert_eq!(cluster(&a).await["role"], "active");
}

#[tokio::test]
async fn late_beats_of_a_killed_hub_take_no_name_from_the_one_that_runs() {
    let servers = [Nats::start()];
    let (a, _b) = pair(&servers).await;
    let client = async_nats::connect(servers[0].url()).await.unwrap();
    let mut beats = client.subscribe("hub.hub.beat.a").await.unwrap();
    for (run, age_ms) in [
        ("dead", 100_000_000),
        ("dead", 100_002_000),
        ("last", 100_000_000),
    ] {
        let beat = json!({
            "role": "active", "run": run, "age_ms": age_ms, "head": 1, "version": "0", "at": moment(0),
            "open": [], "held": [], "presence": 0,
        });
        let sent = client.publish("hub.hub.beat.a", beat.to_string().into());
        sent.await.unwrap();
    }
    loop {
        let beat = beats.next().await.unwrap();
        let beat: Value = serde_json::from_slice(&beat.payload).unwrap();
        if beat["namesake"] == "last" {
            break;
        }
    }
    let told = cluster(&a).await;
    assert!(told["fault"].is_null(), "{told}");
    publish(&a, "goes on", "w").await;
}

#[tokio::test]
async fn a_log_that_nats_has_not_any_more_is_reported() {
    let mut servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    publish(&a, "kept", "w").await;
    servers[0].kill_9();
    servers[0].wipe();
    servers[0].start_again();
    for hub in [&a, &b] {
        let told = until_cluster(hub, "damaged", |it| it["damage"].is_string()).await;
        let damage = told["damage"].as_str().unwrap();
        assert!(
            damage.contains("HUB_hub does not exist") && damage.contains("hubd cluster restore"),
            "{damage}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_stops_does_not_wait_for_an_append_that_nats_does_not_answer() {
    let servers = [Nats::start()];
    let mut a = member("a", &servers).start();
    // The active hub of another cluster on the same server, which does not stop.
    let other = member("a", &servers).set("cluster.name=other").start();
    let append = |hub: &Hub| {
        let post = hub
            .client()
            .post("/notify")
            .json(&message("w", "no answer"));
        tokio::spawn(post.patience(TAKEOVER).try_send())
    };
    for hub in [&a, &other] {
        until_active(hub).await;
    }
    servers[0].pause(true);
    let (_pending, waits) = (append(&a), append(&other));
    tokio::join!(until_blocked(&a), until_blocked(&other));
    let stops = tokio::task::spawn_blocking(move || a.stop());
    tokio::select! {
        stopped = stops => drop(stopped.unwrap()),
        _ = waits => panic!("it waits as long as one that does not stop"),
    }
    servers[0].pause(false);
}

/// Waits until the writer of a hub waits for an append, so that the probe gets no answer; later it says that the hub is not
/// ready.
async fn until_blocked(hub: &Hub) {
    let probe = || {
        let ready = hub.client().get("/readyz");
        ready.patience(Duration::from_millis(300)).try_send()
    };
    while probe().await.is_ok_and(|it| it.status == 200) {}
}
