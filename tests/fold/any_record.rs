//! The fold takes in whatever a log may hold, also what it would never have decided.

use hub_protocol::{InboxName, Kind, Priority, ProjectName, Seq, SessionState, Timestamp};
use hubd::record::{
    Carried, ClockMoved, How, InboxClosed, KeyUsed, Notified, Record, Reset, Route, Seen, Settled,
    Target, Trimmed,
};
use hubd::state::State;
use proptest::prelude::*;
use proptest::sample::select;

use super::property::config;

fn record() -> impl Strategy<Value = Record> {
    prop_oneof![
        4 => route().prop_map(|route| Record::Notified(Notified { route, json: "{}".into() })),
        2 => (ids(), prop::option::of((project(), inbox())), how()).prop_map(|(ids, inbox, how)| {
            Record::Settled(Settled { ids, inbox, how, by: None, at: time(0) })
        }),
        1 => (ids(), prop::option::of(any::<Seq>()), any::<bool>())
            .prop_map(|(ids, up_to, seen)| Record::Seen(Seen { ids, up_to, seen, at: time(0) })),
        1 => (project(), inbox())
            .prop_map(|(project, inbox)| Record::InboxClosed(InboxClosed { project, inbox, at: time(0) })),
        1 => (select(vec!["a", "b"]), ids(), any::<i64>()).prop_map(|(key, ids, at)| {
            Record::KeyUsed(KeyUsed { key: key.into(), digest: String::new(), ids, at: time(at) })
        }),
        1 => any::<i64>().prop_map(|delta_ms| Record::ClockMoved(ClockMoved { delta_ms, at: time(0) })),
        1 => id().prop_map(|id| Record::Carried(Carried { id, json: "{}".into() })),
        1 => id().prop_map(|below| Record::Trimmed(Trimmed { below, at: time(0) })),
        1 => project().prop_map(|project| Record::Reset(Reset { project, at: time(0) })),
    ]
}

fn route() -> impl Strategy<Value = Route> {
    let target = (inbox(), any::<bool>()).prop_map(|(inbox, wakes)| Target { inbox, wakes });
    let targets = prop::collection::vec(target, 0..3);
    (project(), inbox(), targets, any::<bool>(), any::<i64>()).prop_map(
        |(project, from, targets, keyed, expires_at)| Route {
            project,
            kind: Kind::Error,
            priority: if keyed { Priority::High } else { Priority::Low },
            ts: time(0),
            expires_at: time(expires_at),
            targets,
            key: keyed.then(|| "key".into()),
            session: Some((from.clone(), SessionState::Error)),
            from,
            hops: 0,
        },
    )
}

fn id() -> impl Strategy<Value = Seq> {
    prop_oneof![9 => 0..20u64, 1 => any::<Seq>()]
}

fn ids() -> impl Strategy<Value = Vec<Seq>> {
    prop::collection::vec(id(), 0..4)
}

fn how() -> impl Strategy<Value = How> {
    select(vec![How::Acked, How::Expired, How::Withdrawn])
}

fn project() -> impl Strategy<Value = ProjectName> {
    select(vec!["p", "q"]).prop_map(|name| name.parse().unwrap())
}

fn inbox() -> impl Strategy<Value = InboxName> {
    select(vec!["a", "b"]).prop_map(|name| name.parse().unwrap())
}

fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_the_log_holds_is_taken_in(records in prop::collection::vec(record(), 0..24)) {
        let mut state = State::default();
        for (seq, record) in (1..).zip(&records) {
            state.apply(seq, record);
            let snapshot = serde_json::to_vec(&state).unwrap();
            prop_assert_eq!(&serde_json::from_slice::<State>(&snapshot).unwrap(), &state);
        }
        for project in ["p", "q"] {
            let project = project.parse().unwrap();
            state.apply(state.head() + 1, &Record::Reset(Reset { project, at: time(0) }));
        }
        prop_assert_eq!(state.inboxes(None).count(), 0);
        prop_assert_eq!(state.next_deadline(), None);
        prop_assert_eq!(state.pending_below(Seq::MAX), []);
    }
}
