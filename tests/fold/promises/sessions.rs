//! Sessions, as their notifications tell.

use hub_protocol::SessionState;

use super::*;

fn state_of(hub: &Hub, session: &str) -> Option<(SessionState, Seq)> {
    hub.state.session_state(&project(), &name(session))
}

#[test]
fn a_type_changes_the_state_of_its_sender() {
    let mut hub = Hub::new();
    hub.say(said("w1", Kind::Progress));
    hub.say(said("w1", Kind::Question));
    hub.say(said("w1", Kind::Message));
    assert_eq!(state_of(&hub, "w1"), Some((SessionState::Blocked, 2)));
}

#[test]
fn a_defaulted_type_changes_no_state() {
    let mut hub = Hub::new();
    hub.say(Draft {
        explicit_kind: false,
        ..said("w1", Kind::Complete)
    });
    assert_eq!(state_of(&hub, "w1"), None);
}

#[test]
fn a_sender_may_speak_of_another_session() {
    let mut hub = Hub::new();
    hub.say(Draft {
        session: Some(name("w2")),
        ..said("w1", Kind::Error)
    });
    assert_eq!(state_of(&hub, "w1"), None);
    assert_eq!(state_of(&hub, "w2"), Some((SessionState::Error, 1)));
}

#[test]
fn a_sender_that_nobody_named_is_no_session() {
    let mut hub = Hub::new();
    hub.say(said("unknown", Kind::Complete));
    assert_eq!(state_of(&hub, "unknown"), None);
}

#[test]
fn the_ten_thousand_sessions_that_spoke_last_are_known() {
    let mut hub = Hub::new();
    for n in 0..10_000 {
        hub.say(said(&format!("w{n}"), Kind::Progress));
    }
    hub.say(said("w0", Kind::Progress));
    hub.say(said("one-more", Kind::Progress));
    assert!(state_of(&hub, "w0").is_some());
    assert_eq!(state_of(&hub, "w1"), None);
    assert!(state_of(&hub, "w2").is_some());
}
