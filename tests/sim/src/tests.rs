//! The seeds of every change. None of them stands for a defect that it once found, because every change of the world shifts
//! what a seed decides: `tests/sim/mutations` takes the mends back one by one, and a seed from here must find each.

use super::*;

/// The seeds of one test; together they are 2,000.
const SHARE: u64 = 500;

fn hold(first: u64) {
    for seed in first..first + SHARE {
        let report = run(seed, false);
        assert!(report.faults > 0, "seed {seed} has no fault");
        assert_eq!(
            report.broken, None,
            "cargo run -p hub-sim -- --seed {seed} --trace"
        );
    }
}

#[test]
fn every_promise_holds_in_seeds_1_to_500() {
    hold(1);
}

#[test]
fn every_promise_holds_in_seeds_501_to_1000() {
    hold(501);
}

#[test]
fn every_promise_holds_in_seeds_1001_to_1500() {
    hold(1001);
}

#[test]
fn every_promise_holds_in_seeds_1501_to_2000() {
    hold(1501);
}

#[test]
fn a_seed_has_one_story() {
    for seed in 1..20 {
        assert_eq!(run(seed, false), run(seed, false));
    }
}
