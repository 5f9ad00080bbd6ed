//! The seeds of every change.

use std::time::Duration;

use bytes::Bytes;
use hub_cluster::journal::{SharedLog, SharedLogError};
use hub_cluster::nats::Nats as _;
use hub_log::journal::snapshot::FoldSnapshot;
use tokio::time::sleep;

use super::nats::{CLUSTER, Cut, Server, SimNats};
use super::pulse::Pulse;
use super::*;
use crate::store::EPOCH;
use crate::tests::hold;

#[test]
fn every_promise_of_a_cluster_holds_in_seeds_1_to_100() {
    hold(run, 1..=100, "--cluster");
}

#[test]
fn every_promise_of_a_cluster_holds_in_seeds_101_to_200() {
    hold(run, 101..=200, "--cluster");
}

#[test]
fn every_promise_of_a_cluster_holds_in_seeds_201_to_300() {
    hold(run, 201..=300, "--cluster");
}

#[test]
fn a_seed_of_a_cluster_has_one_story() {
    for seed in 1..20 {
        assert_eq!(run(seed, false), run(seed, false));
    }
}

#[tokio::test(start_paused = true)]
async fn a_base_that_arrives_late_replaces_no_later_one() {
    let server = Server::new(Rng::new(1), 2);
    let log = |hub: usize| {
        let nats = SimNats::new(&server, hub, Pulse::new());
        SharedLog::new(nats, CLUSTER, "hub", &format!("run{hub}"))
    };
    let base = |seq| FoldSnapshot {
        epoch: EPOCH,
        seq,
        payload: "{}".into(),
    };
    let (old, new) = (log(0), log(1));
    server.set_link(0, |link| link.cut = Cut::Holds);
    old.put_base(5, &base(40)).await.expect_err("it is held");
    new.put_base(9, &base(80)).await.unwrap();
    new.begin_at(9, 1).await.unwrap();
    server.set_link(0, |link| link.cut = Cut::Open);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(new.base(9).await.unwrap().expect("a base").0, 80);
}

/// A stream of three messages that are no commits.
async fn damaged() -> SharedLog<SimNats> {
    let nats = SimNats::new(&Server::new(Rng::new(1), 1), 0, Pulse::new());
    for after in 0..3 {
        let (subject, id) = ("hub.sim.log.a".to_owned(), after.to_string());
        let appended = nats.append(subject, after, &id, Bytes::new());
        appended.await.unwrap();
    }
    SharedLog::new(nats, CLUSTER, "a", "run")
}

#[tokio::test(start_paused = true)]
async fn a_first_commit_that_nats_lost_keeps_no_hub_from_its_start() {
    assert!(!damaged().await.lacks_beginning(EPOCH).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_was_dropped_is_told_from_one_that_was_lost() {
    let log = damaged().await;
    log.begin_at(3, 1).await.unwrap();
    let read = log.read(1).await;
    assert!(matches!(read, Err(SharedLogError::Dropped(1))), "{read:?}");
}
