//! Expiry of pending items.

use super::*;

fn lasting(ms: i64) -> Draft {
    said("w1", Kind::Complete).with(|it| it.expires_at = noon().plus_millis(ms))
}

#[test]
fn an_item_is_offered_until_its_expiry_and_not_after() {
    let mut hub = Hub::new();
    let id = hub.say(lasting(HOUR));
    assert_eq!(hub.due(), after(HOUR));
    hub.pass(HOUR - 1);
    assert_eq!(hub.run(&Command::Tick), []);
    hub.pass(1);
    hub.run(&Command::Tick);
    assert!(hub.pending("primary").is_empty());
    assert_eq!(hub.status(id), Status::Expired);
    assert_eq!(hub.due(), None);
}

#[test]
fn an_acked_item_does_not_expire() {
    let mut hub = Hub::new();
    let id = hub.say(lasting(HOUR));
    hub.ack("primary", &[id]);
    assert_eq!(hub.due(), None);
    hub.pass(DAY);
    assert_eq!(hub.run(&Command::Tick), []);
}

#[test]
fn an_item_that_has_already_expired_is_refused() {
    let mut hub = Hub::new();
    assert_eq!(
        hub.try_notify(vec![lasting(HOUR), lasting(0)]),
        Err(Refusal::ExpiredAlready)
    );
}

#[test]
fn a_clock_that_jumps_ahead_expires_nothing() {
    let mut hub = Hub::new();
    let id = hub.say(lasting(HOUR));
    hub.pass(365 * DAY);
    hub.run(&Command::ClockMoved {
        delta_ms: 365 * DAY,
    });
    assert_eq!(hub.run(&Command::Tick), []);
    assert_eq!(hub.pending("primary"), [id]);
    hub.pass(HOUR);
    hub.run(&Command::Tick);
    assert!(hub.pending("primary").is_empty());
}

#[test]
fn a_clock_that_jumps_back_keeps_nothing_longer() {
    let mut hub = Hub::new();
    hub.say(lasting(HOUR));
    hub.pass(-DAY);
    hub.run(&Command::ClockMoved { delta_ms: -DAY });
    hub.pass(HOUR);
    hub.run(&Command::Tick);
    assert!(hub.pending("primary").is_empty());
}

#[test]
fn a_tick_is_bounded_and_the_next_one_is_due_at_once() {
    let mut hub = Hub::new();
    for _ in 0..11 {
        hub.run(&notify(vec![lasting(HOUR); 1000]));
    }
    hub.pass(HOUR);
    hub.run(&Command::Tick);
    assert_eq!(hub.pending("primary").len(), 1000);
    assert_eq!(hub.due(), Some(hub.now));
    hub.run(&Command::Tick);
    assert_eq!(hub.pending("primary").len(), 0);
}
