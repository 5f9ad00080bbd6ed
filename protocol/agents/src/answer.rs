//! The answers that an agent takes for its dialog.

use hub_protocol::{Notification, verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The kind of answer that a held hook takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnswerKind {
    /// Any text.
    Text,
    /// A text for each question of a dialog that has several.
    Texts,
    /// A decision on a permission.
    Permission,
    /// A decision on a plan.
    Plan,
    /// The content of an MCP server's form, or a refusal.
    Form,
}

impl AnswerKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Text,
        Self::Texts,
        Self::Permission,
        Self::Plan,
        Self::Form,
    ];

    /// Whether the agent can use this answer.
    pub fn accepts(self, answer: &Notification) -> bool {
        match self {
            Self::Text => true,
            Self::Texts => answer.answers.is_some(),
            Self::Permission | Self::Plan => verdict(&answer.msg).is_some(),
            Self::Form => FormAnswer::parse(&answer.msg).is_some(),
        }
    }

    /// The answers that the agent can use, for people.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Text => "answer with a text",
            Self::Texts => EACH,
            Self::Permission => "answer allow, allow always, or deny: why",
            Self::Plan => "answer approve, approve: accept edits, or reject: why",
            Self::Form => "answer accept: {JSON}, decline, or cancel",
        }
    }
}

/// How a dialog with several questions is answered.
const EACH: &str = "give `choices` with an answer to each of its questions, in their order; hubctl answer ID takes --each or --option for each";

/// The answer to an MCP server's form.
#[derive(Debug, Clone, PartialEq)]
pub enum FormAnswer {
    /// The form's content.
    Accept(Map<String, Value>),
    /// The person does not want to answer.
    Decline,
    /// The person closed the form.
    Cancel,
}

impl FormAnswer {
    /// Reads `accept: {JSON}`, a JSON object, `decline` or `cancel`.
    pub fn parse(answer: &str) -> Option<Self> {
        let answer = answer.trim();
        match answer {
            "accept" => return Some(Self::Accept(Map::new())),
            "decline" => return Some(Self::Decline),
            "cancel" => return Some(Self::Cancel),
            _ => {}
        }
        let json = answer.strip_prefix("accept:").unwrap_or(answer);
        serde_json::from_str(json).ok().map(Self::Accept)
    }
}
