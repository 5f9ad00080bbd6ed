//! The seeds of every change.

use super::*;

/// The seeds of one test; together they are 300.
const SHARE: u64 = 100;

fn hold(first: u64) {
    for seed in first..first + SHARE {
        let report = run(seed, false);
        assert!(report.faults > 0, "seed {seed} has no fault");
        assert_eq!(
            report.broken, None,
            "cargo run -p hub-sim -- --cluster --seed {seed} --trace"
        );
    }
}

#[test]
fn every_promise_of_a_cluster_holds_in_seeds_1_to_100() {
    hold(1);
}

#[test]
fn every_promise_of_a_cluster_holds_in_seeds_101_to_200() {
    hold(101);
}

#[test]
fn every_promise_of_a_cluster_holds_in_seeds_201_to_300() {
    hold(201);
}

#[test]
fn a_seed_of_a_cluster_has_one_story() {
    for seed in 1..10 {
        assert_eq!(run(seed, false), run(seed, false));
    }
}
