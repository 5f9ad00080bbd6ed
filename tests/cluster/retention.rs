//! The stream is shortened with the log, and a hub that joins later starts with the base.

use std::time::Instant;

use async_nats::jetstream::stream::State;
use hub_harness::{Hub, HubBuilder};
use serde_json::json;

use super::nats::Nats;
use super::proxy::Proxy;
use super::support::{
    TAKEOVER, eventually, hubd, member, publish, settings, stored, until_active, until_follows,
    until_same,
};

/// A hub that keeps the last records only.
fn small(hub: HubBuilder) -> HubBuilder {
    hub.set("retention.max_bytes=200000")
        .set("snapshot.every_records=20")
}

/// Publishes texts until something holds.
async fn fill_until(hub: &Hub, holds: impl AsyncFn() -> bool) {
    let text = "x".repeat(4000);
    let began = Instant::now();
    let mut number = 0;
    while number % 20 != 0 || !holds().await {
        let post =
            json!({ "from": "tester", "type": "progress", "msg": format!("{number} {text}") });
        hub.client().post_json("/notify", post).await.expect(201);
        number += 1;
        assert!(began.elapsed() < TAKEOVER, "nothing was dropped");
    }
}

/// The names of files in a directory.
fn earliest(all: &[(u64, String)]) -> u64 {
    all.first().map_or(0, |(id, _)| *id)
}

// The proxy must run while a hub is started.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_joins_a_log_whose_beginning_was_dropped_and_one_that_was_away_copies_it_anew() {
    let servers = [Nats::start()];
    let small = |node: &str| small(member(node, &servers));
    let a = small("a").start();
    until_active(&a).await;
    let kept = publish(&a, "pending", "later").await;
    let proxy = Proxy::start(&servers[0].url()).await;
    let urls = format!("cluster.urls=['{}']", proxy.url());
    let mut away = small("away").set(&urls).start();
    until_follows(&away, "a").await;
    away.stop();
    // Until the hub has dropped the first records, in NATS too.
    fill_until(&a, async || first(&servers[0]).await > 1).await;
    let before = first(&servers[0]).await;
    fill_until(&a, async || first(&servers[0]).await > before).await;
    eventually("alone, the last base", async || {
        let subjects = state(&servers[0], "OBJ_hub_hub").await.subjects_count;
        let is_one = subjects == 2;
        is_one
            .then_some(())
            .ok_or_else(|| format!("{subjects} subjects"))
    })
    .await;
    let b = small("b").start();
    until_follows(&b, "a").await;
    let pending = b.client().read("/inboxes").await;
    assert_eq!(pending, a.client().read("/inboxes").await);
    let item = b.client().read(&format!("/notifications/{kept}")).await;
    assert_eq!(item["msg"], "pending");
    // It asks again, because with its old copy it could not go on.
    proxy.lose_answers(2);
    away.start_again();
    until_follows(&away, "a").await;
    let last = async |hub: &Hub| stored(hub).await.pop();
    eventually("complete, the copy", async || {
        let (ours, theirs) = (last(&away).await, last(&b).await);
        (ours == theirs)
            .then_some(())
            .ok_or_else(|| format!("{ours:?}, not {theirs:?}"))
    })
    .await;
    assert!(earliest(&stored(&away).await) > 1);
}

/// A log that has dropped its beginning moves into a cluster: the stream begins in the middle of the log, at its position 1.
#[tokio::test]
async fn a_hub_joins_a_cluster_that_was_made_from_a_log_without_its_beginning() {
    let servers = [Nats::start()];
    let dirs = tempfile::tempdir().unwrap();
    let state = dirs.path().join("a");
    let mut alone = small(Hub::builder()).state_dir(&state).start();
    let kept = publish(&alone, "pending", "later").await;
    fill_until(&alone, async || stored(&alone).await[0].0 > kept).await;
    alone.stop();
    let set = settings("a", &servers);
    for command in [&["cluster", "init"][..], &["cluster", "restore", "--anew"]] {
        hubd(&state, &set, command).unwrap();
        let mut a = small(member("a", &servers)).state_dir(&state).start();
        until_active(&a).await;
        let b = small(member("b", &servers)).start();
        until_follows(&b, "a").await;
        until_same(&a, &b).await;
        let checked = hubd(&state, &set, &["cluster", "check"]).unwrap_err();
        assert!(
            checked.contains("in NATS is whole up to record"),
            "{checked}"
        );
        let item = b.client().read(&format!("/notifications/{kept}")).await;
        assert_eq!(item["msg"], "pending");
        a.stop();
    }
}

/// The position of the first message of the stream.
async fn first(server: &Nats) -> u64 {
    state(server, "HUB_hub").await.first_sequence
}

async fn state(server: &Nats, stream: &str) -> State {
    let client = async_nats::connect(server.url())
        .await
        .expect("a connection");
    let context = async_nats::jetstream::new(client);
    let stream = context.get_stream(stream).await.expect("a stream");
    stream.cached_info().state.clone()
}
