//! Statistics of wakes: how many led to nothing, how long they took, and what they cost.
//!
//! A *wake* is a turn that the hub began: the turn's hook reports that a wake caused it, or it follows a delivery by
//! `hubctl wait` in the session's background. A wake is *false* if the turn stopped without a tool call, other than one
//! that waits again, and without a notification of the session's own. A test of a wake is none of these.

use std::collections::{BTreeMap, HashMap, HashSet};

use hub_core::asked::is_of_hook;
use hub_core::fold::SessionKey;
use hub_core::record::{Notified, Record, SettleReason, Turn, TurnCause, kinds};
use hub_protocol::{
    InboxName, ProjectName, QuestionState, Seq, Timestamp, WAKE_TEST_KEY, Way, telling,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The bytes of text that count as one token, which is only an estimate.
const BYTES_PER_TOKEN: usize = 4;

/// How many wakes led to nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FalseWakes {
    /// The wakes whose turn has stopped, and whose hooks tell what it did.
    pub wakes: u64,
    /// Those of them that did nothing.
    pub idle: u64,
}

/// A distribution of durations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Percentiles {
    /// The number of durations.
    pub count: usize,
    /// The median in milliseconds; `None` if there are no durations.
    pub p50_ms: Option<u64>,
    /// The 95th percentile in milliseconds; `None` if there are no durations.
    pub p95_ms: Option<u64>,
}

/// The text of one sender that agents' sessions were shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Injected {
    /// The notifications, each as often as it was shown.
    pub notifications: u64,
    /// The bytes of their framed text.
    pub bytes: u64,
}

/// The wakes of a window, computed from its records.
#[derive(Debug, Default)]
pub struct WakeTally {
    sent: HashMap<Seq, SentText>,
    /// Notifications that were shown in a way that wakes, and are not proved.
    shown: HashSet<(ProjectName, InboxName, Seq)>,
    /// Inboxes whose reader was shown something that wakes it since its last turn, with whether that was only tests of
    /// wakes: there is nothing to do about these.
    woke: HashMap<SessionKey, bool>,
    /// Inboxes whose reader's background waiter has ended since the reader's last turn.
    background: HashSet<SessionKey>,
    /// The turns that a wake began and that have not stopped, with whether the session sent something.
    turns: HashMap<SessionKey, bool>,
    false_wakes: FalseWakes,
    proofs: Vec<u64>,
    answers: BTreeMap<SessionKey, Vec<u64>>,
    injected: BTreeMap<SessionKey, Injected>,
}

#[derive(Debug)]
struct SentText {
    from: SessionKey,
    ts: Timestamp,
    bytes: u64,
    is_test: bool,
}

impl Injected {
    /// Returns the estimated number of tokens.
    pub fn tokens(&self) -> u64 {
        self.bytes.div_ceil(BYTES_PER_TOKEN as u64)
    }
}

impl Percentiles {
    /// Computes the distribution of durations in milliseconds, by nearest rank.
    pub fn of(times: &[u64]) -> Self {
        let mut times = times.to_vec();
        times.sort_unstable();
        let rank = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100);
            times.get(rank.checked_sub(1)?).copied()
        };
        Self {
            count: times.len(),
            p50_ms: rank(50),
            p95_ms: rank(95),
        }
    }
}

impl WakeTally {
    /// Whether records of this kind byte are counted.
    pub fn counts(kind: u8) -> bool {
        matches!(
            kind,
            kinds::NOTIFIED
                | kinds::EMITTED
                | kinds::RETURNED
                | kinds::SETTLED
                | kinds::TURN_NOTED
                | kinds::SESSION_ENDED
                | kinds::QUESTION_SETTLED
        )
    }

    /// Counts the record with the number `seq`.
    pub fn take(&mut self, seq: Seq, record: &Record) {
        match record {
            Record::Notified(it) => self.sent(seq, it),
            Record::Emitted(it) => {
                for &id in &it.ids {
                    self.injected(id, it.way);
                    if it.way != Way::Hook {
                        let place = (it.project.clone(), it.inbox.clone(), id);
                        self.shown.insert(place);
                    }
                }
                if it.way != Way::Hook {
                    let is_test = |id| self.sent.get(id).is_some_and(|it| it.is_test);
                    let tests = it.ids.iter().all(is_test);
                    let reader = (it.project.clone(), it.inbox.clone());
                    let only = self.woke.entry(reader).or_insert(true);
                    *only &= tests;
                }
                if it.way == Way::Wait {
                    let reader = (it.project.clone(), it.inbox.clone());
                    self.background.insert(reader);
                }
            }
            Record::Returned(it) => {
                for &id in &it.ids {
                    let place = (it.project.clone(), it.inbox.clone(), id);
                    self.shown.remove(&place);
                }
            }
            Record::Settled(it) if it.how == SettleReason::Acked => {
                for &id in &it.ids {
                    self.proved(it.inbox.as_ref(), id, it.at);
                }
            }
            Record::TurnNoted(it) => {
                self.turn((it.project.clone(), it.session.clone()), &it.turn);
            }
            Record::SessionEnded(it) => {
                self.turns.remove(&(it.project.clone(), it.session.clone()));
            }
            Record::QuestionSettled(it) if it.state == QuestionState::Answered => {
                if let Some(asked) = self.sent.get(&it.id) {
                    let times = self.answers.entry(asked.from.clone()).or_default();
                    times.push(between(asked.ts, it.at));
                }
            }
            _ => {}
        }
    }

    fn sent(&mut self, seq: Seq, it: &Notified) {
        let from = (it.route.project.clone(), it.route.from.clone());
        if let Some(acted) = self.turns.get_mut(&from) {
            *acted |= !is_by_hook(&it.json);
        }
        // Only a notification in an inbox can be shown or answered.
        if !it.route.targets.is_empty() {
            let sent = SentText {
                from,
                ts: it.route.ts,
                // The frame has one line for each notification.
                bytes: telling(&String::from_utf8_lossy(&it.json)).len() as u64 + 1,
                is_test: it.route.key.as_deref() == Some(WAKE_TEST_KEY),
            };
            self.sent.insert(seq, sent);
        }
    }

    /// Counts the text of a notification that a session was shown. An announcement shows only one line of it.
    fn injected(&mut self, id: Seq, way: Way) {
        let Some(sent) = self.sent.get(&id).filter(|_| !way.announces()) else {
            return;
        };
        let injected = self.injected.entry(sent.from.clone()).or_default();
        injected.notifications += 1;
        injected.bytes += sent.bytes;
    }

    fn proved(&mut self, inbox: Option<&(ProjectName, InboxName)>, id: Seq, at: Timestamp) {
        let Some((project, inbox)) = inbox else {
            return;
        };
        let was_shown = self.shown.remove(&(project.clone(), inbox.clone(), id));
        if let Some(sent) = self.sent.get(&id).filter(|_| was_shown) {
            self.proofs.push(between(sent.ts, at));
        }
    }

    fn turn(&mut self, key: SessionKey, turn: &Turn) {
        match turn {
            Turn::Began { by, .. } => {
                let primary = (key.0.clone(), InboxName::primary());
                let waited = self.background.remove(&key) | self.background.remove(&primary);
                let woke = [self.woke.remove(&key), self.woke.remove(&primary)];
                let tests = { woke.into_iter().flatten() }.reduce(|one, other| one && other);
                let is_wake = *by == TurnCause::Wake || *by == TurnCause::Task && waited;
                if is_wake && tests != Some(true) {
                    self.turns.entry(key).or_default();
                } else {
                    self.turns.remove(&key);
                }
            }
            Turn::Stopped { acted, .. } => {
                let sent = self.turns.remove(&key);
                if let (Some(sent), Some(acted)) = (sent, *acted) {
                    self.false_wakes.wakes += 1;
                    self.false_wakes.idle += u64::from(!sent && !acted);
                }
            }
            Turn::Failed { .. } => {
                self.turns.remove(&key);
            }
            Turn::Attributed { .. } | Turn::Resumes { .. } => {}
        }
    }

    /// Returns how many wakes led to nothing.
    pub fn false_wakes(&self) -> FalseWakes {
        self.false_wakes
    }

    /// Returns the times from the notification to the proof that the woken session has it, in milliseconds.
    pub fn proofs(&self) -> &[u64] {
        &self.proofs
    }

    /// Returns the times from question to answer in milliseconds, by the session that asked.
    pub fn answers(&self) -> &BTreeMap<SessionKey, Vec<u64>> {
        &self.answers
    }

    /// Returns the text that sessions were shown, by its sender.
    pub fn injected_by(&self) -> &BTreeMap<SessionKey, Injected> {
        &self.injected
    }
}

fn between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.as_millis() - from.as_millis()).unwrap_or(0)
}

/// Whether the hub made this notification from a hook event, so that the session did not send it.
fn is_by_hook(json: &[u8]) -> bool {
    #[derive(Default, Deserialize)]
    struct Origin {
        data: Option<Value>,
    }
    let stored: Origin = serde_json::from_slice(json).unwrap_or_default();
    stored.data.is_some_and(|data| is_of_hook(&data))
}

#[cfg(test)]
mod tests {
    use hub_core::record::{Emitted, Settled, TurnNoted};
    use hub_core::testing::route;

    use super::*;
    use hub_protocol::Kind;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn name(text: &str) -> InboxName {
        text.parse().unwrap()
    }

    fn turn(turn: Turn) -> Record {
        Record::TurnNoted(TurnNoted {
            project: ProjectName::default(),
            session: name("boss"),
            turn,
            evidence: String::new(),
            at: at(0),
        })
    }

    fn stopped(acted: Option<bool>) -> Record {
        turn(Turn::Stopped {
            tasks: Vec::new(),
            silent: false,
            acted,
            said: None,
        })
    }

    fn said(from: &str, json: &'static str) -> Record {
        let mut route = route(from, Kind::Message, at(0));
        route.targets = vec![(name("boss"), true).into()];
        let json = json.into();
        Record::Notified(Notified { route, json })
    }

    fn emitted(way: Way) -> Record {
        Record::Emitted(Emitted {
            project: ProjectName::default(),
            inbox: name("boss"),
            ids: vec![1],
            way,
            by: None,
            at: at(5),
        })
    }

    fn acked(ms: i64) -> Record {
        Record::Settled(Settled {
            ids: vec![1],
            inbox: Some((ProjectName::default(), name("boss"))),
            how: SettleReason::Acked,
            by: None,
            at: at(ms),
        })
    }

    fn tally(records: &[Record]) -> WakeTally {
        let mut tally = WakeTally::default();
        for (seq, record) in (1..).zip(records) {
            tally.take(seq, record);
        }
        tally
    }

    #[test]
    fn a_wake_is_false_if_its_turn_did_nothing() {
        let began = |by| turn(Turn::Began { by, first: None });
        let (wake, task) = (TurnCause::Wake, TurnCause::Task);
        let by_hook = || said("boss", r#"{"data":{"via":"hook"}}"#);
        for (records, expected) in [
            (vec![began(wake), stopped(Some(false))], (1, 1)),
            (vec![began(wake), by_hook(), stopped(Some(false))], (1, 1)),
            (vec![began(wake), stopped(Some(true))], (1, 0)),
            (
                vec![began(wake), said("boss", "{}"), stopped(Some(false))],
                (1, 0),
            ),
            (vec![began(wake), stopped(None)], (0, 0)),
            (vec![began(TurnCause::Person), stopped(Some(false))], (0, 0)),
            (vec![began(task), stopped(Some(false))], (0, 0)),
            (
                vec![emitted(Way::Wait), began(task), stopped(Some(false))],
                (1, 1),
            ),
            (vec![began(wake)], (0, 0)),
        ] {
            let found = tally(&records).false_wakes();
            assert_eq!((found.wakes, found.idle), expected, "{records:?}");
        }
    }

    #[test]
    fn a_test_of_a_wake_is_no_false_wake() {
        let test = || {
            let Record::Notified(mut it) = said("wake-test", "{}") else {
                unreachable!()
            };
            it.route.key = Some(WAKE_TEST_KEY.into());
            Record::Notified(it)
        };
        let began = || {
            turn(Turn::Began {
                by: TurnCause::Wake,
                first: None,
            })
        };
        let shown = |id| {
            let Record::Emitted(mut it) = emitted(Way::Module) else {
                unreachable!()
            };
            it.ids = vec![id];
            Record::Emitted(it)
        };
        let idle = || stopped(Some(false));
        for (records, expected) in [
            (vec![test(), shown(1), began(), idle()], (0, 0)),
            (vec![said("ci", "{}"), shown(1), began(), idle()], (1, 1)),
            (
                vec![
                    test(),
                    said("ci", "{}"),
                    shown(1),
                    shown(2),
                    began(),
                    idle(),
                ],
                (1, 1),
            ),
            (
                vec![test(), shown(1), began(), idle(), began(), idle()],
                (1, 1),
            ),
        ] {
            let found = tally(&records).false_wakes();
            assert_eq!((found.wakes, found.idle), expected, "{records:?}");
        }
    }

    #[test]
    fn a_wake_lasts_from_the_notification_to_its_proof() {
        let with = |way| tally(&[said("ci", "{}"), emitted(way), acked(42)]);
        assert_eq!(with(Way::Rewake).proofs(), [42]);
        assert!(with(Way::Hook).proofs().is_empty(), "it woke nobody");
        let announced = [
            said("ci", "{}"),
            emitted(Way::Module),
            emitted(Way::Hook),
            acked(9),
        ];
        assert_eq!(tally(&announced).proofs(), [9]);
    }

    #[test]
    fn the_text_of_each_delivery_counts_for_its_sender() {
        let shown = [
            said("ci", r#"{"msg":"hello"}"#),
            emitted(Way::Module),
            emitted(Way::Hook),
        ];
        let tally = tally(&shown);
        let injected = tally.injected_by().values().next().unwrap();
        assert_eq!((injected.notifications, injected.bytes), (1, 16));
        assert_eq!(injected.tokens(), 4);
    }

    #[test]
    fn percentiles_are_durations_of_the_sample() {
        let of = |times: &[u64]| {
            let it = Percentiles::of(times);
            (it.count, it.p50_ms, it.p95_ms)
        };
        assert_eq!(of(&[]), (0, None, None));
        assert_eq!(of(&[7]), (1, Some(7), Some(7)));
        let many: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(of(&many), (100, Some(50), Some(95)));
    }
}
