//! What a waiter waits for beyond the first that comes: lulls, barriers, limits, filters.

use super::*;

#[test]
fn a_settling_waiter_collects_until_a_lull() {
    let mut place = Place::new();
    let mut answer = place.wait(WaitSpec {
        settle: Duration::from_secs(1),
        ..spec(&["primary"])
    });
    assert!(place.say(&DONE), "its condition is met");
    place.pass(Duration::from_millis(900));
    place.say(&DONE);
    place.pass(Duration::from_millis(900));
    assert!(waits(&mut answer));
    place.pass(Duration::from_millis(100));
    assert_eq!(ids(&batch(&mut answer)), [1, 2]);
}

#[test]
fn a_settling_waiter_is_not_held_by_a_busy_inbox() {
    let mut place = Place::new();
    let mut answer = place.wait(WaitSpec {
        settle: Duration::from_secs(1),
        ..spec(&["primary"])
    });
    for _ in 0..10 {
        place.say(&DONE);
        place.pass(Duration::from_millis(500));
    }
    assert_eq!(batch(&mut answer).items.len(), 10);
}

#[test]
fn a_barrier_waits_for_every_session() {
    let mut place = Place::new();
    let barrier = Some(Barrier {
        all: vec![name("w1"), name("w2")],
        count: 0,
        since: 0,
    });
    let mut answer = place.wait(WaitSpec {
        barrier,
        ..spec(&["primary"])
    });
    place.say(&DONE);
    assert!(waits(&mut answer));
    place.say(&Say {
        from: "w2",
        inbox: "elsewhere",
        ..DONE
    });
    let batch = batch(&mut answer);
    assert_eq!(batch.why, WhyWoken::Barrier);
    assert!(batch.barrier.unwrap().met);
    assert_eq!(
        place
            .state
            .session_state(&ProjectName::default(), &name("w2"))
            .unwrap()
            .0,
        SessionState::Complete
    );
}

#[test]
fn a_barrier_is_broken_by_what_cannot_wait() {
    let mut place = Place::new();
    let barrier = Some(Barrier {
        all: vec![name("w1"), name("w2")],
        count: 0,
        since: 0,
    });
    let mut answer = place.wait(WaitSpec {
        barrier,
        ..spec(&["primary"])
    });
    place.say(&Say {
        kind: Kind::Question,
        ..DONE
    });
    let report = batch(&mut answer).barrier.unwrap();
    assert!(!report.met);
    assert_eq!(report.missing, [name("w1"), name("w2")]);
}

#[test]
fn at_the_timeout_what_is_pending_behind_a_barrier_comes() {
    let mut place = Place::new();
    let barrier = Some(Barrier {
        all: Vec::new(),
        count: 3,
        since: 0,
    });
    let deadline = place.now.mono + Duration::from_secs(5);
    let mut answer = place.wait(WaitSpec {
        barrier,
        deadline,
        ..spec(&["primary"])
    });
    place.say(&DONE);
    place.pass(Duration::from_secs(5));
    let batch = batch(&mut answer);
    assert_eq!(
        (ids(&batch), batch.why.clone()),
        (vec![1], WhyWoken::Timeout)
    );
}

#[test]
fn an_agent_is_woken_so_often_by_one_sender_and_loses_nothing() {
    let mut place = woken_enough();
    let mut answer = place.wait(agent());
    assert!(!place.say(&DONE), "the third within a minute");
    assert!(waits(&mut answer));
    place.pass(Duration::from_secs(61));
    assert_eq!(batch(&mut answer).items.len(), 1);
}

/// An agent that `w1` has just woken as often as it may.
fn woken_enough() -> Place {
    let mut place = Place::new();
    for _ in 0..2 {
        let mut answer = place.wait(agent());
        assert!(place.say(&DONE));
        place.ack(&ids(&batch(&mut answer)));
    }
    place
}

#[test]
fn a_limited_sender_holds_up_nobody_else() {
    for other in [
        Say { from: "w2", ..DONE },
        Say {
            kind: Kind::Question,
            ..DONE
        },
    ] {
        let mut place = woken_enough();
        place.say(&DONE);
        place.say(&other);
        let batch = batch(&mut place.wait(agent()));
        assert_eq!(ids(&batch), [5, 6], "the first rides along");
    }
}

#[test]
fn an_agent_looks_again_when_the_first_of_its_senders_may_wake_it() {
    let mut place = woken_enough();
    place.pass(Duration::from_secs(30));
    let late = Say { from: "w2", ..DONE };
    for _ in 0..2 {
        let mut answer = place.wait(agent());
        assert!(place.say(&late));
        place.ack(&ids(&batch(&mut answer)));
    }
    let mut answer = place.wait(agent());
    assert!(!place.say(&DONE) && !place.say(&late));
    place.pass(Duration::from_secs(31));
    assert_eq!(ids(&batch(&mut answer)), [9, 10]);
}

#[test]
fn a_settling_waiter_waits_on_when_another_has_read_what_it_was_woken_for() {
    let mut place = Place::new();
    let mut answer = place.wait(WaitSpec {
        settle: Duration::from_secs(1),
        ..spec(&["primary"])
    });
    place.say(&DONE);
    place.ack(&[1]);
    place.pass(Duration::from_secs(2));
    assert!(waits(&mut answer));
    place.say(&DONE);
    place.pass(Duration::from_secs(1));
    assert_eq!(ids(&batch(&mut answer)), [3]);
}

#[test]
fn urgent_ones_and_questions_pass_the_wake_limit() {
    for say in [
        Say {
            priority: Priority::Urgent,
            ..DONE
        },
        Say {
            kind: Kind::Question,
            ..DONE
        },
    ] {
        let mut place = Place::new();
        for _ in 0..5 {
            let mut answer = place.wait(agent());
            assert!(place.say(&say));
            place.ack(&ids(&batch(&mut answer)));
        }
    }
}

#[test]
fn a_plain_reader_has_no_wake_limit() {
    let mut place = Place::new();
    for _ in 0..5 {
        let mut answer = place.wait(named("script"));
        assert!(place.say(&DONE));
        place.ack(&ids(&batch(&mut answer)));
    }
}

#[test]
fn an_item_in_two_of_the_inboxes_comes_once_and_is_leased_in_both() {
    let mut place = Place::new();
    let seq = place.state.head() + 1;
    let targets = ["primary", "w1"].map(|inbox| Target {
        inbox: name(inbox),
        wakes: true,
    });
    let route = Route {
        project: ProjectName::default(),
        from: name("w2"),
        kind: Kind::Complete,
        priority: Priority::Normal,
        ts: place.now.wall,
        expires_at: place.now.wall.plus_millis(1000),
        targets: targets.into(),
        key: None,
        session: None,
        hops: 0,
    };
    let json = Bytes::from_static(b"{}");
    place
        .state
        .apply(seq, &Record::Notified(Notified { route, json }));
    let batch = batch(&mut place.wait(spec(&["primary", "w1"])));
    assert_eq!(ids(&batch), [1]);
    assert_eq!(
        batch.lease,
        [(name("primary"), vec![1]), (name("w1"), vec![1])]
    );
}

#[test]
fn a_filter_decides_what_comes_and_what_wakes() {
    let mut place = Place::new();
    let filter = Filter {
        kinds: Some(vec![Kind::Error]),
        ..Filter::default()
    };
    let mut answer = place.wait(WaitSpec {
        filter,
        ..spec(&["primary"])
    });
    assert!(!place.say(&DONE));
    place.say(&Say {
        kind: Kind::Error,
        ..DONE
    });
    assert_eq!(ids(&batch(&mut answer)), [2]);
}

#[test]
fn an_answer_holds_at_most_500_and_says_how_many_remain() {
    let mut place = Place::new();
    for _ in 0..600 {
        place.say(&DONE);
    }
    let batch = batch(&mut place.wait(spec(&["primary"])));
    assert_eq!((batch.items.len(), batch.remaining), (500, 100));
}

#[test]
fn neither_inboxes_nor_sessions_are_remembered_for_ever() {
    let mut place = Place::new();
    place.say(&DONE);
    let got = ids(&batch(&mut place.wait(agent())));
    place.ack(&got);
    let deadline = place.now.mono + Duration::from_secs(5);
    let _unused = place.wait(WaitSpec {
        deadline,
        ..spec(&["never-written-to"])
    });
    place.pass(Duration::from_secs(3600));
    assert!(place.presence.doors.is_empty());
    assert!(place.presence.wakes.is_empty());
}
