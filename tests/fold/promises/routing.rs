//! Who gets what, and who is woken.

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
fn a_named_inbox_takes_the_place_of_the_types_own() {
    for (kind, reached) in [
        (Kind::Complete, vec!["w2!"]),
        (Kind::Approval, vec!["w2!"]),
        (Kind::Progress, vec!["w2"]),
        (Kind::Ended, vec!["w2"]),
    ] {
        let to = Some(name("w2"));
        assert_eq!(
            reached_by(Draft {
                to,
                ..said("w1", kind)
            }),
            reached,
            "{kind}"
        );
    }
}

#[test]
fn a_worker_reaches_its_parent_and_primary_once_each() {
    let child_of = |parent, kind| Draft {
        parent: Some(name(parent)),
        ..said("w1", kind)
    };
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
fn what_primary_says_does_not_come_back_to_it() {
    assert!(reached_by(said("primary", Kind::Complete)).is_empty());
    assert!(reached_by(sent("primary", "primary")).is_empty());
    assert_eq!(reached_by(sent("primary", "all")), ["person!"]);
}

#[test]
fn a_note_to_oneself_does_not_wake_oneself() {
    assert_eq!(reached_by(sent("w1", "w1")), ["w1"]);
}

#[test]
fn all_is_primary_person_and_the_live_sessions_less_the_sender() {
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
fn all_knows_the_sessions_of_the_same_batch() {
    let mut hub = Hub::new();
    hub.say(said("w1", Kind::Progress));
    hub.run(&notify(vec![
        said("w2", Kind::Progress),
        Draft {
            to: Some(name("w2")),
            ..said("w1", Kind::Ended)
        },
        sent("ci", "all"),
    ]));
    assert_eq!(hub.reached(), ["person!", "primary!", "w2!"]);
}

#[test]
fn all_is_never_an_inbox() {
    let from_all = said("all", Kind::Progress);
    let mut hub = Hub::new();
    hub.say(from_all);
    hub.say(Draft {
        parent: Some(name("all")),
        ..said("w1", Kind::Message)
    });
    hub.say(sent("w1", "all"));
    assert_eq!(hub.state.inbox(&project(), &name("all")), None);
}

#[test]
fn low_priority_only_rides_along() {
    let priority = Priority::Low;
    assert_eq!(
        reached_by(Draft {
            priority,
            ..said("w1", Kind::Error)
        }),
        ["primary"]
    );
}

#[test]
fn beyond_eight_replies_nobody_is_woken() {
    let replied = |hops| Draft {
        hops,
        ..said("w1", Kind::Message)
    };
    assert_eq!(reached_by(replied(8)), ["primary!"]);
    assert_eq!(reached_by(replied(9)), ["primary"]);
}

#[test]
fn what_comes_late_wakes_nobody() {
    let quiet = true;
    assert_eq!(
        reached_by(Draft {
            quiet,
            ..said("w1", Kind::Error)
        }),
        ["primary"]
    );
}

#[test]
fn an_answer_to_nothing_is_refused_with_its_whole_batch() {
    let mut hub = Hub::new();
    let batch = vec![said("w1", Kind::Complete), said("w1", Kind::Answer)];
    assert_eq!(hub.ask(&notify(batch)), Err(Refusal::NoSuchQuestion));
    assert_eq!(hub.state, State::default());
}
