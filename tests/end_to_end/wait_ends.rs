//! When a wait ends: each kind of waiter against each event.

use std::path::Path;

use hub_protocol::Kind;
use serde_json::json as value;

use crate::support::{Call, Done, Place, Running, until};

/// A kind of waiter, and the notification that ends its wait.
struct Waiter {
    session: Option<&'static str>,
    options: &'static str,
    /// Inbox, sender and type of the notification that ends the wait.
    inbox: &'static str,
    from: &'static str,
    kind: &'static str,
}

const fn waits(options: &'static str, inbox: &'static str) -> Waiter {
    Waiter {
        session: None,
        options,
        inbox,
        from: "ci",
        kind: "error",
    }
}

const fn session(session: &'static str, inbox: &'static str) -> Waiter {
    Waiter {
        session: Some(session),
        ..waits("", inbox)
    }
}

const fn barrier(options: &'static str, inbox: &'static str, from: &'static str) -> Waiter {
    Waiter {
        from,
        kind: "complete",
        ..waits(options, inbox)
    }
}

const WAITERS: [Waiter; 8] = [
    session("w1", "w1"),
    session("boss", "primary"),
    waits("--inbox ops", "ops"),
    waits("--inbox a,b", "b"),
    waits("--inbox filtered --types error", "filtered"),
    waits("--inbox settling --settle 50", "settling"),
    barrier("--inbox every --all w8,w9", "every", "w9"),
    barrier("--inbox some --any w10,w11", "some", "w10"),
];

impl Waiter {
    fn call(&self, place: &Place, timeout: &str) -> Call {
        let line = format!("wait --timeout {timeout} {}", self.options);
        match self.session {
            Some(session) => place.by(session, line),
            None => place.hubctl(line),
        }
    }

    fn write(&self, place: &Place) {
        let Self {
            inbox, from, kind, ..
        } = self;
        let text = format!("notify --from {from} --to {inbox} --type {kind} {inbox}");
        place.ctl(text);
    }

    fn assert_woken(&self, done: Done) {
        let done = done.ok().warns_of_nothing();
        assert_eq!(done.messages(), [self.inbox]);
    }
}

fn assert_timed_out(done: Done, said: &str) {
    let done = done.ok().prints_nothing().warns(said);
    assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
}

fn place(settings: &[&str]) -> Place {
    let place = Place::with_settings(settings);
    place.sessions(&["w1"]);
    place.register("boss", &value!({"role": "primary"}));
    place.ctl("notify --from w8 --type complete --to x done");
    place
}

fn all_wait(place: &Place) {
    until("all wait", || {
        // A waiter with several inboxes is listed at each.
        let mut names = place.waiters();
        names.sort();
        names.dedup();
        names.len() == WAITERS.len()
    });
}

/// Starts all waiters, which wait for at most an hour, and waits until the hub knows them.
fn waiting(place: &Place) -> [(Running, Waiter); 8] {
    let waits = WAITERS.map(|it| (it.call(place, "1h").spawn(), it));
    all_wait(place);
    waits
}

fn assert_all_woken(place: &Place, waits: [(Running, Waiter); 8]) {
    for (_, waiter) in &waits {
        waiter.write(place);
    }
    for (wait, waiter) in waits {
        waiter.assert_woken(wait.end());
    }
}

#[test]
fn without_a_notification_each_wait_ends_at_its_timeout() {
    let place = place(&[]);
    for wait in WAITERS.map(|it| it.call(&place, "1").spawn()) {
        assert_timed_out(wait.end(), "nothing more within 1 s; run it again");
    }
}

#[test]
fn each_wait_ends_with_a_new_notification() {
    let place = place(&[]);
    assert_all_woken(&place, waiting(&place));
}

#[test]
fn each_wait_ends_with_a_pending_notification() {
    let place = place(&[]);
    for waiter in WAITERS {
        waiter.write(&place);
        waiter.assert_woken(waiter.call(&place, "1h").run());
    }
}

#[test]
fn at_a_wake_limit_waits_of_sessions_end_at_their_timeout_and_report_what_is_held() {
    let place = place(&["wake.per_sender_per_minute=0"]);
    for waiter in &WAITERS {
        waiter.write(&place);
    }
    let timeout = |it: &Waiter| if it.session.is_some() { "1" } else { "1h" };
    let waits = WAITERS.map(|it| (it.call(&place, timeout(&it)).spawn(), it));
    for (wait, waiter) in waits {
        match waiter.session {
            Some(_) => assert_timed_out(wait.end(), "within 1 s; 1 held until "),
            None => waiter.assert_woken(wait.end()),
        }
    }
}

#[test]
fn a_restart_of_the_hub_does_not_change_how_a_wait_ends() {
    let mut place = place(&[]);
    let silent = WAITERS.map(|it| it.call(&place, "30").spawn());
    all_wait(&place);
    place.restart();
    for wait in silent {
        assert_timed_out(wait.end(), "nothing more within 30 s; run it again");
    }
    let waits = waiting(&place);
    place.restart();
    all_wait(&place);
    assert_all_woken(&place, waits);
}

#[test]
fn a_reset_ends_each_wait_at_once() {
    let place = place(&[]);
    let waits = waiting(&place);
    place.ctl("reset --yes");
    for (wait, _) in waits {
        assert_timed_out(wait.end(), "project default was reset");
    }
}

#[test]
fn a_wait_for_senders_ends_once_each_has_said_that_it_is_done_also_without_a_type() {
    let place = Place::with_hub();
    let wait = place
        .hubctl("wait --inbox jobs --all build,tests --timeout 1h")
        .spawn();
    until("it waits", || !place.waiters().is_empty());
    place.ctl("notify --from build --to jobs built");
    place.ctl("notify --from tests --type progress --to jobs running");
    assert!(!place.waiters().is_empty(), "one is not done");
    place.ctl("notify --from tests --to elsewhere tested");
    let done = wait.end().ok().warns_of_nothing();
    assert_eq!(done.messages(), ["built", "running"]);
}

#[test]
fn a_notification_held_by_a_wake_limit_is_shown_everywhere() {
    let place = place(&["wake.per_sender_per_minute=0"]);
    let _wait = place.registered(WAITERS[1].call(&place, "1h"));
    let sent = place.json("notify --json --from ci x");
    assert_eq!(sent["woken"], 0);
    let limit = "0 wakes a minute by senders that are no sessions";
    let hint = sent["hint"].as_str().unwrap();
    assert!(hint.contains(limit), "{hint}");
    let trace = format!("trace {}", sent["id"]);
    for (line, text) in [
        ("inboxes", "1 held until "),
        ("status --inbox primary", "1 held until "),
        (&*trace, limit),
        ("doctor", "inbox primary: 1 held until "),
        ("wake-test primary --patience 1", limit),
        ("inboxes", "2 held until "),
    ] {
        place.by("boss", line).run().prints(text);
    }
    let inbox = place.inbox("primary");
    assert_eq!(inbox.held, Some(2), "{inbox:?}");
    let until = inbox.held_until.unwrap().to_string();
    assert_eq!(until.len(), "2026-11-21T12:04:31.042Z".len());
    let steps = place.by("boss", format!("{trace} --json")).json();
    let held = steps["steps"].as_array().unwrap().last().unwrap().clone();
    let expected = (&"held".into(), &limit.into());
    assert_eq!((&held["state"], &held["limit"]), expected);
}

#[test]
fn stops_of_a_sessions_own_workers_wake_it_at_any_limit() {
    let place = place(&["wake.per_sender_per_minute=0", "wake.per_hour=0"]);
    place.register("w2", &value!({"parent": "w1"}));
    for kind in ["complete", "waiting", "testing", "error"] {
        for waiter in [&WAITERS[0], &WAITERS[1]] {
            let wait = place.registered(waiter.call(&place, "1h"));
            let to = waiter.inbox;
            place.ctl(format!("notify --from w2 --to {to} --type {kind} {kind}"));
            assert_eq!(wait.end().ok().messages(), [kind]);
        }
    }
}

#[test]
fn a_word_of_the_person_wakes_at_any_limit() {
    let place = place(&["wake.per_sender_per_minute=0", "wake.per_hour=0"]);
    let wait = place.registered(WAITERS[1].call(&place, "1h"));
    place.install(Path::new("/bin/sh"), "cron");
    let held = place
        .sh("setsid -w ../cron -c 'hubctl notify --json nightly; true'")
        .ok();
    assert_eq!(held.json()["woken"], 0);
    place.ctl("notify --to primary --type complete 'the build is done'");
    assert_eq!(
        place.json("notify --json 'STOP, wrong branch!'")["woken"],
        1
    );
    wait.end().ok();
    let all = place.history("--project default");
    let said = all
        .iter()
        .map(|it| (&*it.msg, it.kind, it.from.as_str() == "person"));
    let said: Vec<_> = said.collect();
    assert_eq!(
        said[said.len() - 3..],
        [
            ("nightly", Kind::Complete, false),
            ("the build is done", Kind::Complete, false),
            ("STOP, wrong branch!", Kind::Message, true),
        ]
    );
}

#[test]
fn a_note_to_the_own_inbox_wakes_nobody_and_says_so() {
    let place = place(&[]);
    let waiter = Waiter {
        session: Some("w1"),
        ..WAITERS[2]
    };
    let _wait = place.registered(waiter.call(&place, "1h"));
    let sent = place.json("notify --from w1 --to w1 --json x");
    assert_eq!(sent["woken"], 0);
    let hint = sent["hint"].as_str().unwrap();
    assert!(hint.contains("its own inbox"), "{hint}");
}
