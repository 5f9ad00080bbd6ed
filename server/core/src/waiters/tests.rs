use std::time::{Duration, Instant};

use crate::testing::route;
use bytes::Bytes;
use hub_protocol::{
    InboxName, Kind, Priority, ProjectName, Seq, SessionInfo, SessionState, Timestamp, Way,
    WhyWoken,
};
use tokio::sync::oneshot;

use super::*;
use crate::filter::Filter;
use crate::record::{InboxClosed, Notified, Record, SessionSet, SettleReason, Settled, Target};

mod clock;
mod conditions;
mod limits;
mod verdict;

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

/// A wait at the inbox `primary`, with changes.
fn wait_with(change: impl FnOnce(&mut WaitSpec)) -> WaitSpec {
    let mut spec = spec(&["primary"]);
    change(&mut spec);
    spec
}

fn named(as_name: &str) -> WaitSpec {
    wait_with(|it| it.name = Some(as_name.into()))
}

fn agent() -> WaitSpec {
    let mut spec = named("boss:1");
    spec.session = Some(name("boss"));
    spec
}

fn from(from: &'static str) -> Say {
    Say { from, ..DONE }
}

fn of_kind(kind: Kind) -> Say {
    Say { kind, ..DONE }
}

impl Place {
    fn new() -> Self {
        Self {
            state: State::default(),
            presence: Waiters::new(LIMITS, 0, 0, Instant::now()),
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
        let state = say.kind.session_state();
        let mut route = route(say.from, say.kind, self.now.wall);
        route.priority = say.priority;
        route.targets = inboxes.iter().map(target).collect();
        route.session = state.map(|state| (name(say.from), state));
        let json = Bytes::from_static(b"{}");
        self.apply(&Record::Notified(Notified { route, json }));
        let project = ProjectName::default();
        let mut woken = false;
        for inbox in &inboxes {
            let (state, now) = (&self.state, self.now);
            woken |= self.presence.arrived(state, &project, inbox, seq, now);
        }
        woken
            | (self
                .presence
                .session_changed(&self.state, &project, self.now)
                > 0)
    }

    /// Applies a record.
    fn apply(&mut self, record: &Record) {
        self.state.apply(self.state.head() + 1, record);
    }

    /// Waits at the inbox `primary`, and expects a batch at once.
    fn take(&mut self) -> Batch {
        batch(&mut self.wait(spec(&["primary"])))
    }

    /// Waits for 5 seconds at most.
    fn wait_5s(&mut self, mut spec: WaitSpec) -> oneshot::Receiver<Outcome> {
        spec.deadline = self.now.mono + Duration::from_secs(5);
        self.wait(spec)
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
            info: info.into(),
            ..SessionSet::of((&ProjectName::default(), &name(session)), self.now.wall)
        };
        self.apply(&Record::SessionSet(set));
    }

    fn pass(&mut self, time: Duration) {
        self.now.mono += time;
        self.presence.tick(&self.state, self.now);
    }

    fn close(&mut self) {
        self.apply_close();
        self.presence_closed();
    }

    fn apply_close(&mut self) {
        self.apply(&Record::InboxClosed(InboxClosed {
            project: ProjectName::default(),
            inbox: name("primary"),
            at: self.now.wall,
        }));
    }

    fn presence_closed(&mut self) {
        let project = ProjectName::default();
        let inbox = name("primary");
        self.presence.closed(&self.state, &project, &inbox);
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
        self.apply(&Record::Settled(settled));
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
fn any_waiter_replaces_the_hubs_own() {
    let mut place = Place::new();
    let mut pushed = place.wait(wait_with(|it| it.way = Some(Way::FileChanged)));
    let mut own = place.wait(wait_with(|it| it.way = Some(Way::Rewake)));
    assert!(matches!(pushed.try_recv(), Ok(Outcome::TakenOver)));
    let mut refused = place.wait(wait_with(|it| it.way = Some(Way::FileChanged)));
    assert!(matches!(refused.try_recv(), Ok(Outcome::Held { .. })));
    assert!(own.try_recv().is_err(), "it still waits");
}

#[test]
fn pending_items_are_delivered_at_once_by_priority() {
    let mut place = Place::new();
    place.say(&DONE);
    let priority = Priority::Urgent;
    place.say(&Say { priority, ..DONE });
    place.say(&DONE);
    let batch = place.take();
    assert_eq!(ids(&batch), [2, 1, 3]);
    // The lease is ascending.
    assert_eq!(batch.lease, [(name("primary"), vec![1, 2, 3])]);
}

#[test]
fn an_item_that_wakes_nobody_is_delivered_with_the_next_that_does() {
    let mut place = Place::new();
    let mut answer = place.wait(spec(&["primary"]));
    let (wakes, inbox) = (false, "w2");
    for quiet in [Say { wakes, ..DONE }, Say { inbox, ..DONE }] {
        assert!(!place.say(&quiet));
        assert!(waits(&mut answer));
    }
    place.say(&DONE);
    assert_eq!(ids(&batch(&mut answer)), [1, 3], "2 is in another inbox");
}

#[test]
fn a_leased_item_is_not_offered_to_others_until_its_lease_ends() {
    let mut place = Place::new();
    place.say(&DONE);
    place.take();
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
    place.take();
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
fn an_item_in_two_inboxes_is_delivered_once_and_leased_in_both_also_when_it_returns() {
    let mut place = Place::new();
    let inbox = "primary,w1";
    place.say(&Say { inbox, ..DONE });
    let both = spec(&["primary", "w1"]);
    let first = batch(&mut place.wait(both.clone()));
    let mut second = place.wait(both);
    place.pass(Duration::from_secs(31));
    let lease = [(name("primary"), vec![1]), (name("w1"), vec![1])];
    for batch in [first, batch(&mut second)] {
        assert_eq!(ids(&batch), [1]);
        assert_eq!(batch.lease, lease);
    }
}

#[test]
fn broken_waiters_and_acknowledged_items_leave_no_doors_behind() {
    let mut place = Place::new();
    drop(place.wait(spec(&["w9"])));
    place.say(&DONE);
    place.take();
    place.pass(Duration::from_secs(31));
    place.ack(&[1]);
    assert!(place.presence.parked.is_empty());
    assert!(place.presence.slots.is_empty());
}

#[test]
fn a_closed_inbox_leaves_no_door_behind() {
    let mut place = Place::new();
    place.say(&DONE);
    place.take();
    place.pass(Duration::from_secs(31));
    assert!(!place.presence.slots.is_empty());
    place.close();
    assert!(place.presence.slots.is_empty());
}

#[test]
fn what_arrived_in_a_closed_inbox_stays_leased() {
    let mut place = Place::new();
    place.say(&DONE);
    // In one commit with the next notification, which its waiter gets before the inbox's readers learn of the end.
    place.apply_close();
    place.say(&DONE);
    assert_eq!(ids(&place.take()), [3]);
    place.presence_closed();
    assert!(waits(&mut place.wait_5s(spec(&["primary"]))));
}

#[test]
fn what_arrived_in_a_reset_project_stays_leased() {
    let mut place = Place::new();
    place.say(&DONE);
    assert_eq!(ids(&place.take()), [1]);
    let project = ProjectName::default();
    place.presence.dismiss_project(&place.state, &project);
    assert!(waits(&mut place.wait_5s(spec(&["primary"]))));
}

#[test]
fn what_another_reader_has_by_now_is_not_given_back() {
    let mut place = Place::new();
    let named = |name: &str| {
        let mut spec = spec(&["primary"]);
        spec.name = Some(name.into());
        spec
    };
    place.say(&DONE);
    let first = batch(&mut place.wait_5s(named("first")));
    place.pass(Duration::from_secs(31));
    assert_eq!(ids(&batch(&mut place.wait_5s(named("second")))), [1]);
    let project = ProjectName::default();
    let reader = (&project, Some("first"));
    place
        .presence
        .give_back(&place.state, reader, &first.lease, place.now);
    assert!(waits(&mut place.wait_5s(named("third"))));
}

#[test]
fn a_wait_refused_at_one_inbox_does_not_end_an_older_wait() {
    let mut place = Place::new();
    let at = |who: &str, inboxes: &[&str]| {
        let mut spec = spec(inboxes);
        spec.name = Some(who.into());
        spec
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
    assert_eq!(ids(&place.take()), [1]);
}
