//! Rules of the hub, and their dry runs.

use serde::{Deserialize, Serialize};

use crate::{InboxName, ProjectName, Seq, Timestamp};

/// The answer to a list of the rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleList {
    /// The rules, in the order of the configuration.
    pub rules: Vec<RuleInfo>,
    /// The same for people, on several lines.
    pub text: String,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleInfo {
    /// Its name.
    pub name: String,
    /// Its condition.
    pub when: String,
    /// Its actions.
    pub then: String,
    /// How often it fired.
    pub fired: u64,
    /// When it fired last.
    pub last: Option<Timestamp>,
    /// Why the hub does not run its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// A firing in a dry run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleMatch {
    /// The name of the rule.
    pub rule: String,
    /// When it would have fired.
    pub at: Timestamp,
    /// The project of the notification or the session.
    pub project: ProjectName,
    /// The sender of the notification, or the session that stayed in a phase.
    pub from: InboxName,
    /// The notification that it would have fired on.
    pub notification: Option<Seq>,
    /// The beginning of the text, or the phase.
    pub text: String,
}
