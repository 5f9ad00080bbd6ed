//! The fold accepts any records that a log may contain, including those that it would never have decided.

use hub_core::fold::State;
use hub_core::record::{
    ClockMoved, Emitted, Escalated, ForwardNoted, InboxClosed, KeyUsed, Led, ListenerEnd,
    ListenerRemoved, ListenerSet, NeedClosed, Notified, PreferencesSet, PrimaryTaken,
    QuestionClaimed, QuestionSettled, Record, Reset, Returned, Rewritten, Route, RuleAction,
    RuleFired, RuleNote, RuleNoted, Seen, SessionEnded, SessionSet, SettleReason, Settled, Target,
    Trimmed, Turn, TurnCause, TurnNoted,
};
use hub_protocol::{
    Alert, InboxName, Kind, Mute, PhaseName, Preferences, Priority, ProjectName, QuestionState,
    Seq, SessionInfo, SessionState, Timestamp, Way,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::property::config;

fn record() -> impl Strategy<Value = Record> {
    prop_oneof![
        4 => about_inboxes(),
        2 => about_sessions(),
        1 => about_listeners(),
        1 => about_questions(),
        1 => about_receipts(),
        1 => preferences(),
        2 => about_rules(),
        1 => (id(), prop::option::of(Just("m1".to_owned()))).prop_map(|(up_to, answer)| {
            let (name, up_to, at) = ("phone".into(), Some(up_to), time(0));
            Record::ForwardNoted(ForwardNoted { name, up_to, answer, at })
        }),
    ]
}

fn about_sessions() -> impl Strategy<Value = Record> {
    prop_oneof![
        2 => (place(), info(), prop::option::of(inbox()), any::<bool>(), any::<Option<bool>>(), any::<i64>()).prop_map(
            |((project, session), info, alias, hooks, runs, at)| {
                let (info, at) = (info.into(), time(at));
                Record::SessionSet(SessionSet { project, session, info, alias, hooks, runs, also: None, left: None, acp: false, at })
            }
        ),
        2 => (place(), turn(), any::<i64>()).prop_map(|((project, session), turn, at)| {
            let (evidence, at) = ("Test hook".into(), time(at));
            Record::TurnNoted(TurnNoted { project, session, turn, evidence, at })
        }),
        1 => (place(), any::<i64>(), any::<bool>()).prop_map(|((project, session), at, ended)| {
            Record::SessionEnded(SessionEnded { project, session, at: time(at), ended })
        }),
        1 => (place(), any::<i64>(), prop::option::of(any::<i64>())).prop_map(|((project, session), at, until)| {
            Record::NeedClosed(NeedClosed { project, session, until: until.map(time), at: time(at) })
        }),
        1 => place().prop_map(|(project, session)| {
            Record::PrimaryTaken(PrimaryTaken { project, session, at: time(0) })
        }),
    ]
}

fn info() -> impl Strategy<Value = SessionInfo> {
    let name = prop::option::of(select(vec!["a", "b", "c"]));
    (name, prop::option::of(inbox())).prop_map(|(name, parent)| SessionInfo {
        name: name.map(str::to_owned),
        parent,
        ..SessionInfo::default()
    })
}

fn turn() -> impl Strategy<Value = Turn> {
    let by = select(vec![
        TurnCause::Person,
        TurnCause::Wake,
        TurnCause::Task,
        TurnCause::Peer,
        TurnCause::Timeout,
        TurnCause::Agent,
    ]);
    let tasks = prop::collection::vec(Just("b1".to_owned()), 0..2);
    prop_oneof![
        (by, prop::option::of(any::<Seq>())).prop_map(|(by, first)| Turn::Began { by, first }),
        (
            tasks,
            any::<bool>(),
            any::<Option<bool>>(),
            any::<Option<String>>()
        )
            .prop_map(|(tasks, silent, acted, said)| Turn::Stopped {
                tasks,
                silent,
                acted,
                said,
            }),
        Just("rate_limit".to_owned()).prop_map(|reason| Turn::Failed {
            reason,
            until: None,
            resumes: false,
        }),
        Just(Turn::Attributed {
            by: TurnCause::Peer
        }),
        any::<bool>().prop_map(|on| Turn::Resumes { on }),
    ]
}

fn about_listeners() -> impl Strategy<Value = Record> {
    let why = prop_oneof![
        id().prop_map(|cause| ListenerEnd::Fired { cause }),
        select(vec![
            ListenerEnd::Late,
            ListenerEnd::Removed,
            ListenerEnd::CallerEnded
        ]),
    ];
    prop_oneof![
        1 => (place(), inbox(), prop::option::of(any::<i64>())).prop_map(|((project, target), caller, until)| {
            Record::ListenerSet(ListenerSet { project, target, caller, until: until.map(time), at: time(0) })
        }),
        1 => (place(), inbox(), why).prop_map(|((project, target), caller, why)| {
            Record::ListenerRemoved(ListenerRemoved { project, target, caller, why, at: time(0) })
        }),
    ]
}

fn about_questions() -> impl Strategy<Value = Record> {
    use QuestionState::{Answered, Claimed, Expired, Open, Superseded, Withdrawn};
    let state = select(vec![
        Open, Claimed, Answered, Withdrawn, Superseded, Expired,
    ]);
    prop_oneof![
        1 => id().prop_map(|id| Record::QuestionClaimed(QuestionClaimed { id, by: "a".into(), at: time(0) })),
        1 => (id(), state, prop::option::of(id())).prop_map(|(id, state, answer)| {
            let by = answer.map(|_| "a".into());
            Record::QuestionSettled(QuestionSettled { id, state, by, answer, at: time(0) })
        }),
    ]
}

fn about_receipts() -> impl Strategy<Value = Record> {
    let way = select(Way::ALL.to_vec());
    prop_oneof![
        2 => (place(), ids(), way, any::<i64>()).prop_map(|((project, inbox), ids, way, at)| {
            let at = time(at);
            Record::Emitted(Emitted { project, inbox, ids, way, by: None, at })
        }),
        2 => (place(), ids(), prop::option::of("[ -~]{0,20}"), any::<i64>()).prop_map(|((project, inbox), ids, why, at)| {
            Record::Returned(Returned { project, inbox, ids, why, at: time(at) })
        }),
        1 => (place(), ids()).prop_map(|((project, inbox), ids)| {
            Record::Escalated(Escalated { project, inbox, ids, at: time(0) })
        }),
    ]
}

fn about_rules() -> impl Strategy<Value = Record> {
    let rule = || select(vec!["r", "s"]).prop_map(str::to_owned);
    let at = || prop::option::of(any::<i64>()).prop_map(|at| at.map(time));
    let note = prop_oneof![
        Just(RuleNote::Began),
        (id(), prop::option::of(id())).prop_map(|(firing, notification)| RuleNote::Started {
            firing,
            notification
        }),
        (id(), prop::option::of(id())).prop_map(|(firing, notification)| RuleNote::Failed {
            firing,
            notification,
            why: "killed after 60 s".into()
        }),
        (id(), id(), prop::option::of(id())).prop_map(|(firing, notification, made)| {
            RuleNote::Escalated {
                firing,
                notification,
                made,
            }
        }),
    ];
    prop_oneof![
        2 => (rule(), place(), prop::option::of(id()), at(), at(), at()).prop_map(
            |(rule, (project, session), notification, stay, quiet_until, escalate)| {
                Record::RuleFired(RuleFired {
                    rule,
                    project,
                    session,
                    notification,
                    stay: stay.map(|since| (PhaseName::Blocked, since)),
                    actions: vec![RuleAction::Run, RuleAction::Escalate],
                    forward: None,
                    made: None,
                    quiet_until,
                    escalate: escalate.map(|at| (at, "text".into())),
                    at: time(0),
                })
            }
        ),
        1 => (rule(), note).prop_map(|(rule, note)| {
            Record::RuleNoted(RuleNoted { rule, note, at: time(0) })
        }),
    ]
}

fn preferences() -> impl Strategy<Value = Record> {
    let alert = select(vec![Alert::Blocked, Alert::NeedsYou]);
    (prop::collection::btree_set(alert, 0..3), place()).prop_map(|(notify, (project, session))| {
        let mute = Mute {
            project,
            session: Some(session),
            until: None,
        };
        let preferences = Preferences {
            mutes: vec![mute],
            notify,
            ..Preferences::default()
        };
        Record::PreferencesSet(PreferencesSet {
            preferences,
            at: time(0),
        })
    })
}

fn place() -> impl Strategy<Value = (ProjectName, InboxName)> {
    (project(), inbox())
}

fn about_inboxes() -> impl Strategy<Value = Record> {
    prop_oneof![
        4 => route().prop_map(|route| Record::Notified(Notified { route, json: "{}".into() })),
        2 => (ids(), prop::option::of((project(), inbox())), how()).prop_map(|(ids, inbox, how)| {
            Record::Settled(Settled { ids, inbox, how, by: None, at: time(0) })
        }),
        1 => (ids(), prop::option::of(any::<Seq>()), any::<(Seq, Seq)>(), any::<bool>()).prop_map(|(ids, up_to, range, seen)| {
            Record::Seen(Seen { ids, up_to, ranges: vec![range], seen, at: time(0) })
        }),
        1 => (project(), inbox())
            .prop_map(|(project, inbox)| Record::InboxClosed(InboxClosed { project, inbox, at: time(0) })),
        1 => (select(vec!["a", "b"]), ids(), any::<i64>()).prop_map(|(key, ids, at)| {
            Record::KeyUsed(KeyUsed { key: key.into(), digest: String::new(), ids, at: time(at) })
        }),
        1 => any::<i64>().prop_map(|delta_ms| Record::ClockMoved(ClockMoved { delta_ms, at: time(0) })),
        1 => select(vec!["a", "b"]).prop_map(|node| Record::Led(Led { node: node.into(), at: time(0) })),
        1 => id().prop_map(|id| Record::Rewritten(Rewritten { id, json: "{}".into() })),
        1 => id().prop_map(|below| Record::Trimmed(Trimmed { below, at: time(0) })),
        1 => (project(), any::<bool>()).prop_map(|(project, history)| {
            Record::Reset(Reset { project, history, at: time(0) })
        }),
    ]
}

fn route() -> impl Strategy<Value = Route> {
    let target = (inbox(), any::<bool>()).prop_map(|(inbox, wakes)| Target { inbox, wakes });
    let targets = prop::collection::vec(target, 0..3);
    let kind = select(vec![
        Kind::Error,
        Kind::Question,
        Kind::Approval,
        Kind::Ended,
    ]);
    (place(), kind, targets, any::<bool>(), any::<i64>()).prop_map(
        |((project, from), kind, targets, keyed, expires_at)| Route {
            project,
            kind,
            priority: if keyed { Priority::High } else { Priority::Low },
            ts: time(0),
            expires_at: time(expires_at),
            targets,
            key: keyed.then(|| "key".into()),
            session: Some((
                from.clone(),
                kind.session_state().unwrap_or(SessionState::Error),
            )),
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

fn how() -> impl Strategy<Value = SettleReason> {
    select(vec![
        SettleReason::Acked,
        SettleReason::Expired,
        SettleReason::Withdrawn,
    ])
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
    fn any_log_can_be_folded_snapshotted_and_reset(records in prop::collection::vec(record(), 0..24)) {
        let mut state = State::default();
        for (seq, record) in (1..).zip(&records) {
            let (kind, payload) = record.encode();
            prop_assert_eq!(&Record::decode(kind, &payload).unwrap(), record);
            state.apply(seq, record);
            let snapshot = serde_json::to_vec(&state).unwrap();
            let read: State = serde_json::from_slice(&snapshot).unwrap();
            prop_assert_eq!(&read, &state);
            prop_assert_eq!(read.next_deadline(), state.next_deadline());
        }
        for project in ["p", "q"] {
            let project = project.parse().unwrap();
            let reset = Reset { project, history: true, at: time(0) };
            state.apply(state.head() + 1, &Record::Reset(reset));
        }
        prop_assert_eq!(state.inboxes.iter(None).count(), 0);
        prop_assert_eq!(state.sessions.iter(None).count(), 0);
        prop_assert_eq!(state.questions.all().count(), 0);
        prop_assert_eq!(state.next_deadline(), None);
        prop_assert_eq!(state.needed_below(Seq::MAX), []);
    }
}
