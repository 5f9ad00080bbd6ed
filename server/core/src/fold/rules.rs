//! The state of the rules: how often each fired, cooldowns, programs that wait for their start, and escalations.

use std::collections::BTreeMap;

use hub_protocol::{InboxName, ProjectName, Seq, Timestamp};
use serde::{Deserialize, Serialize};

use crate::record::{RuleAction, RuleFired, RuleNote, RuleNoted};

/// The most rule names that are remembered; the one that fired least recently is forgotten first.
const MAX_NAMES: usize = 1_000;
/// The most cooldowns, and the most stays; the earliest is forgotten first.
const MAX_WATCHED: usize = 10_000;
/// The most programs that wait for their start, and the most escalations; the oldest is forgotten first.
const MAX_OPEN: usize = 1_000;

/// The rules of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    tallies: BTreeMap<String, RuleTally>,
    began: BTreeMap<String, Timestamp>,
    /// Until when each rule does not fire on a sender.
    #[serde(with = "pairs")]
    quiet: BTreeMap<Watched, Timestamp>,
    /// The beginning of the last phase of a session that each rule fired on.
    #[serde(with = "pairs")]
    stays: BTreeMap<Watched, Timestamp>,
    runs: BTreeMap<Seq, OpenRun>,
    /// By the record of the firing. They are few, so the next one is searched for.
    escalations: BTreeMap<Seq, OpenEscalation>,
}

/// How often a rule fired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleTally {
    /// The number of firings.
    pub fired: u64,
    /// When it fired last.
    pub last: Timestamp,
}

/// A rule and the session that it watches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Watched {
    rule: String,
    project: ProjectName,
    session: InboxName,
}

/// A firing whose program was not started yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenRun {
    /// The name of the rule.
    pub rule: String,
    /// The project of the notification or the session.
    pub project: ProjectName,
    /// The notification that it fired on; `None` if it fired on a session.
    pub notification: Option<Seq>,
}

/// An escalation whose time is not over yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OpenEscalation {
    pub(super) rule: String,
    pub(super) project: ProjectName,
    pub(super) notification: Seq,
    pub(super) at: Timestamp,
    pub(super) text: String,
}

impl Watched {
    pub(super) fn of(rule: &str, project: &ProjectName, session: &InboxName) -> Self {
        Self {
            rule: rule.to_owned(),
            project: project.clone(),
            session: session.clone(),
        }
    }
}

impl Rules {
    /// Returns how often a rule fired.
    pub fn tally(&self, rule: &str) -> Option<RuleTally> {
        self.tallies.get(rule).copied()
    }

    /// Returns when a hub first started with a rule about sessions.
    pub fn began(&self, rule: &str) -> Option<Timestamp> {
        self.began.get(rule).copied()
    }

    pub(super) fn is_quiet(&self, watched: &Watched, at: Timestamp) -> bool {
        self.quiet.get(watched).is_some_and(|until| *until > at)
    }

    /// Whether a rule about sessions has fired on the phase of this session that began at `since`, or on a later one.
    pub fn has_fired(
        &self,
        rule: &str,
        (project, session): (&ProjectName, &InboxName),
        since: Timestamp,
    ) -> bool {
        let fired = self.stays.get(&Watched::of(rule, project, session));
        fired.is_some_and(|it| *it >= since)
    }

    /// Returns the firings whose programs were not started yet, oldest first.
    pub fn open_runs(&self) -> impl Iterator<Item = (Seq, &OpenRun)> {
        self.runs.iter().map(|(firing, it)| (*firing, it))
    }

    pub(super) fn run(&self, firing: Seq) -> Option<&OpenRun> {
        self.runs.get(&firing)
    }

    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        self.escalations.values().map(|it| it.at).min()
    }

    pub(super) fn due(&self, now: Timestamp) -> impl Iterator<Item = (Seq, &OpenEscalation)> {
        let due = self.escalations.iter().filter(move |(_, it)| it.at <= now);
        due.map(|(firing, it)| (*firing, it))
    }

    pub(super) fn fired(&mut self, seq: Seq, it: &RuleFired) {
        let tally = self.tallies.entry(it.rule.clone()).or_default();
        (tally.fired, tally.last) = (tally.fired.saturating_add(1), it.at);
        if self.tallies.len() > MAX_NAMES {
            forget_earliest(&mut self.tallies, |tally| tally.last);
        }
        let watched = Watched::of(&it.rule, &it.project, &it.session);
        if let Some(until) = it.quiet_until {
            self.quiet.insert(watched.clone(), until);
            if self.quiet.len() > MAX_WATCHED {
                forget_earliest(&mut self.quiet, |until| *until);
            }
        }
        if let Some((_, since)) = it.stay {
            self.stays.insert(watched, since);
            if self.stays.len() > MAX_WATCHED {
                forget_earliest(&mut self.stays, |since| *since);
            }
        }
        self.open(seq, it);
    }

    fn open(&mut self, seq: Seq, it: &RuleFired) {
        if it.actions.contains(&RuleAction::Run) {
            let run = OpenRun {
                rule: it.rule.clone(),
                project: it.project.clone(),
                notification: it.notification,
            };
            self.runs.insert(seq, run);
            if self.runs.len() > MAX_OPEN {
                self.runs.pop_first();
            }
        }
        if let (Some((at, text)), Some(notification)) = (&it.escalate, it.notification) {
            let escalation = OpenEscalation {
                rule: it.rule.clone(),
                project: it.project.clone(),
                notification,
                at: *at,
                text: text.clone(),
            };
            self.escalations.insert(seq, escalation);
            if self.escalations.len() > MAX_OPEN {
                self.escalations.pop_first();
            }
        }
    }

    pub(super) fn noted(&mut self, it: &RuleNoted) {
        match &it.note {
            RuleNote::Began => {
                self.began.insert(it.rule.clone(), it.at);
                if self.began.len() > MAX_NAMES {
                    forget_earliest(&mut self.began, |at| *at);
                }
            }
            RuleNote::Started { firing, .. } => drop(self.runs.remove(firing)),
            RuleNote::Escalated { firing, .. } => drop(self.escalations.remove(firing)),
            // The program was started, so nothing is left to do.
            RuleNote::Failed { .. } => {}
        }
    }

    pub(super) fn forget_all(&mut self, project: &ProjectName) {
        self.quiet.retain(|it, _| it.project != *project);
        self.stays.retain(|it, _| it.project != *project);
        self.runs.retain(|_, it| it.project != *project);
        self.escalations.retain(|_, it| it.project != *project);
    }

    pub(super) fn shift(&mut self, delta_ms: i64) {
        let due = self.escalations.values_mut().map(|it| &mut it.at);
        let times = self.quiet.values_mut().chain(due);
        // The phases of sessions move, too.
        let times = times.chain(self.stays.values_mut());
        for at in times.chain(self.began.values_mut()) {
            *at = at.plus_millis(delta_ms);
        }
    }
}

fn forget_earliest<K: Ord + Clone, V>(of: &mut BTreeMap<K, V>, at: impl Fn(&V) -> Timestamp) {
    let earliest = of.iter().min_by_key(|(_, value)| at(value));
    if let Some(key) = earliest.map(|(key, _)| key.clone()) {
        of.remove(&key);
    }
}

/// Stores a map as a list of pairs, because JSON has only texts as keys.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let pairs = Vec::<(K, V)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}
