//! `hubd cluster`: a log moves into a cluster and back, and what NATS lost is put back.

use std::path::Path;

use hub_harness::Hub;
use serde_json::json;

use super::handover::hand_over;
use super::nats::Nats;
use super::support::{
    hubd, member, message, publish, settings, stored, until_active, until_cluster, until_follows,
    until_stored,
};

/// Starts a hub of its own in `dir`, publishes some keys, and stops it; returns what it stored.
async fn fill(dir: &Path) -> Vec<(u64, String)> {
    let mut alone = Hub::builder().state_dir(dir).start();
    for number in 0..5 {
        publish(&alone, &format!("alone-{number}"), "w").await;
    }
    let all = stored(&alone).await;
    alone.stop();
    all
}

/// The epoch in which a hub's cursors are valid.
async fn epoch(hub: &Hub) -> String {
    hub.client().read("/hub").await["epoch"]
        .as_str()
        .expect("an epoch")
        .to_owned()
}

#[test]
fn one_server_that_shall_replicate_the_log_is_refused_with_the_setting() {
    let servers = [Nats::start()];
    let dir = tempfile::tempdir().unwrap();
    let mut set = settings("a", &servers);
    set.push("cluster.replicas=3".into());
    let refused = hubd(dir.path(), &set, &["cluster", "init"]).unwrap_err();
    assert!(refused.contains("set cluster.replicas = 1"), "{refused}");
}

#[tokio::test]
async fn a_log_moves_into_a_cluster_and_back_and_keeps_its_numbers_and_its_epoch() {
    let servers = [Nats::start()];
    let dirs = tempfile::tempdir().unwrap();
    let state = dirs.path().join("a");
    let mut all = fill(&state).await;
    let set = settings("a", &servers);
    hubd(&state, &set, &["cluster", "init"]).unwrap();
    let mut a = member("a", &servers).state_dir(&state).start();
    until_active(&a).await;
    let own = epoch(&a).await;
    let mut b = member("b", &servers)
        .state_dir(dirs.path().join("b"))
        .start();
    until_follows(&b, "a").await;
    all.push((publish(&b, "together", "w").await, "together".into()));
    until_stored(&a, &all).await;
    until_stored(&b, &all).await;
    let refused = hubd(
        &dirs.path().join("none"),
        &settings("c", &servers),
        &["cluster", "leave"],
    );
    assert!(refused.unwrap_err().contains("not in a cluster"));
    a.stop();
    until_active(&b).await;
    let refused = hubd(&state, &set, &["cluster", "leave"]).unwrap_err();
    assert!(refused.contains("the hub of 'b' runs"), "{refused}");
    b.stop();
    hubd(&state, &set, &["cluster", "leave"]).unwrap();
    let mut alone = Hub::builder().state_dir(&state).start();
    all.push((
        publish(&alone, "alone again", "w").await,
        "alone again".into(),
    ));
    until_stored(&alone, &all).await;
    assert_eq!(epoch(&alone).await, own);
    let (status, refused) = hand_over(&alone, "b").await;
    assert_eq!((status, &refused["code"]), (409, &json!("no_cluster")));
    alone.stop();
    // The other hub cannot go on with the log that was moved, and gets it back by `init`.
    let refused = member("c", &servers)
        .try_start()
        .expect_err("it starts")
        .stderr;
    assert!(
        refused.contains("was moved to the machine 'a'"),
        "{refused}"
    );
    hubd(&state, &set, &["cluster", "init"]).unwrap();
    let a = member("a", &servers).state_dir(&state).start();
    until_active(&a).await;
    b.start_again();
    until_follows(&b, "a").await;
    until_stored(&b, &all).await;
}

/// Stops the hub, flips a bit in the middle of the server's first file, and starts both again.
fn flip_a_bit(server: &mut Nats, hub: &mut Hub) {
    server.kill_9();
    let block = server.stream_dir().join("msgs/1.blk");
    let mut bytes = std::fs::read(&block).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&block, bytes).unwrap();
    server.start_again();
    hub.stop();
    hub.start_again();
}

/// A hub with `records` texts of `length` in its cluster.
async fn filled(servers: &[Nats], state: &Path, (records, length): (usize, usize)) -> Hub {
    let a = member("a", servers).state_dir(state).start();
    until_active(&a).await;
    let text = "x".repeat(length);
    for number in 0..records {
        let post = message("w", &format!("{number} {text}"));
        a.client().post_json("/notify", post).await.expect(201);
    }
    a
}

#[tokio::test]
async fn an_end_that_nats_lost_is_reported_and_put_back_from_a_copy() {
    let mut servers = [Nats::start()];
    let dirs = tempfile::tempdir().unwrap();
    let (state, set) = (dirs.path().join("a"), settings("a", &servers));
    let mut a = filled(&servers, &state, (40, 10)).await;
    let all = stored(&a).await;
    flip_a_bit(&mut servers[0], &mut a);
    let found = until_cluster(&a, "damaged", |it| it["fault"].is_string()).await;
    let fault = found["fault"].as_str().unwrap();
    assert!(fault.contains("hubd cluster restore"), "{fault}");
    a.stop();
    let checked = hubd(&state, &set, &["cluster", "check"]).unwrap_err();
    assert!(
        checked.contains("NATS lost the end of the log"),
        "{checked}"
    );
    hubd(&state, &set, &["cluster", "restore"]).unwrap();
    a.start_again();
    until_active(&a).await;
    let b = member("b", &servers).start();
    until_follows(&b, "a").await;
    until_stored(&b, &all).await;
}

#[tokio::test]
async fn a_hole_that_nats_made_is_reported_while_the_hub_goes_on_and_the_stream_is_made_anew() {
    let mut servers = [Nats::start()];
    let dirs = tempfile::tempdir().unwrap();
    let (state, set) = (dirs.path().join("a"), settings("a", &servers));
    // More than one file of nats-server, which has 8 MB.
    let mut a = filled(&servers, &state, (400, 30_000)).await;
    let mut all = stored(&a).await;
    flip_a_bit(&mut servers[0], &mut a);
    let found = until_cluster(&a, "damaged", |it| it["damage"].is_string()).await;
    let damage = found["damage"].as_str().unwrap();
    assert!(
        damage.contains("NATS lost") && damage.contains("hubd cluster restore"),
        "{damage}"
    );
    all.push((publish(&a, "goes on", "w").await, "goes on".into()));
    a.stop();
    let checked = hubd(&state, &set, &["cluster", "check"]).unwrap_err();
    assert!(checked.contains("the log in NATS is damaged"), "{checked}");
    let refused = hubd(&state, &set, &["cluster", "restore"]).unwrap_err();
    assert!(refused.contains("--anew"), "{refused}");
    hubd(&state, &set, &["cluster", "restore", "--anew"]).unwrap();
    a.start_again();
    until_active(&a).await;
    let b = member("b", &servers).start();
    until_follows(&b, "a").await;
    until_stored(&b, &all).await;
    assert!(until_cluster(&a, "active", |it| it["role"] == "active").await["damage"].is_null());
}

#[tokio::test]
async fn a_stream_that_is_gone_is_made_again_from_the_newest_copy_only() {
    let mut servers = [Nats::start()];
    let dirs = tempfile::tempdir().unwrap();
    let [a_dir, b_dir] = ["a", "b"].map(|it| dirs.path().join(it));
    let mut a = member("a", &servers).state_dir(&a_dir).start();
    until_active(&a).await;
    let mut b = member("b", &servers).state_dir(&b_dir).start();
    until_follows(&b, "a").await;
    publish(&a, "one", "w").await;
    until_follows(&b, "a").await;
    b.stop();
    publish(&a, "two", "w").await;
    let all = stored(&a).await;
    let taken = a.client().get("/wait?inbox=w&timeout=0").send().await;
    let lease = taken.expect(200).json()["lease"]
        .as_str()
        .unwrap()
        .to_owned();
    a.stop();
    servers[0].kill_9();
    servers[0].wipe();
    servers[0].start_again();
    hubd(&a_dir, &settings("a", &servers), &["cluster", "restore"]).unwrap();
    let older = hubd(&b_dir, &settings("b", &servers), &["cluster", "restore"]).unwrap_err();
    assert!(older.contains("newest copy"), "{older}");
    a.start_again();
    b.start_again();
    until_follows(&b, "a").await;
    until_stored(&b, &all).await;
    // What was delivered before can be acknowledged.
    let ack = format!("/wait?inbox=w&timeout=0&ack={lease}");
    b.client().get(&ack).send().await.expect(204);
}
