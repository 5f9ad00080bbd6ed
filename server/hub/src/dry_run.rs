//! A dry run: which rules would have fired on the notifications of the log. A separate fold, without clock or I/O.

use std::collections::{BTreeMap, HashMap};

use hub_core::fold::{received, subject};
use hub_core::record::{Notified, Record};
use hub_core::rule::{Rule, RuleSet};
use hub_protocol::{InboxName, Notification, ProjectName, RuleMatch, Seq, Timestamp, first_bytes};

/// The most firings that are listed one by one.
const MAX_LISTED: usize = 1000;
/// The most bytes of a text.
const MAX_TEXT: usize = 200;
/// The most cooldowns that are kept, one for each rule and sender on which it fired.
const MAX_QUIET: usize = 100_000;

/// The firings of a dry run.
#[derive(Debug)]
pub struct DryRun {
    rules: RuleSet,
    from: Timestamp,
    /// Until when a rule does not fire on a sender.
    quiet: HashMap<(String, ProjectName, InboxName), Timestamp>,
    fired: Vec<RuleMatch>,
    counts: BTreeMap<String, u64>,
}

impl DryRun {
    /// A dry run that lists firings from `from` on.
    pub fn new(rules: RuleSet, from: Timestamp) -> Self {
        let counts = rules.iter().map(|it| (it.name.clone(), 0)).collect();
        Self {
            rules,
            from,
            quiet: HashMap::new(),
            fired: Vec::new(),
            counts,
        }
    }

    /// Returns the rules.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// Returns when the first notification arrived that can matter: an earlier firing begins a cooldown.
    pub fn reads_from(&self) -> Timestamp {
        let longest = self.rules.iter().map(|it| it.cooldown_ms).max();
        self.from.plus_millis(-longest.unwrap_or(0))
    }

    /// Fires the rules on a notification. Returns `false` if the test cannot go on: `is_over` says so before a rule is
    /// matched, or too many cooldowns would have to be kept.
    pub fn take(&mut self, seq: Seq, record: &Record, is_over: impl Fn() -> bool) -> bool {
        let Record::Notified(Notified { route, json }) = record else {
            return true;
        };
        let may_match = |rule: &Rule| rule.may_match(route.kind, route.priority);
        if !self.rules.iter().any(may_match) {
            return true;
        }
        let Ok(body) = serde_json::from_slice::<Notification>(json) else {
            return true;
        };
        let is_made = body
            .data
            .as_ref()
            .is_some_and(|data| data["rule"].is_string());
        if is_made && body.from.as_str() == "hub" {
            return true;
        }
        let at = received(&body);
        let subject = subject(&route.project, &route.from, &body);
        let mut found = Vec::new();
        for rule in self.rules.iter() {
            if is_over() || self.quiet.len() >= MAX_QUIET {
                return false;
            }
            if !rule.matches(&subject) {
                continue;
            }
            let key = (rule.name.clone(), route.project.clone(), route.from.clone());
            let is_quiet = self.quiet.get(&key).is_some_and(|until| *until > at);
            let actions = rule.due(is_quiet);
            if actions.is_empty() {
                continue;
            }
            if !is_quiet && rule.has_cooldown() {
                self.quiet.insert(key, at.plus_millis(rule.cooldown_ms));
            }
            found.push(RuleMatch {
                notification: Some(seq),
                text: first_bytes(&body.msg, MAX_TEXT).to_owned(),
                ..fired(rule, at, (&route.project, &route.from))
            });
        }
        for it in found {
            self.note(it);
        }
        true
    }

    /// Fires a rule on a session that stayed in a phase.
    pub fn take_stay(
        &mut self,
        rule: &Rule,
        place: (&ProjectName, &InboxName),
        (text, at): (String, Timestamp),
    ) {
        let it = fired(rule, at, place);
        self.note(RuleMatch { text, ..it });
    }

    fn note(&mut self, it: RuleMatch) {
        if it.at < self.from {
            return;
        }
        *self.counts.entry(it.rule.clone()).or_default() += 1;
        if self.fired.len() < MAX_LISTED {
            self.fired.push(it);
        }
    }

    /// Returns the first firings, oldest first, and the number of all firings by rule.
    pub fn finish(mut self) -> (Vec<RuleMatch>, BTreeMap<String, u64>) {
        self.fired.sort_by_key(|it| (it.at, it.notification));
        (self.fired, self.counts)
    }
}

fn fired(rule: &Rule, at: Timestamp, (project, from): (&ProjectName, &InboxName)) -> RuleMatch {
    RuleMatch {
        rule: rule.name.clone(),
        at,
        project: project.clone(),
        from: from.clone(),
        notification: None,
        text: String::new(),
    }
}
