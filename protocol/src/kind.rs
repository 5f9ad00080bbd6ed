//! The types of notification, their aliases, and the session state that each one reports.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use crate::first_chars;

crate::named! {
    /// The type of a notification, JSON field `type`.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    pub enum Kind {
        /// The work is done.
        #[default]
        Complete = "complete",
        /// The session is idle and waits for input.
        Waiting = "waiting",
        /// The session needs an answer before it can go on.
        Question = "question",
        /// The session needs a permission for a step.
        Approval = "approval",
        /// The work is done and should be tested.
        Testing = "testing",
        /// The work failed.
        Error = "error",
        /// The work goes on; the notification is stored and wakes no reader.
        Progress = "progress",
        /// Any other text.
        Message = "message",
        /// The answer to an open question.
        Answer = "answer",
        /// The session is over.
        Ended = "ended",
    }
}

crate::named! {
    /// The state of a session, derived from its notifications.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum SessionState {
        /// The session works.
        Working = "working",
        /// The session is idle.
        Waiting = "waiting",
        /// The session needs an answer or a permission.
        Blocked = "blocked",
        /// The session's work is done.
        Complete = "complete",
        /// The session's work failed.
        Error = "error",
        /// The session is over.
        Ended = "ended",
    }
}

/// The error for a type that does not exist; its text lists those that do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown type '{0}' (expected one of: {all})", all = Kind::ALL.map(Kind::as_str).join(", "))]
pub struct UnknownKind(String);

impl Kind {
    /// The state of a session that posts this type; `None` if the type does not change it.
    pub fn session_state(self) -> Option<SessionState> {
        Some(match self {
            Self::Complete => SessionState::Complete,
            Self::Waiting | Self::Testing => SessionState::Waiting,
            Self::Question | Self::Approval => SessionState::Blocked,
            Self::Error => SessionState::Error,
            Self::Progress => SessionState::Working,
            Self::Ended => SessionState::Ended,
            Self::Message | Self::Answer => return None,
        })
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    /// Parses a type, or one of the aliases that other tools use for it.
    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        Ok(match text {
            "complete" | "completed" | "stop" | "done" => Self::Complete,
            "waiting" | "idle" | "idle_prompt" => Self::Waiting,
            "question" | "needs_input" | "input_request" => Self::Question,
            "approval" | "permission" | "permission_prompt" | "approval_request" => Self::Approval,
            "testing" | "needs_testing" => Self::Testing,
            "error" | "failed" => Self::Error,
            "progress" | "working" | "progress_update" => Self::Progress,
            "message" | "info" | "note" | "feedback" => Self::Message,
            "answer" => Self::Answer,
            "ended" | "session_end" => Self::Ended,
            _ => return Err(UnknownKind(first_chars(text, 64).into())),
        })
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_parses_from_its_own_name() {
        for kind in Kind::ALL {
            assert_eq!(kind.as_str().parse::<Kind>().unwrap(), kind);
        }
    }

    #[test]
    fn the_error_for_an_unknown_type_lists_the_known_ones() {
        let error = "finished".parse::<Kind>().unwrap_err().to_string();
        assert!(error.contains("complete, waiting, question"), "{error}");
    }
}
