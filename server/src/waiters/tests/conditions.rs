//! Conditions of a wait beyond the first arriving item: lulls, barriers and filters.

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
fn a_busy_inbox_delays_a_settling_waiter_for_five_seconds_at_most() {
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
        ..Barrier::default()
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
fn a_barrier_with_any_is_met_by_one_of_several_sessions() {
    let mut place = Place::new();
    let barrier = Some(Barrier {
        any: vec![name("w1"), name("w2")],
        ..Barrier::default()
    });
    let mut answer = place.wait(WaitSpec {
        barrier,
        ..spec(&["primary"])
    });
    place.say(&Say { from: "w3", ..DONE });
    assert!(waits(&mut answer));
    place.say(&Say { from: "w2", ..DONE });
    let batch = batch(&mut answer);
    assert_eq!(batch.why, WhyWoken::Barrier);
    assert_eq!(batch.barrier.unwrap().missing, []);
}

#[test]
fn a_barrier_reports_each_missing_session_once() {
    let mut place = Place::new();
    let deadline = place.now.mono + Duration::from_secs(5);
    let barrier = Some(Barrier {
        all: vec![name("w1"), name("w3")],
        any: vec![name("w1"), name("w2")],
        ..Barrier::default()
    });
    let mut answer = place.wait(WaitSpec {
        barrier,
        deadline,
        ..spec(&["primary"])
    });
    place.say(&Say { from: "w3", ..DONE });
    place.pass(Duration::from_secs(5));
    let report = batch(&mut answer).barrier.unwrap();
    assert_eq!(report.missing, [name("w1"), name("w2")]);
}

#[test]
fn a_question_wakes_a_waiter_before_its_barrier_is_met() {
    let mut place = Place::new();
    let barrier = Some(Barrier {
        all: vec![name("w1"), name("w2")],
        ..Barrier::default()
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
fn a_barrier_that_times_out_delivers_the_pending_items() {
    let mut place = Place::new();
    let barrier = Some(Barrier {
        count: 3,
        ..Barrier::default()
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
fn a_sessions_wait_ends_at_its_deadline() {
    let mut place = Place::new();
    let deadline = place.now.mono + Duration::from_secs(5);
    let mut answer = place.wait(WaitSpec {
        deadline,
        ..agent()
    });
    place.pass(Duration::from_secs(5));
    assert!(matches!(answer.try_recv(), Ok(Outcome::Empty)));
}

#[test]
fn a_settling_waiter_waits_on_if_another_reader_acknowledges_its_item() {
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
fn an_item_in_two_inboxes_is_delivered_once_and_leased_in_both() {
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
fn a_filter_decides_which_items_are_delivered_and_which_wake() {
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
fn a_batch_has_at_most_500_items_and_counts_the_remaining_ones() {
    let mut place = Place::new();
    for _ in 0..600 {
        place.say(&DONE);
    }
    let batch = batch(&mut place.wait(spec(&["primary"])));
    assert_eq!((batch.items.len(), batch.remaining), (500, 100));
}

#[test]
fn doors_and_wake_logs_are_dropped_when_they_are_no_longer_needed() {
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
    assert!(place.presence.slots.is_empty());
    assert!(place.presence.wakes.is_empty());
}
