//! The stream is shortened with the log, and a hub that joins later starts with the base.

use std::time::Instant;

use hub_harness::Hub;
use serde_json::json;

use super::nats::Nats;
use super::proxy::Proxy;
use super::support::{TAKEOVER, eventually, member, publish, stored, until_active, until_follows};

/// The names of files in a directory.
fn earliest(all: &[(u64, String)]) -> u64 {
    all.first().map_or(0, |(id, _)| *id)
}

// The proxy must run while a hub is started.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_joins_a_log_whose_beginning_was_dropped_and_one_that_was_away_copies_it_anew() {
    let servers = [Nats::start()];
    let small = |node: &str| {
        member(node, &servers)
            .set("retention.max_bytes=200000")
            .set("snapshot.every_records=20")
    };
    let a = small("a").start();
    until_active(&a).await;
    let kept = publish(&a, "pending", "later").await;
    let proxy = Proxy::start(&servers[0].url()).await;
    let urls = format!("cluster.urls=['{}']", proxy.url());
    let mut away = small("away").set(&urls).start();
    until_follows(&away, "a").await;
    away.stop();
    let text = "x".repeat(4000);
    let began = Instant::now();
    let mut number = 0;
    // Until the hub has dropped the first records, in NATS too.
    loop {
        let post =
            json!({ "from": "tester", "type": "progress", "msg": format!("{number} {text}") });
        a.client().post_json("/notify", post).await.expect(201);
        number += 1;
        if number % 20 == 0 && messages(&servers[0]).await > 1 {
            break;
        }
        assert!(began.elapsed() < TAKEOVER, "nothing was dropped");
    }
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

/// The position of the first message of the stream.
async fn messages(server: &Nats) -> u64 {
    let client = async_nats::connect(server.url())
        .await
        .expect("a connection");
    let context = async_nats::jetstream::new(client);
    let stream = context.get_stream("HUB_hub").await.expect("a stream");
    stream.cached_info().state.first_sequence
}
