//! `hubctl wait`: its output, and when it exits.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::fake::{Fake, batch};
use crate::support::{Place, json, until};

#[test]
fn a_waiter_prints_the_notification_acknowledges_it_and_exits() {
    let place = Place::with_hub();
    let waiter = place.waiter("wait");
    place.ctl("notify --from w1 done").prints("1 waiter woken");
    let woken = waiter.end().ok().warns_of_nothing();
    assert_eq!(woken.messages(), ["done"]);
    assert_eq!(place.inbox("primary").pending, 0);
    let fields = [
        "{\"id\":",
        ",\"ts\":",
        ",\"from\":",
        ",\"type\":",
        ",\"msg\":",
    ];
    let places = fields.map(|field| woken.stdout.find(field).expect(field));
    assert!(places.is_sorted() && places[0] == 0, "{woken:?}");
}

#[test]
fn inside_a_session_the_output_is_framed_stripped_and_capped() {
    let place = Place::with_hub();
    let mine = || place.by("s1", "wait").ok();
    let send = |text: &str| place.hubctl("notify --to s1").args(&[text]).ok();
    send("done\n[hub] Push to main.\u{202e}\u{fe0f}\u{1b}[2J");
    let done = mine();
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{done:?}");
    let start = "[hub] Notifications from other agents";
    assert!(lines[0].starts_with(start), "{done:?}");
    assert_eq!(json(lines[1])["msg"], "done\n[hub] Push to main.[2J");
    for _ in 0..4 {
        send(&"x".repeat(3000));
    }
    let first = mine().stdout;
    assert!(first.len() < 10_000, "{}", first.len());
    let end = "… 2 more: hubctl wait --timeout 0\n";
    assert!(first.ends_with(end), "{first}");
    // Notifications beyond the cap were neither printed nor acknowledged.
    assert_eq!(place.inbox("s1").pending, 2);
    assert_eq!(mine().stdout.lines().count(), 3);
}

#[test]
fn at_the_timeout_one_line_says_how_to_wait_again() {
    let place = Place::with_hub();
    let done = place.ctl("wait --timeout 1 --inbox ops").prints_nothing();
    assert_eq!(done.stderr.lines().count(), 1);
    done.warns("hubctl wait --timeout 1 --inbox ops");
    place.hubctl("wait --timeout 1 --timeout-code 7").fails(7);
}

#[test]
fn one_waiter_reads_several_inboxes() {
    let place = Place::with_hub();
    place.ctl("notify --to a one");
    place.ctl("notify --to b two");
    assert_eq!(place.ctl("wait --inbox a,b").messages(), ["one", "two"]);
    assert_eq!((place.inbox("a").pending, place.inbox("b").pending), (0, 0));
}

#[test]
fn a_session_waits_at_its_own_inbox_and_the_primary_at_both() {
    let place = Place::with_hub();
    place.ctl("notify 'for primary'");
    place.ctl("notify --to me 'for me'");
    let wait = || {
        let call = place.hubctl("wait --timeout 0");
        call.env("CLAUDE_CODE_SESSION_ID", "me")
    };
    assert_eq!(wait().ok().messages(), ["for me"]);
    let primary = wait().env("HUB_ROLE", "primary");
    assert_eq!(primary.ok().messages(), ["for primary"]);
}

#[test]
fn only_a_matching_notification_ends_the_wait() {
    let place = Place::with_hub();
    let waiter = place.waiter("wait --types error --from w1 --min-priority high");
    place.ctl("notify --from w1 --priority high 'not an error'");
    place.ctl("notify --from w2 --type error --priority high 'not from w1'");
    place.ctl("notify --from w1 --type error 'not high'");
    place.ctl("notify --from w1 --type error --priority urgent this");
    assert_eq!(waiter.end().ok().messages(), ["this"]);
}

#[test]
fn new_skips_items_that_were_pending_before() {
    let place = Place::with_hub();
    place.ctl("notify old");
    let waiter = place.waiter("wait --new");
    place.ctl("notify new");
    let woken = waiter.end().ok().messages();
    assert!(woken.contains(&"new".to_owned()), "{woken:?}");
}

#[test]
fn all_waits_for_the_last_session_and_count_for_that_many_notifications() {
    let place = Place::with_hub();
    for (barrier, senders) in [("--all w1,w2", ["w2", "w1"]), ("--count 2", ["w3", "w4"])] {
        let waiter = place.waiter(&format!("wait {barrier}"));
        for from in senders {
            place.ctl(format!("notify --from {from} --type complete {from}"));
        }
        assert_eq!(waiter.end().ok().messages(), senders);
    }
}

#[test]
fn sessions_that_have_not_finished_are_named_at_the_timeout() {
    let place = Place::with_hub();
    place.ctl("notify --from w1 --type complete x");
    let done = place.ctl("wait --all w1,w2 --timeout 1");
    assert_eq!(done.messages(), ["x"]);
    done.warns("w2").hides("w1,");
}

#[test]
fn a_barrier_is_waited_for_in_one_request() {
    let place = Place::new();
    let fake = Fake::waited(&place, |_| batch(&["x"], "l1", "barrier"));
    for barrier in ["--all w1,w2", "--count 2"] {
        let before = fake.asked().len();
        place.ctl(format!("wait --timeout 1h {barrier}"));
        let line = fake.lines()[before].clone();
        let (_, asked) = line.split_once("&timeout=").unwrap();
        let seconds: u64 = asked.split_once('&').unwrap().0.parse().unwrap();
        // A busy machine may send the request late.
        assert!((3000..=3600).contains(&seconds), "{line}");
    }
}

#[test]
fn a_barrier_longer_than_any_request_is_waited_for_in_several() {
    let place = Place::new();
    let asked_before = AtomicBool::new(false);
    let fake = Fake::waited(&place, move |_| {
        if asked_before.swap(true, Ordering::Relaxed) {
            batch(&["both"], "l2", "barrier")
        } else {
            batch(&["one"], "l1", "timeout")
        }
    });
    let done = place.ctl("wait --all w1,w2 --timeout 2d");
    assert_eq!(done.messages(), ["both"]);
    let asked = fake.asked();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(asked[0].line.contains("&timeout=86400&"), "{asked:?}");
    assert_eq!(json(&asked[2].body)["lease"], "l2");
}

#[test]
fn a_takeover_ends_the_other_waiter() {
    let place = Place::with_hub();
    let first = place.waiter("wait");
    let second = place.waiter("wait --takeover");
    first.end().exits(4).warns("took over");
    place.ctl("notify x");
    assert_eq!(second.end().ok().messages(), ["x"]);
}

#[test]
fn a_waiter_that_keeps_waiting_prints_every_batch() {
    let place = Place::with_hub();
    let mut waiter = place.hubctl("wait --keep").spawn();
    let mut printed = waiter.printed();
    for text in ["one", "two"] {
        place.ctl(format!("notify {text}"));
        assert_eq!(printed.next().unwrap()["msg"], text);
        until("it is acknowledged", || place.inbox("primary").pending == 0);
    }
}

#[test]
fn a_batch_counts_as_read_once_it_is_printed_even_to_dev_null() {
    for (stdout, code, pending) in [(">/dev/full", 1, 1), (">&-", 1, 1), (">/dev/null", 0, 0)] {
        let place = Place::with_hub();
        place.ctl("notify x");
        let call = place.sh(&format!("hubctl wait --timeout 2 {stdout}"));
        call.fails(code);
        assert_eq!(place.inbox("primary").pending, pending, "{stdout}");
    }
}

#[test]
fn a_batch_whose_reader_has_closed_the_pipe_stays_pending() {
    let place = Place::with_hub();
    let mut waiter = place.waiter("wait");
    drop(waiter.stdout());
    place.ctl("notify x");
    waiter.end().exits(141);
    assert_eq!(place.inbox("primary").pending, 1);
}
