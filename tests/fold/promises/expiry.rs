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
