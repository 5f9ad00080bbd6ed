//! Another hub becomes the active one.

use hub_harness::pause;
use serde_json::Value;

use super::nats::Nats;
use super::support::{
    cluster, member, message, pair, publish, stored, until_active, until_cluster, until_follows,
    until_same, until_stored,
};

#[tokio::test]
async fn a_standby_takes_over_from_a_killed_hub_with_everything_acknowledged() {
    let servers = [Nats::start()];
    let (mut a, b) = pair(&servers).await;
    let wait = tokio::spawn(b.client().get("/wait?inbox=w&timeout=60").send());
    let mut numbers = Vec::new();
    for number in 0..20 {
        numbers.push((
            publish(&a, &format!("k{number}"), "x").await,
            format!("k{number}"),
        ));
    }
    a.kill_9();
    // The wait goes on at the new active hub, and is woken there.
    let last = publish(&b, "after", "w").await;
    numbers.push((last, "after".into()));
    let woken = wait.await.unwrap().expect(200).json();
    assert_eq!(woken["notifications"][0]["id"], last);
    assert_eq!(cluster(&b).await["active"], "b");
    a.start_again();
    until_follows(&a, "b").await;
    until_stored(&b, &numbers).await;
    until_stored(&a, &numbers).await;
}

/// Returns the keys of the cluster, which hold the lease.
pub(crate) async fn keys(server: &Nats) -> async_nats::jetstream::kv::Store {
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    context.get_key_value("hub_hub").await.unwrap()
}

#[tokio::test]
async fn a_hub_that_stops_hands_over_at_once() {
    let servers = [Nats::start()];
    let (mut a, b) = pair(&servers).await;
    publish(&a, "before", "x").await;
    // The other hub sleeps, so that it cannot take the lease before it is read here.
    pause(b.pid(), true);
    a.stop();
    let keys = keys(&servers[0]).await;
    let lease = keys.get("active").await.unwrap().expect("a lease");
    let lease: Value = serde_json::from_slice(&lease).unwrap();
    assert_eq!(lease["node"], "", "it is given up: {lease}");
    pause(b.pid(), false);
    until_active(&b).await;
    publish(&b, "after", "x").await;
}

#[tokio::test]
async fn hubs_stop_while_nats_is_down() {
    let mut servers = [Nats::start()];
    let (mut a, mut b) = pair(&servers).await;
    servers[0].kill_9();
    // The harness waits for the exit, and fails if it does not come.
    b.stop();
    a.stop();
}

#[tokio::test]
async fn a_hub_that_was_paused_steps_down_and_follows() {
    let servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    publish(&a, "before", "x").await;
    pause(a.pid(), true);
    until_active(&b).await;
    let at_b = publish(&b, "meanwhile", "x").await;
    pause(a.pid(), false);
    // The first requests may find a hub that does not know yet that it was replaced; the log refuses its commits.
    let at_a = publish(&a, "continued", "x").await;
    assert!(at_a > at_b);
    until_follows(&a, "b").await;
    until_same(&a, &b).await;
}

#[tokio::test]
async fn a_lease_of_one_hub_is_acknowledged_at_the_next_one() {
    let servers = [Nats::start()];
    let (mut a, b) = pair(&servers).await;
    publish(&a, "item", "w").await;
    let got = a
        .client()
        .get("/wait?inbox=w&timeout=5")
        .send()
        .await
        .expect(200)
        .json();
    let lease = got["lease"].as_str().unwrap();
    a.stop();
    until_active(&b).await;
    let rest = b
        .client()
        .get(&format!("/wait?inbox=w&timeout=0&ack={lease}"));
    rest.send().await.expect(204);
}

#[tokio::test]
async fn without_an_active_hub_reads_go_on_and_publishes_are_refused() {
    let servers = [Nats::start()];
    let (mut a, b) = pair(&servers).await;
    let reader = member("reader", &servers).set("cluster.lead=false").start();
    until_follows(&reader, "a").await;
    publish(&a, "kept", "w").await;
    drop(b);
    a.kill_9();
    let refused = reader
        .client()
        .post_json("/notify", message("w", "lost"))
        .await;
    assert_eq!(refused.expect(503).code(), "no_active_hub");
    let inboxes = reader.client().get("/inboxes").send().await.expect(200);
    assert_eq!(inboxes.headers["hub-stale"], "1");
    let has_item = |it: &Value| it["name"] == "w" && it["pending"] == 1;
    assert!(
        inboxes.json()["inboxes"]
            .as_array()
            .unwrap()
            .iter()
            .any(has_item)
    );
    assert_eq!(stored(&reader).await.len(), 1);
    until_cluster(&reader, "without an active hub", |it| {
        it["active"].is_null()
    })
    .await;
    assert_eq!(cluster(&reader).await["role"], "standby");
}
