//! Escape: a turn that the person interrupts, and a dialog that the person leaves.

use hub_protocol::SessionState;
use hubd::core::command::Happened;
use hubd::core::record::Beginner;
use hubd::fold::Status;

use super::agents::{asks, failed, idle, permission, prompt, stop, stop_with, told};
use super::*;

/// `w1`, worker of `lead`, in a turn that a wake began.
fn working() -> Hub {
    let mut hub = Hub::new();
    hub.worker("w1", "lead");
    hub.hook("w1", prompt(Beginner::Wake));
    hub
}

#[test]
fn an_interrupted_turn_waits_at_once_and_wakes_nobody() {
    let mut hub = working();
    let records = hub.hook("w1", Happened::Interrupted);
    assert_eq!(told(&records), ["waiting lead primary"]);
    assert_eq!(hub.last_msg(), "Agent w1 was interrupted");
    assert_eq!(hub.state_of("w1"), Some(SessionState::Waiting));
    assert_eq!(hub.hook("w1", Happened::Interrupted), []);
    assert_eq!(told(&hub.hook("w1", idle())), ["waiting"], "recorded");
    hub.hook("w1", prompt(Beginner::Person));
    assert_eq!(told(&hub.hook("w1", stop("done"))).len(), 1);
}

#[test]
fn leaving_a_dialog_closes_its_question() {
    for waits in [asks("?"), permission()] {
        let mut hub = working();
        hub.hook("w1", waits);
        let id = hub.state.questions(false)[0].0;
        hub.hook("w1", Happened::Interrupted);
        assert_eq!(hub.state.status(id, true), Status::Withdrawn);
        assert_eq!(hub.state_of("w1"), Some(SessionState::Waiting));
    }
}

#[test]
fn an_interrupt_after_a_stop_changes_nothing() {
    for over in [
        stop("done"),
        stop_with("wait", &["b1"]),
        failed("overloaded", false),
    ] {
        let mut hub = working();
        hub.hook("w1", over);
        assert_eq!(hub.hook("w1", Happened::Interrupted), []);
    }
}
