//! `hubctl phone`.

use std::io::BufRead as _;

use crate::call::first_line;
use crate::support::Place;

const SETTINGS: &[&str] = &["allowed_hosts=['hub.example']"];

/// Runs `hubctl phone` in a terminal, in which the person types this.
fn in_terminal(place: &Place, args: &str, typed: &str) -> crate::call::Call {
    let script = format!("script -qec 'hubctl phone {args}' /dev/null");
    place.sh(&script).stdin(typed)
}

#[test]
fn a_person_pairs_a_phone_by_a_qr_code_or_its_link() {
    let place = Place::with_settings(SETTINGS);
    let mut running = in_terminal(&place, "--read-only --name Tab", "y\n").spawn();
    let mut lines = running.stdout().lines().map(|it| it.expect("text"));
    let mut drawn = 0;
    let link = lines.find(|it| {
        drawn += usize::from(it.contains(['█', '▀', '▄']));
        it.starts_with("https://hub.example/#code=")
    });
    let link = link.expect("a link");
    assert!(drawn > 10, "a QR code of {drawn} lines");
    let (_, code) = link.trim_end().split_once('=').expect("a code");
    let sign_in = format!(
        "curl -sf -H 'Host: hub.example' -H 'Origin: https://hub.example' -d '{{\"code\":\"{code}\"}}' {}/login",
        place.url()
    );
    place.sh(&sign_in).ok();
    let paired = lines.find(|it| it.starts_with("paired: Tab ("));
    paired.expect("the phone");
    running.end().ok();
    let devices = place.ctl("dashboard --devices");
    devices.prints("Tab").prints("phone, only reads");
}

#[test]
fn without_a_yes_in_a_terminal_no_link_is_made() {
    let place = Place::with_settings(SETTINGS);
    let piped = place.hubctl("phone").stdin("y\n").run();
    piped.exits(64).warns("in a terminal").prints_nothing();
    let mut refused = in_terminal(&place, "", "n\n").spawn();
    let printed = first_line(refused.stdout());
    assert!(!printed.contains("https://"), "{printed}");
    assert!(!refused.end().stdout.contains("https://"));
}

#[test]
fn without_an_address_it_says_what_to_set() {
    let place = Place::with_hub();
    let done = in_terminal(&place, "", "y\n").run();
    assert!(done.stdout.contains("allowed_hosts"), "{}", done.stdout);
}
