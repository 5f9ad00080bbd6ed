//! An event's news of a dialog that was answered from the hub: an agent that shows its own dialog meanwhile may have used
//! the answer that was given there at the same time.

use hub_protocol::{Notification, Verdict, verdict, visible};
use serde_json::{Map, Value};

use crate::claude::{self, PLANS};
use crate::form::text;

/// An event's news of the dialogs before it.
#[derive(Debug, Clone, PartialEq)]
pub enum DialogNews {
    /// Nothing.
    Nothing,
    /// This call of a tool began.
    Began(Call),
    /// This call of a tool ran, so it was allowed.
    Ran(Call),
    /// The agent asks for another call, or its model stopped: no call that it asked for earlier waits.
    WentOn,
    /// The dialog about a permission was closed.
    Decided {
        /// Whether the permission was given.
        allowed: bool,
    },
    /// The dialog with questions was closed with these answers.
    Answered(Vec<String>),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    tool: String,
    input: Value,
}

impl Call {
    /// The call in a payload in Claude Code's format.
    pub(crate) fn of(payload: &Map<String, Value>) -> Self {
        Self {
            tool: text(payload, "tool_name").to_owned(),
            input: payload.get("tool_input").cloned().unwrap_or_default(),
        }
    }

    /// Whether a dialog asked for this call. A plan may change while it is shown.
    fn is_of(&self, asked: &Value) -> bool {
        let input = &asked["tool_input"];
        let same = if input["questions"].is_array() {
            self.input["questions"] == input["questions"]
        } else {
            self.input == *input
        };
        asked["tool_name"] == *self.tool && (same || PLANS.contains(&&*self.tool))
    }
}

impl DialogNews {
    /// Whether the agent used this answer to its request or dialog; `None` if the event does not tell.
    pub fn used(&self, dialog: &Value, answer: &Notification) -> Option<bool> {
        if dialog["tool_name"].is_null() {
            // The form of a server is shown only if the hub did not answer it.
            return Some(true);
        }
        let ran = matches!(self, Self::Ran(call) if call.is_of(dialog));
        if dialog["tool_input"]["questions"].is_array() {
            return self.used_answers(dialog, &texts(answer), ran);
        }
        let allows = !matches!(verdict(&answer.msg)?, Verdict::Deny(_));
        match self {
            _ if ran => Some(allows),
            // A call that was allowed reports its end before the next one begins.
            Self::Began(call) if !call.is_of(dialog) => (!allows).then_some(true),
            Self::WentOn => (!allows).then_some(true),
            Self::Decided { allowed } => Some(allows == *allowed),
            _ => None,
        }
    }

    /// Whether these are the answers to a dialog with questions that the agent used.
    fn used_answers(&self, dialog: &Value, given: &[String], ran: bool) -> Option<bool> {
        match self {
            Self::Ran(call) if ran => {
                let used = &call.input["answers"];
                { used.is_object() }.then(|| *used == claude::answers(dialog, given))
            }
            Self::Answered(used) => Some(used == given),
            _ => None,
        }
    }
}

/// The answers to the questions of a dialog, as the agent gets them.
fn texts(answer: &Notification) -> Vec<String> {
    let one = || vec![answer.msg.clone()];
    let all = answer.answers.clone().unwrap_or_else(one);
    all.iter().map(|it| visible(it)).collect()
}
