//! When a wait ends: each kind of waiter against each event.

use serde_json::json as value;

use crate::support::{Call, Done, Place, until};

/// A kind of waiter, and the notification that ends its wait.
struct Waiter {
    session: Option<&'static str>,
    args: &'static [&'static str],
    /// Inbox, sender and type of the notification that ends the wait.
    inbox: &'static str,
    from: &'static str,
    kind: &'static str,
}

const NAMED: Waiter = Waiter {
    session: None,
    args: &["--inbox", "ops"],
    inbox: "ops",
    from: "ci",
    kind: "error",
};

const WAITERS: [Waiter; 8] = [
    Waiter {
        session: Some("w1"),
        args: &[],
        inbox: "w1",
        ..NAMED
    },
    Waiter {
        session: Some("boss"),
        args: &[],
        inbox: "primary",
        ..NAMED
    },
    NAMED,
    Waiter {
        args: &["--inbox", "a,b"],
        inbox: "b",
        ..NAMED
    },
    Waiter {
        args: &["--inbox", "filtered", "--types", "error"],
        inbox: "filtered",
        ..NAMED
    },
    Waiter {
        args: &["--inbox", "settling", "--settle", "50"],
        inbox: "settling",
        ..NAMED
    },
    Waiter {
        args: &["--inbox", "every", "--all", "w8,w9"],
        inbox: "every",
        from: "w9",
        kind: "complete",
        session: None,
    },
    Waiter {
        args: &["--inbox", "some", "--any", "w10,w11"],
        inbox: "some",
        from: "w10",
        kind: "complete",
        session: None,
    },
];

impl Waiter {
    fn call(&self, place: &Place, timeout: &str) -> Call {
        let call = place
            .hubctl(&["wait", "--timeout", timeout])
            .args(self.args);
        match self.session {
            Some(session) => call.env("HUB_SESSION", session),
            None => call,
        }
    }

    fn write(&self, place: &Place) {
        let args = [
            "notify", "--from", self.from, "--to", self.inbox, "--type", self.kind, self.inbox,
        ];
        place.hubctl(&args).run().ok();
    }

    fn assert_woken(&self, done: Done) {
        let done = done.ok();
        assert_eq!(done.messages(), [self.inbox]);
        assert_eq!(done.stderr, "", "{}", self.inbox);
    }

    fn assert_timed_out(&self, done: Done, said: &str) {
        let done = done.ok();
        assert_eq!(done.stdout, "", "{}", self.inbox);
        assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
        assert!(done.stderr.contains(said), "{done:?}");
    }
}

fn place(settings: &[&str]) -> Place {
    let place = Place::with_settings(settings);
    place.register("w1", &value!({}));
    place.register("boss", &value!({"role": "primary"}));
    let done = [
        "notify", "--from", "w8", "--type", "complete", "--to", "x", "done",
    ];
    place.hubctl(&done).run().ok();
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

#[test]
fn without_a_notification_each_wait_ends_at_its_timeout() {
    let place = place(&[]);
    let waits = WAITERS.map(|it| (it.call(&place, "1").spawn(), it));
    for (wait, waiter) in waits {
        waiter.assert_timed_out(wait.end(), "nothing more within 1 s; run it again");
    }
}

#[test]
fn each_wait_ends_with_a_new_notification() {
    let place = place(&[]);
    let waits = WAITERS.map(|it| (it.call(&place, "1h").spawn(), it));
    all_wait(&place);
    for (_, waiter) in &waits {
        waiter.write(&place);
    }
    for (wait, waiter) in waits {
        waiter.assert_woken(wait.end());
    }
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
            Some(_) => waiter.assert_timed_out(wait.end(), "within 1 s; 1 held until "),
            None => waiter.assert_woken(wait.end()),
        }
    }
}

#[test]
fn a_restart_of_the_hub_does_not_change_how_a_wait_ends() {
    let mut place = place(&[]);
    let silent = WAITERS.map(|it| (it.call(&place, "30").spawn(), it));
    all_wait(&place);
    place.kill();
    place.start();
    for (wait, waiter) in silent {
        waiter.assert_timed_out(wait.end(), "nothing more within 30 s; run it again");
    }
    let waits = WAITERS.map(|it| (it.call(&place, "1h").spawn(), it));
    all_wait(&place);
    place.kill();
    place.start();
    all_wait(&place);
    for (_, waiter) in &waits {
        waiter.write(&place);
    }
    for (wait, waiter) in waits {
        waiter.assert_woken(wait.end());
    }
}

#[test]
fn a_reset_ends_each_wait_at_once() {
    let place = place(&[]);
    let waits = WAITERS.map(|it| (it.call(&place, "1h").spawn(), it));
    all_wait(&place);
    place.hubctl(&["reset", "--yes"]).run().ok();
    for (wait, waiter) in waits {
        waiter.assert_timed_out(wait.end(), "project default was reset");
    }
}

#[test]
fn a_notification_held_by_a_wake_limit_is_shown_everywhere() {
    let place = place(&["wake.per_sender_per_minute=0"]);
    let _wait = place.waiter(WAITERS[1].call(&place, "1h"));
    let notify = ["notify", "--json", "--from", "ci", "x"];
    let sent = place.hubctl(&notify).run().json();
    assert_eq!(sent["woken"], 0);
    let limit = "0 wakes a minute by senders that are no sessions";
    let hint = sent["hint"].as_str().unwrap();
    assert!(hint.contains(limit), "{hint}");
    let id = sent["id"].to_string();
    let boss = |args: &[&str]| place.hubctl(args).env("HUB_SESSION", "boss").run();
    let said = [
        (boss(&["inboxes"]), "1 held until "),
        (boss(&["status", "--inbox", "primary"]), "1 held until "),
        (boss(&["trace", &id]), limit),
        (boss(&["doctor"]), "inbox primary: 1 held until "),
        (boss(&["wake-test", "primary", "--patience", "1"]), limit),
    ];
    for (done, text) in said {
        assert!(done.stdout.contains(text), "{text}: {done:?}");
    }
    let inbox = place.inbox("primary");
    assert_eq!(inbox.held, Some(2), "{inbox:?}");
    let until = inbox.held_until.unwrap().to_string();
    let inboxes = boss(&["inboxes"]).stdout;
    assert!(inboxes.contains("2 held until "), "{inboxes}");
    assert_eq!(until.len(), "2026-11-21T12:04:31.042Z".len());
    let steps = boss(&["trace", &id, "--json"]).json();
    let held = steps["steps"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&held["state"], &held["limit"]),
        (&"held".into(), &limit.into())
    );
}

#[test]
fn stops_of_a_sessions_own_workers_wake_it_at_any_limit() {
    let place = place(&["wake.per_sender_per_minute=0", "wake.per_hour=0"]);
    place.register("w2", &value!({"parent": "w1"}));
    for kind in ["complete", "waiting", "testing", "error"] {
        for waiter in [&WAITERS[0], &WAITERS[1]] {
            let wait = place.waiter(waiter.call(&place, "1h"));
            let args = [
                "notify",
                "--from",
                "w2",
                "--to",
                waiter.inbox,
                "--type",
                kind,
                kind,
            ];
            place.hubctl(&args).run().ok();
            assert_eq!(wait.end().ok().messages(), [kind]);
        }
    }
}

#[test]
fn a_note_to_the_own_inbox_wakes_nobody_and_says_so() {
    let place = place(&[]);
    let waiter = Waiter {
        session: Some("w1"),
        ..NAMED
    };
    let _wait = place.waiter(waiter.call(&place, "1h"));
    let args = ["notify", "--from", "w1", "--to", "w1", "--json", "x"];
    let sent = place.hubctl(&args).run().json();
    assert_eq!(sent["woken"], 0);
    let hint = sent["hint"].as_str().unwrap();
    assert!(hint.contains("its own inbox"), "{hint}");
}
