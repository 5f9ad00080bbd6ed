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
fn a_seed_of_a_cluster_has_one_story() {
    for seed in 1..20 {
        assert_eq!(run(seed, false), run(seed, false));
    }
}
