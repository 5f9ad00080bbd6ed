//! Rules: the `[[on]]` tables of the configuration, as the fold and the bridges use them. Matching is pure.

use std::time::Duration;

use hub_protocol::{InboxName, Kind, PhaseName, Priority, ProjectName, first_bytes};
use regex::Regex;

use super::record::RuleAction;

mod invalid;
mod settings;
mod template;

pub use invalid::InvalidRule;
pub use settings::parse;
pub use template::{Facts, Template};

/// The bytes of a text that a regular expression sees. The fold matches while other commands wait, so this bounds the
/// time of a match.
const MAX_TEXT: usize = 8 * 1024;

/// The rules of a hub, in the order of the configuration.
#[derive(Debug, Clone, Default)]
pub struct RuleSet(Vec<Rule>);

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its unique name.
    pub name: String,
    /// Its condition, for people.
    pub when: String,
    /// Its actions, for people.
    pub then: String,
    /// The notifications that it matches, or whose sessions it matches.
    pub condition: Condition,
    /// Its actions.
    pub actions: Actions,
    /// After a firing on a sender, how long it does not fire on that sender, in milliseconds.
    pub cooldown_ms: i64,
}

/// The condition of a rule; an empty list matches anything.
#[derive(Debug, Clone, Default)]
pub struct Condition {
    /// Types of notifications.
    pub kinds: Vec<Kind>,
    /// Patterns of senders or sessions, with `*`.
    pub from: Vec<String>,
    /// Patterns of projects, with `*`.
    pub projects: Vec<String>,
    /// An expression that the text must match.
    pub text: Option<Regex>,
    /// For a rule about sessions: the phases, and how long a session must stay in one, in milliseconds.
    pub stay: Option<(Vec<PhaseName>, i64)>,
}

/// The actions of a rule.
#[derive(Debug, Clone, Default)]
pub struct Actions {
    /// A notification to send.
    pub notify: Option<NotifyAction>,
    /// The name of a forward.
    pub forward: Option<String>,
    /// A program with its arguments, and how long it may run.
    pub run: Option<(Vec<String>, Duration)>,
    /// The time in milliseconds after which the person is notified, unless the notification is settled by then.
    pub escalate_ms: Option<i64>,
    /// Whether the notification wakes no reader.
    pub mute: bool,
}

/// A notification that a rule sends.
#[derive(Debug, Clone)]
pub struct NotifyAction {
    /// The inbox that receives it.
    pub to: InboxName,
    /// Its type.
    pub kind: Kind,
    /// Its priority.
    pub priority: Priority,
    /// Its text.
    pub msg: Template,
}

/// The properties of a notification that rules match.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its project.
    pub project: &'a ProjectName,
    /// The session or name that sent it.
    pub from: &'a str,
    /// The name of the sender's session, if it has another one.
    pub name: Option<&'a str>,
    /// Its type.
    pub kind: Kind,
    /// Its text.
    pub msg: &'a str,
}

impl RuleSet {
    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all rules.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.0.iter()
    }

    /// Returns the rules about sessions that stay in a phase.
    pub fn lasting(&self) -> impl Iterator<Item = &Rule> {
        self.iter().filter(|it| it.condition.stay.is_some())
    }

    /// Returns the rule of this name.
    pub fn get(&self, name: &str) -> Option<&Rule> {
        self.iter().find(|it| it.name == name)
    }
}

impl Rule {
    /// Whether it may match notifications of this type.
    pub fn may_match(&self, kind: Kind) -> bool {
        let on = &self.condition;
        on.stay.is_none() && (on.kinds.is_empty() || on.kinds.contains(&kind))
    }

    /// Whether it does something that its cooldown prevents; a mute concerns every notification.
    pub fn has_cooldown(&self) -> bool {
        !matches!(self.due(false)[..], [RuleAction::Mute])
    }

    /// Whether it fires on this notification, apart from its cooldown.
    pub fn matches(&self, it: &Subject<'_>) -> bool {
        let on = &self.condition;
        let text = first_bytes(it.msg, MAX_TEXT);
        self.may_match(it.kind)
            && on.is_about(it.project, it.from, it.name)
            && on.text.as_ref().is_none_or(|wanted| wanted.is_match(text))
    }

    /// For a rule about sessions, returns how long this session must stay in this phase, in milliseconds.
    pub fn patience_ms(
        &self,
        project: &ProjectName,
        id: &str,
        name: Option<&str>,
        phase: PhaseName,
    ) -> Option<i64> {
        let (phases, patience_ms) = self.condition.stay.as_ref()?;
        let matches = phases.contains(&phase) && self.condition.is_about(project, id, name);
        matches.then_some(*patience_ms)
    }

    /// Returns the actions of a firing; during the cooldown only those that concern every notification.
    pub fn due(&self, is_quiet: bool) -> Vec<RuleAction> {
        let it = &self.actions;
        let all = [
            (RuleAction::Mute, it.mute),
            (RuleAction::Notify, it.notify.is_some() && !is_quiet),
            (RuleAction::Forward, it.forward.is_some() && !is_quiet),
            (RuleAction::Run, it.run.is_some() && !is_quiet),
            (RuleAction::Escalate, it.escalate_ms.is_some() && !is_quiet),
        ];
        let due = all.into_iter().filter(|(_, is_due)| *is_due);
        due.map(|(action, _)| action).collect()
    }
}

impl Condition {
    fn is_about(&self, project: &ProjectName, from: &str, name: Option<&str>) -> bool {
        let sender = |pattern: &String| {
            is_like(pattern, from) || name.is_some_and(|name| is_like(pattern, name))
        };
        let (path, last) = (project.as_str(), last_part(project.as_str()));
        // A pattern without a slash means the directory's own name.
        let place = |pattern: &String| {
            is_like(pattern, path) || !pattern.contains('/') && is_like(pattern, last)
        };
        (self.from.is_empty() || self.from.iter().any(sender))
            && (self.projects.is_empty() || self.projects.iter().any(place))
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether `text` is like `pattern`, in which each `*` means any characters.
fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests;
