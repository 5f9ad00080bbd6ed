//! Wake limits, and the reports of notifications that they hold back.

use super::*;
use crate::record::{PrimaryTaken, QuestionSettled};
use hub_protocol::QuestionState;

/// An agent that `w1` has just woken as often as the limit allows; `w1` and `w2` are sessions without a parent.
fn woken_enough() -> Place {
    let mut place = Place::new();
    place.register("w1", None);
    place.register("w2", None);
    wake(&mut place, &DONE, 2);
    place
}

/// Wakes an agent `times` times.
fn wake(place: &mut Place, say: &Say, times: usize) {
    for n in 0..times {
        let mut answer = place.wait(agent());
        assert!(place.say(say), "wake {n}");
        place.ack(&ids(&batch(&mut answer)));
    }
}

/// Whether a notification wakes an agent; if not, it stays pending.
fn wakes(place: &mut Place, say: &Say) -> bool {
    let mut answer = place.wait(agent());
    let woken = place.say(say);
    assert_eq!(woken, !waits(&mut answer));
    woken
}

impl Place {
    /// Returns what is held back at the inbox `primary`.
    fn held(&self) -> Option<HeldBack> {
        let (project, primary) = (ProjectName::default(), name("primary"));
        let at = (&project, &primary);
        self.presence.held_back(&self.state, at, self.now)
    }

    /// Returns until when the last notification is held back, and by which limit.
    fn last_hold(&self) -> (Timestamp, String) {
        let (project, primary) = (ProjectName::default(), name("primary"));
        let (at, id) = ((&project, &primary), self.state.head());
        let hold = self.presence.hold_of(&self.state, at, id, self.now);
        hold.map(|it| (it.until, it.limit.to_string())).unwrap()
    }
}

#[test]
fn an_item_over_the_sender_limit_is_delivered_when_the_limit_ends() {
    let mut place = woken_enough();
    let mut answer = place.wait(agent());
    assert!(!place.say(&DONE), "the third within a minute");
    assert!(waits(&mut answer));
    place.pass(Duration::from_secs(61));
    assert_eq!(batch(&mut answer).items.len(), 1);
}

#[test]
fn a_limited_sender_does_not_delay_other_senders() {
    let mut place = woken_enough();
    place.say(&DONE);
    place.say(&from("w2"));
    let batch = batch(&mut place.wait(agent()));
    assert_eq!(batch.items.len(), 2, "the first rides along");
}

#[test]
fn an_agent_is_woken_when_the_first_of_two_limits_ends() {
    let mut place = woken_enough();
    place.pass(Duration::from_secs(30));
    let late = from("w2");
    wake(&mut place, &late, 2);
    let mut answer = place.wait(agent());
    assert!(!place.say(&DONE) && !place.say(&late));
    place.pass(Duration::from_secs(31));
    assert_eq!(batch(&mut answer).items.len(), 2);
}

#[test]
fn urgent_items_and_questions_count_against_the_limits() {
    let priority = Priority::Urgent;
    for say in [Say { priority, ..DONE }, of_kind(Kind::Question)] {
        let mut place = woken_enough();
        assert!(!wakes(&mut place, &say));
        let mut place = Place::new();
        wake(&mut place, &say, 2);
        assert!(!wakes(&mut place, &DONE));
    }
}

#[test]
fn senders_that_are_not_sessions_share_one_limit() {
    let mut place = Place::new();
    place.register("w1", None);
    wake(&mut place, &from("a"), 1);
    wake(&mut place, &from("b"), 1);
    assert!(!wakes(&mut place, &from("c")));
    assert!(wakes(&mut place, &DONE), "a session has its own");
}

#[test]
fn stops_and_errors_of_own_workers_do_not_count_against_the_limits() {
    let own: [fn(&mut Place); 2] = [
        |place| place.register("w1", Some("boss")),
        |place| {
            place.register("boss", None);
            place.register("w1", None);
            let taken = PrimaryTaken {
                project: ProjectName::default(),
                session: name("boss"),
                at: place.now.wall,
            };
            place.apply(&Record::PrimaryTaken(taken));
        },
    ];
    for own in own {
        let mut place = Place::new();
        own(&mut place);
        for kind in [Kind::Complete, Kind::Waiting, Kind::Testing, Kind::Error] {
            wake(&mut place, &of_kind(kind), 3);
        }
        let message = of_kind(Kind::Message);
        wake(&mut place, &message, 2);
        assert!(!wakes(&mut place, &message));
        let somebody = from("x");
        wake(&mut place, &somebody, 1);
    }
}

#[test]
fn stops_of_own_workers_wake_at_most_120_times_a_minute() {
    let mut place = Place::new();
    place.register("w1", Some("boss"));
    wake(&mut place, &DONE, 120);
    assert!(!wakes(&mut place, &DONE));
}

#[test]
fn answers_to_an_agents_own_questions_are_not_limited() {
    let answer = of_kind(Kind::Answer);
    let mut place = woken_enough();
    assert!(!wakes(&mut place, &answer), "nobody asked");
    let mut place = woken_enough();
    let id = place.state.head() + 1;
    let mut question = of_kind(Kind::Question);
    (question.from, question.inbox) = ("boss", "w1");
    place.say(&question);
    let settled = QuestionSettled {
        id,
        state: QuestionState::Answered,
        by: None,
        answer: Some(id + 2),
        at: place.now.wall,
    };
    place.apply(&Record::QuestionSettled(settled));
    assert!(wakes(&mut place, &answer));
}

#[test]
fn a_reader_without_a_session_has_no_wake_limit() {
    let mut place = Place::new();
    for _ in 0..5 {
        let mut answer = place.wait(named("script"));
        assert!(place.say(&DONE));
        place.ack(&ids(&batch(&mut answer)));
    }
}

#[test]
fn held_back_items_are_reported_with_their_count_and_time() {
    let mut place = woken_enough();
    let mut answer = place.wait(agent());
    assert_eq!(place.held(), None);
    place.say(&DONE);
    place.say(&DONE);
    let until = place.now.wall.plus_millis(60_000);
    assert_eq!(place.held(), Some(HeldBack { count: 2, until }));
    let limit = "2 wakes a minute by w1".into();
    assert_eq!(place.last_hold(), (until, limit));
    place.pass(Duration::from_secs(60));
    assert_eq!(batch(&mut answer).items.len(), 2);
    assert_eq!(place.held(), None);
}

#[test]
fn waiters_without_a_limit_report_no_held_back_items() {
    let mut barrier = agent();
    let count = 9;
    barrier.barrier = Some(Barrier {
        count,
        ..Barrier::default()
    });
    for spec in [named("script"), barrier] {
        let mut place = woken_enough();
        place.say(&DONE);
        let _waiter = place.wait(spec);
        assert_eq!(place.held(), None);
    }
}

#[test]
fn a_wait_that_times_out_reports_held_back_items() {
    let mut place = woken_enough();
    let mut answer = place.wait_5s(agent());
    assert!(!place.say(&DONE));
    place.pass(Duration::from_secs(5));
    let Ok(Outcome::HeldBack(held)) = answer.try_recv() else {
        panic!("nothing is held back");
    };
    assert_eq!(held.count, 1);
}

#[test]
fn the_hourly_limit_counts_all_senders() {
    let mut place = Place::new();
    place.register("w1", None);
    for _ in 0..30 {
        wake(&mut place, &DONE, 2);
        place.pass(Duration::from_secs(61));
    }
    let _waiter = place.wait(agent());
    assert!(!place.say(&from("x")));
    assert_eq!(place.last_hold().1, "60 wakes an hour");
}

#[test]
fn a_reset_ends_waits_and_forgets_wakes() {
    let mut place = woken_enough();
    let mut answer = place.wait(agent());
    let project = ProjectName::default();
    place.presence.dismiss_project(&place.state, &project);
    assert!(matches!(answer.try_recv(), Ok(Outcome::Reset)));
    assert!(wakes(&mut place, &DONE));
}
