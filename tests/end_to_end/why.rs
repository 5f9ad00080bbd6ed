//! `hubctl why` and `hubctl stats`.

use crate::support::Place;

#[test]
fn why_prints_the_reason_and_then_what_happened() {
    let place = Place::with_hub();
    place.ctl("notify --to w1 --type message x");
    place
        .ctl("why 1")
        .prints("no session has this name")
        .prints("stored");
    place.by("me", "wait --timeout 0 --inbox w1").ok();
    let done = place.ctl("why w1");
    done.prints("w1: nothing is pending; me:").prints("now ");
    let answer = place.ctl("why 1 --json").json();
    assert_eq!(answer["reason"], "settled", "{answer}");
    place.ctl("notify --to w2 --priority low x");
    place
        .ctl("why w2")
        .prints("rides along (priority low wakes nobody)");
}

#[test]
fn an_unknown_target_is_refused() {
    let place = Place::with_hub();
    for target in ["nobody", "999"] {
        place.hubctl("why").args(&[target]).fails(1);
    }
}

#[test]
fn stats_prints_a_line_of_numbers_and_json() {
    let place = Place::with_hub();
    place
        .ctl("stats")
        .prints("no wakes; notification to proof not measured");
    let answer = place.ctl("stats --since 2h --json").json();
    assert_eq!(answer["minutes"].as_array().map(Vec::len), Some(120));
    place.hubctl("stats --since 8d").fails(1);
}
