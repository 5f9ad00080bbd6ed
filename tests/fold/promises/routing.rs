//! Routing: the inboxes that receive a notification, and the inboxes that it wakes.

use super::*;

fn reached_by(draft: Draft) -> Vec<String> {
    let mut hub = Hub::new();
    hub.say(draft);
    hub.reached()
}

#[test]
fn without_a_target_the_type_decides() {
    for (kind, reached) in [
        (Kind::Complete, vec!["primary!"]),
        (Kind::Waiting, vec!["primary!"]),
        (Kind::Question, vec!["primary!"]),
        (Kind::Approval, vec!["person!", "primary"]),
        (Kind::Testing, vec!["primary!"]),
        (Kind::Error, vec!["primary!"]),
        (Kind::Progress, vec![]),
        (Kind::Message, vec!["primary!"]),
        (Kind::Ended, vec!["primary"]),
    ] {
        assert_eq!(reached_by(said("w1", kind)), reached, "{kind}");
    }
}

#[test]
fn a_named_inbox_replaces_the_inboxes_of_the_type() {
    for (kind, reached) in [
        (Kind::Complete, "w2!"),
        (Kind::Approval, "w2!"),
        (Kind::Progress, "w2"),
        (Kind::Ended, "w2"),
    ] {
        assert_eq!(reached_by(said("w1", kind).to("w2")), [reached], "{kind}");
    }
}

#[test]
fn senders_parents_and_priorities_change_the_inboxes() {
    let child_of = |parent, kind| said("w1", kind).parent(parent);
    let replied = |hops| said("w1", Kind::Message).with(|it| it.hops = hops);
    let mut late = said("w1", Kind::Error);
    late.quiet = true;
    let low = said("w1", Kind::Error).priority(Priority::Low);
    let cases: [(&str, Draft, &[&str]); 12] = [
        (
            "a worker reaches both",
            child_of("lead", Kind::Complete),
            &["lead!", "primary!"],
        ),
        (
            "once each",
            child_of("primary", Kind::Complete),
            &["primary!"],
        ),
        ("not itself", child_of("w1", Kind::Complete), &["primary!"]),
        (
            "an approval",
            child_of("lead", Kind::Approval),
            &["lead", "person!", "primary"],
        ),
        ("the primary's own", said("primary", Kind::Complete), &[]),
        ("the primary to itself", sent("primary", "primary"), &[]),
        ("the primary to all", sent("primary", "all"), &["person!"]),
        ("a note to oneself wakes nobody", sent("w1", "w1"), &["w1"]),
        ("low priority wakes nobody", low, &["primary"]),
        ("the eighth hop", replied(8), &["primary!"]),
        ("the ninth hop wakes nobody", replied(9), &["primary"]),
        ("a late one wakes nobody", late, &["primary"]),
    ];
    for (what, draft, reached) in cases {
        assert_eq!(reached_by(draft), reached, "{what}");
    }
}

#[test]
fn all_is_primary_person_and_the_live_sessions_except_the_sender() {
    let mut hub = Hub::new();
    for from in ["w1", "w2", "w3"] {
        hub.say(said(from, Kind::Progress));
    }
    hub.say(said("w3", Kind::Ended));
    hub.ack("primary", &[4]);
    hub.say(sent("w1", "all"));
    assert_eq!(hub.reached(), ["person!", "primary!", "w2!"]);
}

#[test]
fn all_is_never_an_inbox() {
    let from_all = said("all", Kind::Progress);
    let mut hub = Hub::new();
    hub.say(from_all);
    hub.say(said("w1", Kind::Message).parent("all"));
    hub.say(sent("w1", "all"));
    assert_eq!(hub.inbox("all"), None);
}
