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
        (Kind::Complete, vec!["w2!"]),
        (Kind::Approval, vec!["w2!"]),
        (Kind::Progress, vec!["w2"]),
        (Kind::Ended, vec!["w2"]),
    ] {
        let to = Some(name("w2"));
        assert_eq!(
            reached_by(said("w1", kind).with(|it| it.to = to)),
            reached,
            "{kind}"
        );
    }
}

#[test]
fn a_worker_reaches_its_parent_and_primary_once_each() {
    let child_of = |parent, kind| said("w1", kind).parent(parent);
    assert_eq!(
        reached_by(child_of("lead", Kind::Complete)),
        ["lead!", "primary!"]
    );
    assert_eq!(
        reached_by(child_of("primary", Kind::Complete)),
        ["primary!"]
    );
    assert_eq!(reached_by(child_of("w1", Kind::Complete)), ["primary!"]);
    assert_eq!(
        reached_by(child_of("lead", Kind::Approval)),
        ["lead", "person!", "primary"]
    );
}

#[test]
fn a_notification_of_the_primary_does_not_return_to_it() {
    assert!(reached_by(said("primary", Kind::Complete)).is_empty());
    assert!(reached_by(sent("primary", "primary")).is_empty());
    assert_eq!(reached_by(sent("primary", "all")), ["person!"]);
}

#[test]
fn a_note_to_the_own_inbox_wakes_nobody() {
    assert_eq!(reached_by(sent("w1", "w1")), ["w1"]);
}

#[test]
fn all_is_primary_person_and_the_live_sessions_except_the_sender() {
    let mut hub = Hub::new();
    for (from, kind) in [
        ("w1", Kind::Progress),
        ("w2", Kind::Progress),
        ("w3", Kind::Progress),
        ("w3", Kind::Ended),
    ] {
        hub.say(said(from, kind));
    }
    hub.ack("primary", &[4]);
    hub.say(sent("w1", "all"));
    assert_eq!(hub.reached(), ["person!", "primary!", "w2!"]);
}

#[test]
fn all_includes_the_sessions_of_the_same_batch() {
    let mut hub = Hub::new();
    hub.say(said("w1", Kind::Progress));
    hub.run(&notify(vec![
        said("w2", Kind::Progress),
        said("w1", Kind::Ended).to("w2"),
        sent("ci", "all"),
    ]));
    assert_eq!(hub.reached(), ["person!", "primary!", "w2!"]);
}

#[test]
fn all_is_never_an_inbox() {
    let from_all = said("all", Kind::Progress);
    let mut hub = Hub::new();
    hub.say(from_all);
    hub.say(said("w1", Kind::Message).parent("all"));
    hub.say(sent("w1", "all"));
    assert_eq!(hub.state.inbox(&project(), &name("all")), None);
}

#[test]
fn low_priority_wakes_nobody() {
    let priority = Priority::Low;
    assert_eq!(
        reached_by(said("w1", Kind::Error).priority(priority)),
        ["primary"]
    );
}

#[test]
fn replies_after_the_eighth_hop_wake_nobody() {
    let replied = |hops| said("w1", Kind::Message).with(|it| it.hops = hops);
    assert_eq!(reached_by(replied(8)), ["primary!"]);
    assert_eq!(reached_by(replied(9)), ["primary"]);
}

#[test]
fn a_late_notification_wakes_nobody() {
    let mut late = said("w1", Kind::Error);
    late.quiet = true;
    assert_eq!(reached_by(late), ["primary"]);
}

#[test]
fn an_answer_to_no_question_is_refused_with_its_whole_batch() {
    let mut hub = Hub::new();
    let batch = vec![said("w1", Kind::Complete), said("w1", Kind::Answer)];
    assert_eq!(hub.try_notify(batch), Err(Refusal::NoSuchQuestion));
    assert_eq!(hub.state, State::default());
}
