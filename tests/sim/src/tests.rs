//! The seeds of every change. None of them stands for a defect that it once found, because every change of the world shifts
//! what a seed decides: `tests/sim/mutations` takes the mends back one by one, and a seed from here must find each.

use std::ops::RangeInclusive;

use super::*;

/// Checks that no seed breaks a promise. `cluster` is the option with which the program runs them.
pub(crate) fn hold(run: fn(u64, bool) -> Report, seeds: RangeInclusive<u64>, cluster: &str) {
    for seed in seeds {
        let report = run(seed, false);
        assert!(report.faults > 0, "seed {seed} has no fault");
        assert_eq!(
            report.broken, None,
            "cargo run -p hub-sim -- {cluster} --seed {seed} --trace"
        );
    }
}

#[test]
fn every_promise_holds_in_seeds_1_to_500() {
    hold(run, 1..=500, "");
}

#[test]
fn every_promise_holds_in_seeds_501_to_1000() {
    hold(run, 501..=1000, "");
}

#[test]
fn every_promise_holds_in_seeds_1001_to_1500() {
    hold(run, 1001..=1500, "");
}

#[test]
fn every_promise_holds_in_seeds_1501_to_2000() {
    hold(run, 1501..=2000, "");
}

#[test]
fn a_seed_has_one_story() {
    for seed in 1..20 {
        assert_eq!(run(seed, false), run(seed, false));
    }
}
