//! A commit is stored once, whatever happens to its acknowledgement. `HUB_CLUSTER_LOST_ACKS` is the number of lost ones for
//! each kind of stream.

use hub_harness::repetitions;

use super::nats::Nats;
use super::proxy::Proxy;
use super::support::{member, publish, setting, until_active, until_follows, until_stored};

// The proxy must run while a hub is started.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_acknowledgement_is_lost_is_stored_once() {
    let rounds = setting("HUB_CLUSTER_LOST_ACKS", repetitions(20, 200).into());
    for servers in [vec![Nats::start()], Nats::start_three()] {
        let proxy = Proxy::start(&servers[0].url()).await;
        let a = member("a", &servers)
            .set(&format!("cluster.urls=['{}']", proxy.url()))
            .start();
        until_active(&a).await;
        let b = member("b", &servers).set("cluster.lead=false").start();
        let mut numbers = Vec::new();
        for number in 0..rounds {
            proxy.lose_next();
            let key = format!("k{number}");
            numbers.push((publish(&a, &key, "w").await, key));
        }
        assert_eq!(u64::from(proxy.lost()), rounds);
        until_follows(&b, "a").await;
        until_stored(&a, &numbers).await;
        until_stored(&b, &numbers).await;
    }
}
