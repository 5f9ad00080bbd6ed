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
fn every_promise_of_a_cluster_holds_in_the_seeds_that_found_a_defect() {
    let defects = [
        (
            13,
            "an old end of the stream, as an earlier leader told it, stopped a hub for good",
        ),
        (
            52,
            "a renewal that was stored late counted from the time of the next one, and two hubs were active",
        ),
    ];
    for (seed, defect) in defects {
        assert_eq!(run(seed, false).broken, None, "{defect}");
    }
}
