//! Rules: the firings of a command, in its own commit. So a firing is never lost, and its notification never doubled.

use std::collections::HashSet;

use hub_protocol::{
    InboxName, Kind, Notification, PhaseName, Priority, ProjectName, Seq, Timestamp, first_bytes,
};

use super::notification::person;
use super::rules::Watched;
use super::transaction::Transaction;
use super::{Leased, State};
use crate::command::{Refusal, RuleCommand};
use crate::notification::to_json;
use crate::record::{Record, RuleAction, RuleFired, RuleNote, RuleNoted};
use crate::rule::{Facts, NotifyAction, Rule, RuleSet, Subject};

/// The most bytes of a text in the notification of an escalation.
const MAX_QUOTED: usize = 400;

/// A notification of a command, as far as rules need it.
struct StoredNotification {
    id: Seq,
    project: ProjectName,
    from: InboxName,
    body: Notification,
}

/// Returns when the hub received a notification. A dry run knows no other time of it.
pub fn received(body: &Notification) -> Timestamp {
    body.received.unwrap_or(body.ts)
}

/// Returns the properties of a notification of the session `from` that rules match.
pub fn subject<'a>(
    project: &'a ProjectName,
    from: &'a InboxName,
    body: &'a Notification,
) -> Subject<'a> {
    Subject {
        project,
        from: from.as_str(),
        name: body.from_name.as_deref().or(Some(body.from.as_str())),
        kind: body.kind,
        priority: body.priority,
        msg: &body.msg,
    }
}

impl State {
    /// Returns the records of a command after the rules have fired on its notifications. With `escalates`, also those of
    /// the escalations that are due.
    pub(super) fn with_rules(
        &self,
        records: Vec<Record>,
        rules: &RuleSet,
        now: Timestamp,
        leased: &Leased<'_>,
        escalates: bool,
    ) -> Vec<Record> {
        let fires = !rules.is_empty() && records.iter().any(Record::is_notification);
        if !fires && !escalates {
            return records;
        }
        let mut transaction = Transaction::continued(self, now, leased, records);
        transaction.fire_rules(rules);
        if escalates {
            transaction.escalate();
        }
        transaction.finish()
    }

    pub(super) fn decide_rule(
        &self,
        command: &RuleCommand,
        rules: &RuleSet,
        now: Timestamp,
        leased: &Leased<'_>,
    ) -> Result<Vec<Record>, Refusal> {
        match command {
            RuleCommand::Begin(names) => {
                let new = names.iter().filter(|name| self.rules.began(name).is_none());
                let began = |rule: &String| noted(rule, RuleNote::Began, now);
                Ok(new.map(began).collect())
            }
            RuleCommand::Lasted {
                rule,
                project,
                session,
                phase,
                since,
            } => {
                let fired = self.rules.has_fired(rule, (project, session), *since);
                let Some(rule) = rules.get(rule).filter(|_| !fired) else {
                    return Ok(Vec::new());
                };
                let mut transaction = Transaction::new(self, now, leased);
                transaction.fire_on_stay(rule, (project, session), (*phase, *since));
                Ok(transaction.finish())
            }
            RuleCommand::Start(firing) => {
                let open = self.rules.run(*firing);
                let run = open.ok_or(Refusal::UnknownId(*firing))?;
                let started = RuleNote::Started {
                    firing: *firing,
                    notification: run.notification,
                };
                Ok(vec![noted(&run.rule, started, now)])
            }
            RuleCommand::Fail {
                rule,
                firing,
                notification,
                why,
            } => {
                let failed = RuleNote::Failed {
                    firing: *firing,
                    notification: *notification,
                    why: why.clone(),
                };
                Ok(vec![noted(rule, failed, now)])
            }
        }
    }

    /// Whether nobody has read a notification, or answered it if it is a question.
    fn is_unsettled(&self, id: Seq) -> bool {
        match self.questions.get(id) {
            Some(question) => !question.state.is_final(),
            None => self.inboxes.is_pending(id) && !self.seen.contains(id),
        }
    }
}

impl Transaction<'_> {
    /// Fires the rules on the notifications that the transaction has by now.
    fn fire_rules(&mut self, rules: &RuleSet) {
        let mut quiet = HashSet::new();
        for id in self.state.head + 1..self.next_id() {
            if let Some(stored) = self.stored_notification(id, rules) {
                for rule in rules.iter() {
                    self.fire_on(rule, &stored, &mut quiet);
                }
            }
        }
    }

    /// Returns a notification, if a rule may match it.
    fn stored_notification(&mut self, id: Seq, rules: &RuleSet) -> Option<StoredNotification> {
        let notified = self.notified(id)?;
        let (route, json) = (&notified.route, &notified.json);
        let may_match = |rule: &Rule| rule.may_match(route.kind, route.priority);
        if !rules.iter().any(may_match) {
            return None;
        }
        let (project, from) = (route.project.clone(), route.from.clone());
        let body = serde_json::from_slice(json).ok()?;
        Some(StoredNotification {
            id,
            project,
            from,
            body,
        })
    }

    fn fire_on(&mut self, rule: &Rule, stored: &StoredNotification, quiet: &mut HashSet<Watched>) {
        if !rule.matches(&subject(&stored.project, &stored.from, &stored.body)) {
            return;
        }
        let watched = Watched::of(&rule.name, &stored.project, &stored.from);
        let at = received(&stored.body);
        let is_quiet = quiet.contains(&watched) || self.state.rules.is_quiet(&watched, at);
        let actions = rule.due(is_quiet);
        if actions.is_empty() {
            return;
        }
        if actions.contains(&RuleAction::Mute) {
            self.mute(rule, stored);
        }
        let made = rule.actions.notify.as_ref().filter(|_| !is_quiet);
        let made = made.map(|notify| {
            let data = serde_json::json!({ "rule": rule.name, "notification": stored.id });
            self.send(notify, &stored.project, &stored.facts(), data)
        });
        let escalate = rule.actions.escalate_ms.filter(|_| !is_quiet);
        let forward = rule.actions.forward.clone().filter(|_| !is_quiet);
        // The target gets a notification once, also if several rules pass it on.
        let forward = forward.filter(|name| !self.passes_on(stored.id, name));
        let until = at.plus_millis(rule.cooldown_ms);
        let starts_cooldown = !is_quiet && rule.has_cooldown() && until > at;
        if starts_cooldown {
            quiet.insert(watched);
        }
        self.also([Record::RuleFired(RuleFired {
            rule: rule.name.clone(),
            project: stored.project.clone(),
            session: stored.from.clone(),
            notification: Some(stored.id),
            stay: None,
            forward,
            actions,
            made,
            quiet_until: starts_cooldown.then_some(until),
            escalate: escalate.map(|ms| (self.now.plus_millis(ms), stored.quoted())),
            at: self.now,
        })]);
    }

    /// Makes a notification wake nobody. If several rules do, it names the last one.
    fn mute(&mut self, rule: &Rule, stored: &StoredNotification) {
        let Some(notified) = self.notified(stored.id) else {
            return;
        };
        let targets = &mut notified.route.targets;
        for target in targets {
            target.wakes = false;
        }
        let muted = Notification {
            muted_by: Some(rule.name.clone()),
            ..stored.body.clone()
        };
        notified.json = to_json(&muted).into();
    }

    fn fire_on_stay(
        &mut self,
        rule: &Rule,
        (project, session): (&ProjectName, &InboxName),
        (phase, since): (PhaseName, Timestamp),
    ) {
        let minutes = (self.now.as_millis() - since.as_millis()) / 60_000;
        let facts = Facts {
            from: self.state.sessions.shown_name(project, session).to_string(),
            msg: format!("{} for {minutes} min", phase.as_str().replace('_', " ")),
            session: session.to_string(),
            project: project.to_string(),
            id: String::new(),
        };
        let made = rule.actions.notify.as_ref().map(|notify| {
            let data = serde_json::json!({ "rule": rule.name, "session": session });
            self.send(notify, project, &facts, data)
        });
        self.also([Record::RuleFired(RuleFired {
            rule: rule.name.clone(),
            project: project.clone(),
            session: session.clone(),
            notification: None,
            stay: Some((phase, since)),
            actions: rule.due(false),
            forward: None,
            made,
            quiet_until: None,
            escalate: None,
            at: self.now,
        })]);
    }

    /// Sends the notification of a rule; returns its number.
    fn send(
        &mut self,
        action: &NotifyAction,
        project: &ProjectName,
        facts: &Facts,
        data: serde_json::Value,
    ) -> Seq {
        let mut draft = self.notice(
            project,
            action.to.clone(),
            action.kind,
            action.msg.fill(facts),
        );
        draft.body.priority = action.priority;
        draft.body.data = Some(data);
        let id = self.next_id();
        self.post_or_record(draft);
        id
    }

    /// Ends the escalations that are due: the person is notified of what is not settled.
    fn escalate(&mut self) {
        for (firing, due) in self.state.rules.due(self.now) {
            let is_open = self.state.is_unsettled(due.notification);
            let made = is_open.then(|| {
                let data =
                    serde_json::json!({ "rule": due.rule, "notification": due.notification });
                let mut draft =
                    self.notice(&due.project, person(), Kind::Message, due.text.clone());
                draft.body.priority = Priority::Urgent;
                draft.body.data = Some(data);
                let id = self.next_id();
                self.post_or_record(draft);
                id
            });
            let escalated = RuleNote::Escalated {
                firing,
                notification: due.notification,
                made,
            };
            self.also([noted(&due.rule, escalated, self.now)]);
        }
    }
}

impl StoredNotification {
    fn facts(&self) -> Facts {
        let from = self.body.from_name.as_deref();
        Facts {
            from: from.unwrap_or(self.body.from.as_str()).to_owned(),
            msg: self.body.msg.clone(),
            session: self.from.to_string(),
            project: self.project.to_string(),
            id: self.id.to_string(),
        }
    }

    /// The text of an escalation.
    fn quoted(&self) -> String {
        let Facts { from, msg, id, .. } = self.facts();
        let msg = first_bytes(&msg, MAX_QUOTED);
        match self.body.kind {
            Kind::Question | Kind::Approval => {
                format!("{from} still waits for an answer to {id}: {msg}")
            }
            _ => format!("nobody has read {id} of {from}: {msg}"),
        }
    }
}

fn noted(rule: &str, note: RuleNote, at: Timestamp) -> Record {
    let rule = rule.to_owned();
    Record::RuleNoted(RuleNoted { rule, note, at })
}
