//! Conditions of a wait beyond the first arriving item: lulls, barriers and filters.

use super::*;

fn settling() -> WaitSpec {
    wait_with(|it| it.settle = Duration::from_secs(1))
}

/// Waits for sessions or a number of notifications, for 5 seconds at most.
fn barrier(
    place: &mut Place,
    all: &[&str],
    any: &[&str],
    count: usize,
) -> oneshot::Receiver<Outcome> {
    let names = |of: &[&str]| of.iter().map(|it| name(it)).collect();
    let barrier = Barrier {
        all: names(all),
        any: names(any),
        count,
        since: 0,
    };
    place.wait_5s(wait_with(|it| it.barrier = Some(barrier)))
}

#[test]
fn a_settling_waiter_collects_until_a_lull() {
    let mut place = Place::new();
    let mut answer = place.wait(settling());
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
    let mut answer = place.wait(settling());
    for _ in 0..10 {
        place.say(&DONE);
        place.pass(Duration::from_millis(500));
    }
    assert_eq!(batch(&mut answer).items.len(), 10);
}

#[test]
fn a_barrier_waits_for_every_session() {
    let mut place = Place::new();
    let mut answer = barrier(&mut place, &["w1", "w2"], &[], 0);
    place.say(&DONE);
    assert!(waits(&mut answer));
    let mut elsewhere = from("w2");
    elsewhere.inbox = "elsewhere";
    place.say(&elsewhere);
    let batch = batch(&mut answer);
    assert_eq!(batch.why, WhyWoken::Barrier);
    assert!(batch.barrier.unwrap().met);
    let sessions = &place.state.sessions;
    let session = sessions.get(&ProjectName::default(), &name("w2"));
    assert_eq!(session.unwrap().state, Some(SessionState::Complete));
}

#[test]
fn a_barrier_whose_items_are_taken_during_the_lull_waits_on() {
    let mut place = Place::new();
    let mut answer = place.wait_5s(wait_with(|it| {
        it.settle = Duration::from_secs(1);
        it.barrier = Some(Barrier {
            count: 1,
            ..Barrier::default()
        });
    }));
    place.say(&DONE);
    place.ack(&[1]);
    place.pass(Duration::from_secs(1));
    assert!(waits(&mut answer));
    place.say(&DONE);
    place.pass(Duration::from_secs(1));
    assert_eq!(ids(&batch(&mut answer)), [3]);
}

#[test]
fn a_barrier_whose_client_is_gone_ends_when_a_session_changes() {
    let mut place = Place::new();
    drop(barrier(&mut place, &["w1", "w2"], &[], 0));
    assert_eq!(place.presence.parked.len(), 1);
    let project = ProjectName::default();
    place
        .presence
        .session_changed(&place.state, &project, place.now);
    assert!(place.presence.parked.is_empty());
}

#[test]
fn a_barrier_with_any_is_met_by_one_of_several_sessions() {
    let mut place = Place::new();
    let mut answer = barrier(&mut place, &[], &["w1", "w2"], 0);
    place.say(&from("w3"));
    assert!(waits(&mut answer));
    place.say(&from("w2"));
    let batch = batch(&mut answer);
    assert_eq!(batch.why, WhyWoken::Barrier);
    assert_eq!(batch.barrier.unwrap().missing, []);
}

#[test]
fn a_barrier_reports_each_missing_session_once() {
    let mut place = Place::new();
    let mut answer = barrier(&mut place, &["w1", "w3"], &["w1", "w2"], 0);
    place.say(&from("w3"));
    place.pass(Duration::from_secs(5));
    let report = batch(&mut answer).barrier.unwrap();
    assert_eq!(report.missing, [name("w1"), name("w2")]);
}

#[test]
fn a_question_wakes_a_waiter_before_its_barrier_is_met() {
    let mut place = Place::new();
    let mut answer = barrier(&mut place, &["w1", "w2"], &[], 0);
    place.say(&of_kind(Kind::Question));
    let report = batch(&mut answer).barrier.unwrap();
    assert!(!report.met);
    assert_eq!(report.missing, [name("w1"), name("w2")]);
}

#[test]
fn a_barrier_that_times_out_delivers_the_pending_items() {
    let mut place = Place::new();
    let mut answer = barrier(&mut place, &[], &[], 3);
    place.say(&DONE);
    place.pass(Duration::from_secs(5));
    let batch = batch(&mut answer);
    assert_eq!((ids(&batch), batch.why), (vec![1], WhyWoken::Timeout));
}

#[test]
fn a_settling_waiter_waits_on_if_another_reader_acknowledges_its_item() {
    let mut place = Place::new();
    let mut answer = place.wait(settling());
    place.say(&DONE);
    place.ack(&[1]);
    place.pass(Duration::from_secs(2));
    assert!(waits(&mut answer));
    place.say(&DONE);
    place.pass(Duration::from_secs(1));
    assert_eq!(ids(&batch(&mut answer)), [3]);
}

#[test]
fn a_filter_decides_which_items_are_delivered_and_which_wake() {
    let mut place = Place::new();
    let errors = wait_with(|it| it.filter.kinds = Some(vec![Kind::Error]));
    let mut answer = place.wait(errors);
    assert!(!place.say(&DONE));
    place.say(&of_kind(Kind::Error));
    assert_eq!(ids(&batch(&mut answer)), [2]);
}

#[test]
fn a_batch_has_at_most_500_items_and_counts_the_remaining_ones() {
    let mut place = Place::new();
    for _ in 0..600 {
        place.say(&DONE);
    }
    let batch = place.take();
    assert_eq!((batch.items.len(), batch.remaining), (500, 100));
}

#[test]
fn doors_and_wake_logs_are_dropped_when_they_are_no_longer_needed() {
    let mut place = Place::new();
    place.say(&DONE);
    let got = ids(&batch(&mut place.wait(agent())));
    place.ack(&got);
    let _unused = place.wait_5s(spec(&["never-written-to"]));
    place.pass(Duration::from_secs(3600));
    assert!(place.presence.slots.is_empty());
    assert!(place.presence.wakes.is_empty());
}
