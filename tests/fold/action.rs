//! Random actions on a hub.

use hub_core::command::AgentEvent;
use hub_core::notification::Draft;
use hub_core::record::TurnCause;
use hub_protocol::{InboxName, Kind, Priority, ProjectName, Timestamp, Way};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::model::Pair;

/// One action.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    Notify {
        /// Drafts whose expiry is a time to live.
        drafts: Vec<Draft>,
        once: Option<(&'static str, &'static str)>,
    },
    /// A reader leases the first items of an inbox.
    Lease(ProjectName, InboxName, usize),
    /// The lease expires, or another reader takes over: its items are offered again.
    Release(ProjectName, InboxName),
    /// The reader acknowledges what it leased.
    AckLeased(ProjectName, InboxName),
    /// A reader acknowledges these ids, pending or not.
    AckIds(ProjectName, InboxName, Vec<Index>),
    /// A reader acknowledges an id that was never published.
    AckUnknown(ProjectName, InboxName),
    Withdraw(Vec<Index>),
    WithdrawKey(ProjectName, Option<InboxName>, &'static str),
    Seen {
        ids: Vec<Index>,
        up_to: Option<Index>,
        seen: bool,
    },
    Close(ProjectName, InboxName),
    /// Resets a project; with `true`, its history is hidden too.
    Reset(ProjectName, bool),
    /// Trims the log's prefix; with `evict`, every other pending notification in it is evicted.
    Trim {
        below: Index,
        evict: bool,
    },
    /// Advances the clock by milliseconds.
    Pass(i64),
    Tick,
    /// Advances the clock to the next deadline, and ticks.
    Due,
    ClockMoved(i64),
    /// A caller answers an id that may be a question.
    Answer(Index, InboxName, bool),
    Listen {
        pair: Pair,
        within_ms: Option<i64>,
        fresh: bool,
    },
    Unlisten(Pair),
    /// An agent's hook event.
    Hook(InboxName, AgentEvent),
    /// The reader of a session shows its leased items in this way.
    Show(InboxName, Way),
    Claim(Index, InboxName),
    WithdrawQuestion(Index, InboxName),
    /// A session has been in a phase since so many milliseconds ago, for as long as a rule says.
    Lasted(InboxName, i64),
    /// The program of the oldest firing is about to start.
    StartProgram,
    /// The committed records become durable, and their publishers are answered.
    Sync,
    /// Power is lost: records that were not durable are gone, and so is every lease.
    Crash,
    /// Takes a snapshot of the durable state.
    Snapshot,
    /// The hub restarts from its snapshot.
    Restart,
}

/// A text that misleads a search for a priority.
pub(crate) const TEXT: &str = r#""priority":"low""#;
const SECOND: i64 = 1000;
const HOUR: i64 = 3600 * SECOND;

pub(crate) fn actions() -> impl Strategy<Value = Vec<Action>> {
    prop::collection::vec(action(), 1..96)
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        16 => (prop::collection::vec(draft(), 1..4), prop::option::weighted(0.3, once()))
            .prop_map(|(drafts, once)| Action::Notify { drafts, once }),
        4 => (project(), inbox(), 1..4usize).prop_map(|(p, i, n)| Action::Lease(p, i, n)),
        2 => (project(), inbox()).prop_map(|(p, i)| Action::Release(p, i)),
        4 => (project(), inbox()).prop_map(|(p, i)| Action::AckLeased(p, i)),
        3 => (project(), inbox(), indexes()).prop_map(|(p, i, ids)| Action::AckIds(p, i, ids)),
        1 => (project(), inbox()).prop_map(|(p, i)| Action::AckUnknown(p, i)),
        1 => indexes().prop_map(Action::Withdraw),
        1 => (project(), prop::option::of(inbox()), key())
            .prop_map(|(p, from, key)| Action::WithdrawKey(p, from, key)),
        2 => (indexes(), prop::option::of(any::<Index>()), any::<bool>())
            .prop_map(|(ids, up_to, seen)| Action::Seen { ids, up_to, seen }),
        1 => (project(), inbox()).prop_map(|(p, i)| Action::Close(p, i)),
        1 => (project(), any::<bool>()).prop_map(|(p, history)| Action::Reset(p, history)),
        2 => (any::<Index>(), any::<bool>()).prop_map(|(below, evict)| Action::Trim { below, evict }),
        3 => select(vec![1, SECOND, 10 * SECOND, 61 * SECOND, HOUR, 25 * HOUR]).prop_map(Action::Pass),
        3 => Just(Action::Tick),
        2 => Just(Action::Due),
        6 => (pair(), prop::option::of(select(vec![1, SECOND, HOUR])), any::<bool>())
            .prop_map(|(pair, within_ms, fresh)| Action::Listen { pair, within_ms, fresh }),
        1 => pair().prop_map(Action::Unlisten),
        4 => (any::<Index>(), sender(), any::<bool>())
            .prop_map(|(pick, by, may)| Action::Answer(pick, by, may)),
        2 => (any::<Index>(), sender()).prop_map(|(pick, by)| Action::Claim(pick, by)),
        8 => (agent(), happened()).prop_map(|(id, happened)| Action::Hook(id, happened)),
        4 => (agent(), select(Way::ALL.to_vec()))
            .prop_map(|(id, way)| Action::Show(id, way)),
        1 => (any::<Index>(), sender()).prop_map(|(pick, by)| Action::WithdrawQuestion(pick, by)),
        1 => select(vec![-25 * HOUR, -90 * SECOND, 90 * SECOND, 365 * 24 * HOUR])
            .prop_map(Action::ClockMoved),
        2 => (agent(), select(vec![0, SECOND, HOUR])).prop_map(|(id, ago)| Action::Lasted(id, ago)),
        1 => Just(Action::StartProgram),
        6 => Just(Action::Sync),
        2 => Just(Action::Crash),
        2 => Just(Action::Snapshot),
        2 => Just(Action::Restart),
    ]
}

fn draft() -> impl Strategy<Value = Draft> {
    let who = (
        project(),
        sender(),
        prop::option::weighted(0.4, target()),
        prop::option::weighted(0.3, inbox()),
        prop::option::weighted(0.2, inbox()),
    );
    let what = (select(Kind::ALL.to_vec()), any::<bool>(), priority());
    let how = (
        prop::option::weighted(0.5, key()),
        prop_oneof![4 => Just(0u32), 1 => 7..11u32],
        prop_oneof![1 => Just(-SECOND), 9 => select(vec![1, 5 * SECOND, HOUR, 7 * 24 * HOUR])],
        prop::bool::weighted(0.1),
    );
    (who, what, how).prop_map(|(who, what, how)| {
        let (project, from, to, parent, session) = who;
        let (kind, explicit_kind, priority) = what;
        let (key, hops, ttl_ms, quiet) = how;
        // Most answers become messages, because a refused answer makes the hub refuse its whole batch.
        let kind = if kind == Kind::Answer && hops == 0 {
            Kind::Message
        } else {
            kind
        };
        let (ts, text) = (Timestamp::default(), TEXT.to_owned());
        let mut draft = Draft::new((&project, &from), kind, text, ts, ttl_ms);
        (draft.explicit_kind, draft.quiet) = (explicit_kind, quiet);
        let it = &mut draft.body;
        (it.to, it.parent, it.session) = (to, parent, session);
        (it.priority, it.hops) = (priority, hops);
        it.key = key.map(str::to_owned);
        it.data = Some(serde_json::json!({ "z": 1.0, "priority": "x" }));
        draft
    })
}

fn project() -> impl Strategy<Value = ProjectName> {
    prop_oneof![3 => Just("default"), 1 => Just("/src/other")]
        .prop_map(|name| name.parse().unwrap())
}

fn name(among: &'static [&'static str]) -> impl Strategy<Value = InboxName> {
    select(among).prop_map(|name| name.parse().unwrap())
}

fn inbox() -> impl Strategy<Value = InboxName> {
    name(&["primary", "primary", "person", "w1", "w2"])
}

fn sender() -> impl Strategy<Value = InboxName> {
    name(&["primary", "w1", "w1", "w2", "ci", "unknown"])
}

fn agent() -> impl Strategy<Value = InboxName> {
    name(&["w1", "w2"])
}

fn happened() -> impl Strategy<Value = AgentEvent> {
    use TurnCause::{Peer, Person, Task, Timeout, Wake};
    let prompt = |by| AgentEvent::Prompt {
        by,
        text: "go".into(),
    };
    let stopped = AgentEvent::Stopped {
        text: "Done.".into(),
        tasks: Vec::new(),
        continues: false,
    };
    let (started, worked, ended) = (AgentEvent::Started, AgentEvent::Worked, AgentEvent::Ended);
    prop_oneof![
        3 => select(vec![Person, Peer, Wake, Task, Timeout]).prop_map(prompt),
        3 => select(vec![started, worked, stopped]),
        1 => Just(ended),
    ]
}

fn pair() -> impl Strategy<Value = Pair> {
    (project(), sender(), sender())
}

fn target() -> impl Strategy<Value = InboxName> {
    name(&["primary", "person", "w1", "w2", "all"])
}

fn priority() -> impl Strategy<Value = Priority> {
    use Priority::{High, Low, Normal, Urgent};
    select(vec![Urgent, High, Normal, Normal, Low])
}

fn key() -> impl Strategy<Value = &'static str> {
    select(vec!["build", "status"])
}

fn once() -> impl Strategy<Value = (&'static str, &'static str)> {
    (
        select(vec!["k1", "k2"]),
        prop_oneof![4 => Just("d1"), 1 => Just("d2")],
    )
}

fn indexes() -> impl Strategy<Value = Vec<Index>> {
    prop::collection::vec(any::<Index>(), 0..4)
}
