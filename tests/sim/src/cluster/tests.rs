//! The seeds of every change.

use super::*;
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
