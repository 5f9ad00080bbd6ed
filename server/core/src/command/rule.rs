//! The steps of rules that do not follow from a command of a client.

use hub_protocol::{InboxName, PhaseName, ProjectName, Seq, Timestamp};
use serde::{Deserialize, Serialize};

/// A step of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuleCommand {
    /// The hub has started with these rules about sessions.
    Begin(Vec<String>),
    /// A session has stayed in a phase for as long as a rule says.
    Lasted {
        /// The name of the rule.
        rule: String,
        /// The project of the session.
        project: ProjectName,
        /// The session's first id.
        session: InboxName,
        /// The phase.
        phase: PhaseName,
        /// When the phase began.
        since: Timestamp,
    },
    /// The hub is about to start the program of this firing.
    Start(Seq),
    /// The program of a firing has failed.
    Fail {
        /// The name of the rule.
        rule: String,
        /// The record of the firing.
        firing: Seq,
        /// The notification that it fired on.
        notification: Option<Seq>,
        /// How it ended, for people.
        why: String,
    },
}
