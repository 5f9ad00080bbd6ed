//! `hubctl cluster handover`: the active hub gives its lease to another one.

use serde_json::{Value, json};

use super::nats::Nats;
use super::support::{
    cluster, hubctl, member, pair, publish, until_active, until_cluster, until_follows,
};

/// Asks a hub to hand over; returns the status and the answer.
pub(crate) async fn hand_over(hub: &hub_harness::Hub, node: &str) -> (u16, Value) {
    let sent = hub
        .client()
        .post_json("/cluster/handover", json!({ "node": node }))
        .await;
    (sent.status, sent.json())
}

#[tokio::test]
async fn the_named_hub_takes_over_at_once_and_no_other_one() {
    let servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    let c = member("c", &servers).start();
    until_follows(&c, "a").await;
    let wait = tokio::spawn(c.client().get("/wait?inbox=w&timeout=30").send());
    let mut heir = &b;
    // Asked at the active hub, at the heir, and at a third one.
    for (asked, node, hub) in [(&a, "b", &b), (&a, "a", &a), (&c, "b", &b)] {
        let lists = |it: &Value| it["nodes"].as_array().is_some_and(|all| all.len() == 2);
        until_cluster(asked, "complete", lists).await;
        let (status, done) = hand_over(asked, node).await;
        assert_eq!((status, &done["active"]), (200, &json!(node)), "{done}");
        // The hub answers in time only for a lease that was given up: the others would wait until it runs out.
        println!("{done}");
        // Each hub knows the reason, though it may have asked the one that gave the lease up first.
        for hub in [&a, &b, &c] {
            let (status, refused) = hand_over(hub, "nobody").await;
            assert_eq!(
                (status, &refused["code"]),
                (409, &json!("cannot_lead")),
                "{refused}"
            );
        }
        until_active(hub).await;
        heir = hub;
    }
    let id = publish(&a, "goes on", "w").await;
    assert_eq!(
        wait.await.unwrap().expect(200).json()["notifications"][0]["id"],
        id
    );
    assert_eq!(cluster(heir).await["role"], "active");
    let said = hubctl(&a, &["cluster", "handover", "c"]).unwrap();
    assert!(
        said.starts_with("c is active; the takeover took "),
        "{said}"
    );
    let said = hubctl(&c, &["cluster", "handover", "b", "--json"]).unwrap();
    assert!(said.starts_with(r#"{"active":"b","since":""#), "{said}");
    let refused = hubctl(&a, &["cluster", "handover", "nobody"]).unwrap_err();
    assert!(
        refused.contains("no hub 'nobody' is in the cluster"),
        "{refused}"
    );
    // The active hub is there already.
    let (status, done) = hand_over(&a, "b").await;
    assert_eq!((status, &done["took_ms"]), (200, &json!(0)));
}

#[tokio::test]
async fn a_hub_that_cannot_lead_is_refused_with_what_to_do() {
    let servers = [Nats::start()];
    let a = member("a", &servers).start();
    until_active(&a).await;
    let laptop = member("laptop", &servers).set("cluster.lead=false").start();
    until_follows(&laptop, "a").await;
    let mut gone = member("gone", &servers).start();
    until_follows(&gone, "a").await;
    until_cluster(&a, "complete", |it| {
        it["nodes"].as_array().is_some_and(|it| it.len() == 2)
    })
    .await;
    gone.stop();
    until_cluster(&a, "left", |it| it["nodes"][0]["role"] == "leaving").await;
    for (asked, node, reason) in [
        (&a, "laptop", "cluster.lead = false"),
        (&laptop, "laptop", "cluster.lead = false"),
        (&a, "gone", "start its hub first"),
        (&laptop, "nobody", "the others are gone, laptop"),
    ] {
        let (status, refused) = hand_over(asked, node).await;
        assert_eq!(
            (status, &refused["code"]),
            (409, &json!("cannot_lead")),
            "{refused}"
        );
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.contains(reason), "{detail}");
    }
    assert_eq!(cluster(&a).await["role"], "active");
    publish(&laptop, "goes on", "w").await;
}
