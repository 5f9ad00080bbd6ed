//! Rules: the `[[on]]` tables of the configuration, as the fold and the bridges use them. Matching is pure.

use std::time::Duration;

use hub_protocol::{InboxName, Kind, PhaseName, Priority, ProjectName};

use super::record::RuleAction;

mod invalid;
mod selector;
mod settings;
mod template;

pub use invalid::InvalidRule;
pub use selector::{Selector, Subject};
pub use settings::parse;
pub use template::{Facts, Template};

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
    /// The notifications or sessions that it matches.
    pub on: Selector,
    /// For a rule about sessions: the phases, and how long a session must stay in one, in milliseconds.
    pub stay: Option<(Vec<PhaseName>, i64)>,
    /// Its actions.
    pub actions: Actions,
    /// After a firing on a sender, how long it does not fire on that sender, in milliseconds.
    pub cooldown_ms: i64,
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
        self.iter().filter(|it| it.stay.is_some())
    }

    /// Returns the rule of this name.
    pub fn get(&self, name: &str) -> Option<&Rule> {
        self.iter().find(|it| it.name == name)
    }
}

impl Rule {
    /// Whether it may match notifications of this type and priority.
    pub fn may_match(&self, kind: Kind, priority: Priority) -> bool {
        self.stay.is_none() && self.on.may_match(kind, priority)
    }

    /// Whether it does something that its cooldown prevents; a mute concerns every notification.
    pub fn has_cooldown(&self) -> bool {
        !matches!(self.due(false)[..], [RuleAction::Mute])
    }

    /// Whether it fires on this notification, apart from its cooldown.
    pub fn matches(&self, it: &Subject<'_>) -> bool {
        self.stay.is_none() && self.on.matches(it)
    }

    /// For a rule about sessions, returns how long this session must stay in this phase, in milliseconds.
    pub fn patience_ms(
        &self,
        project: &ProjectName,
        id: &str,
        name: Option<&str>,
        phase: PhaseName,
    ) -> Option<i64> {
        let (phases, patience_ms) = self.stay.as_ref()?;
        let matches = phases.contains(&phase) && self.on.is_about(project, id, name);
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

#[cfg(test)]
mod tests;
