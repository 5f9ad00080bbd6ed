//! The records of rules.

use hub_protocol::{InboxName, PhaseName, ProjectName, Seq, Timestamp};
use serde::{Deserialize, Serialize};

/// A firing of a rule, in the commit of the notification that it fired on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleFired {
    /// The name of the rule.
    pub rule: String,
    /// The project of the notification or the session.
    pub project: ProjectName,
    /// The sender of the notification, or the session that stayed in a phase.
    pub session: InboxName,
    /// The notification that it fired on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notification: Option<Seq>,
    /// The phase that the session stayed in, and since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stay: Option<(PhaseName, Timestamp)>,
    /// The actions of the firing.
    pub actions: Vec<RuleAction>,
    /// The name of the forward, for the action `forward`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<String>,
    /// The notification that it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Seq>,
    /// Until when it does not fire on this sender again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_until: Option<Timestamp>,
    /// For the action `escalate`: when, and the text for the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalate: Option<(Timestamp, String)>,
    /// When it fired.
    pub at: Timestamp,
}

hub_protocol::named! {
    /// An action of a rule.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum RuleAction {
        /// The notification wakes no reader.
        Mute = "mute",
        /// It makes a notification, in the same commit.
        Notify = "notify",
        /// It passes the notification to a forward.
        Forward = "forward",
        /// It runs a program.
        Run = "run",
        /// It notifies the person later, unless the notification is settled by then.
        Escalate = "escalate",
    }
}

/// Another fact about a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleNoted {
    /// The name of the rule.
    pub rule: String,
    /// The fact.
    #[serde(flatten)]
    pub note: RuleNote,
    /// When.
    pub at: Timestamp,
}

/// A fact about a rule besides its firings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum RuleNote {
    /// A hub started with it for the first time; it fires on no phase that began before.
    Began,
    /// The program of a firing is about to start. A program is never started twice.
    Started {
        /// The record of the firing.
        firing: Seq,
        /// The notification that it fired on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notification: Option<Seq>,
    },
    /// The program of a firing was killed after its time limit, ended with an error, or could not be started.
    Failed {
        /// The record of the firing.
        firing: Seq,
        /// The notification that it fired on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notification: Option<Seq>,
        /// How it ended, for people.
        why: String,
    },
    /// The time of an escalation is over.
    Escalated {
        /// The record of the firing.
        firing: Seq,
        /// The notification that it fired on.
        notification: Seq,
        /// The notification to the person; `None` if the first one was settled in time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made: Option<Seq>,
    },
}
