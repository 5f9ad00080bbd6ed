//! Hubs join a cluster that has a log.

use super::nats::Nats;
use super::support::{
    cluster, member, pair, publish, stored, until_active, until_follows, until_same,
};

#[tokio::test]
async fn a_hub_with_an_empty_directory_gets_the_whole_log() {
    let servers = [Nats::start()];
    let a = member("a", &servers).start();
    until_active(&a).await;
    for number in 0..40 {
        publish(&a, &format!("k{number}"), "w").await;
    }
    let mut b = member("b", &servers).start();
    until_follows(&b, "a").await;
    until_same(&b, &a).await;
    // A later start needs what was missed only.
    b.stop();
    publish(&a, "missed", "w").await;
    b.start_again();
    until_follows(&b, "a").await;
    until_same(&b, &a).await;
}

#[tokio::test]
async fn a_hub_starts_with_its_copy_while_nats_is_down_and_joins_later() {
    let mut servers = [Nats::start()];
    let (a, mut b) = pair(&servers).await;
    let kept = publish(&a, "kept", "w").await;
    b.stop();
    servers[0].kill_9();
    b.start_again();
    assert_eq!(
        b.client().read(&format!("/notifications/{kept}")).await["msg"],
        "kept"
    );
    servers[0].start_again();
    publish(&a, "later", "w").await;
    until_follows(&b, "a").await;
    until_same(&b, &a).await;
}

#[tokio::test]
async fn three_hubs_on_three_servers_survive_the_loss_of_a_server_and_of_a_hub() {
    let mut servers = Nats::start_three();
    let (mut a, b) = pair(&servers).await;
    let c = member("c", &servers).start();
    until_follows(&c, "a").await;
    publish(&b, "one", "w").await;
    servers[0].kill_9();
    publish(&c, "two", "w").await;
    a.kill_9();
    publish(&b, "three", "w").await;
    servers[0].start_again();
    publish(&c, "four", "w").await;
    let active = cluster(&b).await["active"].as_str().unwrap().to_owned();
    a.start_again();
    until_follows(&a, &active).await;
    let texts = |all: Vec<(u64, String)>| all.into_iter().map(|(_, text)| text);
    assert!(texts(stored(&a).await).eq(["one", "two", "three", "four"]));
    until_same(&a, &b).await;
    let standby = if active == "b" { &c } else { &b };
    until_follows(standby, &active).await;
    until_same(&a, standby).await;
}
