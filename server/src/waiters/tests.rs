use std::time::{Duration, Instant};

use bytes::Bytes;
use hub_protocol::{
    InboxName, Kind, Priority, ProjectName, Seq, SessionInfo, SessionState, Timestamp, WhyWoken,
};
use tokio::sync::oneshot;

use super::*;
use crate::core::filter::Filter;
use crate::core::record::{Notified, Record, Route, SessionSet, SettleReason, Settled, Target};

mod conditions;
mod limits;

const LIMITS: WakeLimits = WakeLimits {
    per_sender_per_minute: 2,
    per_hour: 60,
};

/// A fold, its presence, and a clock that only the test moves.
struct Place {
    state: State,
    presence: Waiters,
    now: Now,
}

/// The properties of a test notification.
struct Say {
    /// The target inbox, or several separated by commas.
    inbox: &'static str,
    from: &'static str,
    kind: Kind,
    priority: Priority,
    wakes: bool,
}

const DONE: Say = Say {
    inbox: "primary",
    from: "w1",
    kind: Kind::Complete,
    priority: Priority::Normal,
    wakes: true,
};

fn name(text: &str) -> InboxName {
    text.parse().unwrap()
}

fn spec(inboxes: &[&str]) -> WaitSpec {
    WaitSpec {
        project: ProjectName::default(),
        inboxes: inboxes.iter().map(|inbox| name(inbox)).collect(),
        own: false,
        name: None,
        session: None,
        way: None,
        room: super::MAX_BYTES,
        filter: Filter::default(),
        barrier: None,
        settle: Duration::ZERO,
        deadline: Instant::now() + Duration::from_secs(86_400),
        drain: false,
        takeover: false,
    }
}

fn named(as_name: &str) -> WaitSpec {
    WaitSpec {
        name: Some(as_name.into()),
        ..spec(&["primary"])
    }
}

fn agent() -> WaitSpec {
    WaitSpec {
        session: Some(name("boss")),
        ..named("boss:1")
    }
}

impl Place {
    fn new() -> Self {
        Self {
            state: State::default(),
            presence: Waiters::new(LIMITS, 0),
            now: Now::read(),
        }
    }

    fn say(&mut self, say: &Say) -> bool {
        let seq = self.state.head() + 1;
        let inboxes: Vec<InboxName> = say.inbox.split(',').map(name).collect();
        let target = |inbox: &InboxName| Target {
            inbox: inbox.clone(),
            wakes: say.wakes,
        };
        let route = Route {
            project: ProjectName::default(),
            from: name(say.from),
            kind: say.kind,
            priority: say.priority,
            ts: self.now.wall,
            expires_at: self.now.wall.plus_millis(86_400_000),
            targets: inboxes.iter().map(target).collect(),
            key: None,
            session: say
                .kind
                .session_state()
                .map(|state| (name(say.from), state)),
            hops: 0,
        };
        let json = Bytes::from_static(b"{}");
        self.state
            .apply(seq, &Record::Notified(Notified { route, json }));
        let project = ProjectName::default();
        let mut woken = false;
        for inbox in &inboxes {
            let (state, now) = (&self.state, self.now);
            woken |= self.presence.arrived(state, &project, inbox, seq, now);
        }
        woken | (self.presence.session_changed(&self.state, self.now) > 0)
    }

    fn wait(&mut self, spec: WaitSpec) -> oneshot::Receiver<Outcome> {
        let (reply, answer) = oneshot::channel();
        self.presence.arm(&self.state, spec, reply, self.now);
        answer
    }

    /// Registers a session, perhaps as the worker of `parent`.
    fn register(&mut self, session: &str, parent: Option<&str>) {
        let info = SessionInfo {
            parent: parent.map(name),
            ..SessionInfo::default()
        };
        let set = SessionSet {
            project: ProjectName::default(),
            session: name(session),
            info,
            alias: None,
            hooks: false,
            at: self.now.wall,
        };
        let seq = self.state.head() + 1;
        self.state.apply(seq, &Record::SessionSet(set));
    }

    fn pass(&mut self, time: Duration) {
        self.now.mono += time;
        self.presence.tick(&self.state, self.now);
    }

    fn ack(&mut self, ids: &[Seq]) {
        let project = ProjectName::default();
        let settled = Settled {
            ids: ids.to_vec(),
            inbox: Some((project.clone(), name("primary"))),
            how: SettleReason::Acked,
            by: None,
            at: Timestamp::default(),
        };
        self.state
            .apply(self.state.head() + 1, &Record::Settled(settled));
        self.presence.settled(&project, &name("primary"), ids);
    }
}

fn batch(answer: &mut oneshot::Receiver<Outcome>) -> Batch {
    match answer.try_recv() {
        Ok(Outcome::Batch(batch)) => batch,
        other => panic!("no batch: {other:?}"),
    }
}

fn ids(batch: &Batch) -> Vec<Seq> {
    batch.items.iter().map(|item| item.id).collect()
}

fn waits(answer: &mut oneshot::Receiver<Outcome>) -> bool {
    matches!(answer.try_recv(), Err(oneshot::error::TryRecvError::Empty))
}

#[test]
fn a_waiter_is_woken_by_an_arriving_item_and_told_why() {
    let mut place = Place::new();
    let mut answer = place.wait(spec(&["primary"]));
    assert!(place.say(&DONE));
    let why = WhyWoken::Arrived {
        id: 1,
        from: name("w1"),
        kind: Kind::Complete,
    };
    assert_eq!(batch(&mut answer).why, why);
}

#[test]
fn pending_items_are_delivered_at_once_by_priority() {
    let mut place = Place::new();
    place.say(&DONE);
    place.say(&Say {
        priority: Priority::Urgent,
        ..DONE
    });
    place.say(&DONE);
    let batch = batch(&mut place.wait(spec(&["primary"])));
    assert_eq!(ids(&batch), [2, 1, 3]);
    assert_eq!(
        batch.lease,
        [(name("primary"), vec![1, 2, 3])],
        "the lease is ascending"
    );
}

#[test]
fn an_item_that_wakes_nobody_is_delivered_with_the_next_that_does() {
    let mut place = Place::new();
    let mut answer = place.wait(spec(&["primary"]));
    assert!(!place.say(&Say {
        wakes: false,
        ..DONE
    }));
    assert!(waits(&mut answer));
    place.say(&DONE);
    assert_eq!(ids(&batch(&mut answer)), [1, 2]);
}

#[test]
fn a_waiter_is_not_woken_by_an_item_in_another_inbox() {
    let mut place = Place::new();
    let mut answer = place.wait(spec(&["primary"]));
    assert!(!place.say(&Say {
        inbox: "w2",
        ..DONE
    }));
    assert!(waits(&mut answer));
}

#[test]
fn a_leased_item_is_not_offered_to_others_until_its_lease_ends() {
    let mut place = Place::new();
    place.say(&DONE);
    batch(&mut place.wait(spec(&["primary"])));
    let mut second = place.wait(spec(&["primary"]));
    assert!(waits(&mut second));
    place.pass(Duration::from_secs(31));
    let again = batch(&mut second);
    assert_eq!(ids(&again), [1]);
    assert!(again.items[0].redelivered);
    assert_eq!(again.why, WhyWoken::Returned);
}

#[test]
fn an_acknowledged_item_is_not_offered_again() {
    let mut place = Place::new();
    place.say(&DONE);
    batch(&mut place.wait(spec(&["primary"])));
    place.ack(&[1]);
    let mut second = place.wait(spec(&["primary"]));
    place.pass(Duration::from_secs(31));
    assert!(waits(&mut second));
}

#[test]
fn a_reader_that_waits_again_gets_its_unacknowledged_items() {
    let mut place = Place::new();
    place.say(&DONE);
    batch(&mut place.wait(named("me")));
    let again = batch(&mut place.wait(named("me")));
    assert!(again.items[0].redelivered);
}

#[test]
fn a_returned_item_is_leased_again_in_all_of_its_inboxes() {
    let mut place = Place::new();
    place.say(&Say {
        inbox: "primary,w1",
        ..DONE
    });
    let both = spec(&["primary", "w1"]);
    batch(&mut place.wait(both.clone()));
    let mut second = place.wait(both);
    place.pass(Duration::from_secs(31));
    let again = batch(&mut second);
    let lease = [(name("primary"), vec![1]), (name("w1"), vec![1])];
    assert_eq!(again.lease, lease);
}

#[test]
fn broken_waiters_and_acknowledged_items_leave_no_doors_behind() {
    let mut place = Place::new();
    drop(place.wait(spec(&["w9"])));
    place.say(&DONE);
    batch(&mut place.wait(spec(&["primary"])));
    place.pass(Duration::from_secs(31));
    place.ack(&[1]);
    assert!(place.presence.parked.is_empty());
    assert!(place.presence.slots.is_empty());
}

#[test]
fn a_closed_inbox_leaves_no_door_behind() {
    let mut place = Place::new();
    place.say(&DONE);
    batch(&mut place.wait(spec(&["primary"])));
    place.pass(Duration::from_secs(31));
    let project = ProjectName::default();
    assert!(!place.presence.slots.is_empty());
    place.presence.closed(&project, &name("primary"));
    assert!(place.presence.slots.is_empty());
}

#[test]
fn a_wait_refused_at_one_inbox_does_not_end_an_older_wait() {
    let mut place = Place::new();
    let at = |who: &str, inboxes: &[&str]| WaitSpec {
        name: Some(who.into()),
        ..spec(inboxes)
    };
    let mut mine = place.wait(at("me", &["a"]));
    let mut theirs = place.wait(at("other", &["b"]));
    let refused = place.wait(at("me", &["a", "b"])).try_recv();
    assert!(matches!(refused, Ok(Outcome::Held { .. })));
    assert!(waits(&mut mine) && waits(&mut theirs));
}

#[test]
fn an_item_for_a_disconnected_waiter_is_offered_to_the_next_at_once() {
    let mut place = Place::new();
    drop(place.wait(spec(&["primary"])));
    place.say(&DONE);
    assert_eq!(ids(&batch(&mut place.wait(spec(&["primary"])))), [1]);
}

#[test]
fn a_second_waiter_is_refused_and_told_who_holds_the_inbox() {
    let mut place = Place::new();
    let mut first = place.wait(named("first"));
    match place.wait(named("second")).try_recv() {
        Ok(Outcome::Held { inbox, holder }) => {
            assert_eq!(inbox, name("primary"));
            assert_eq!(holder.name.as_deref(), Some("first"));
        }
        other => panic!("not held: {other:?}"),
    }
    assert!(waits(&mut first));
}

#[test]
fn a_takeover_ends_the_other_wait_and_reports_why() {
    let mut place = Place::new();
    let mut first = place.wait(named("first"));
    let mut second = place.wait(WaitSpec {
        takeover: true,
        ..named("second")
    });
    assert!(matches!(first.try_recv(), Ok(Outcome::TakenOver)));
    assert!(waits(&mut second));
}

#[test]
fn a_waiter_whose_connection_breaks_frees_its_inbox() {
    let mut place = Place::new();
    drop(place.wait(named("first")));
    assert!(waits(&mut place.wait(named("second"))));
}

#[test]
fn a_wait_ends_empty_at_its_deadline() {
    let mut place = Place::new();
    let deadline = place.now.mono + Duration::from_secs(5);
    let mut answer = place.wait(WaitSpec {
        deadline,
        ..spec(&["primary"])
    });
    place.pass(Duration::from_secs(5));
    assert!(matches!(answer.try_recv(), Ok(Outcome::Empty)));
}
