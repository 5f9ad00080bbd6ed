//! The controls that answer a question, and the request that an answer allows: read from the agent's payload by the hub alone.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{InboxName, Seq, Verdict, verdict};

/// One control. A question has one, or a `choice` for each question of its dialog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Control {
    /// A question with options; a text of the person's own is an answer too.
    Choice(Choice),
    /// A decision on a permission or a plan.
    Verdict {
        /// Whether the hub has all of what would be allowed. Otherwise only the agent's own terminal can allow it.
        allow: bool,
        /// What `allow_always` allows from now on, and for how long: `Bash(make *) for this session`. Without it,
        /// `allow_always` is no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        always: Option<String>,
        /// Whether `accept_edits` is an answer: the plan is approved, and the agent edits files without asking.
        #[serde(default)]
        edits: bool,
    },
    /// The form of a tool server.
    Form {
        /// Its fields, in their order.
        fields: Vec<Field>,
    },
    /// Any text.
    Reply,
}

/// A question with its options.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The question's text.
    pub question: String,
    /// A word or two that name it; empty if the agent gave none.
    #[serde(default)]
    pub header: String,
    /// Whether several options may be chosen.
    #[serde(default)]
    pub many: bool,
    /// The answers that it offers.
    pub options: Vec<Offer>,
}

/// An answer that a question offers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The answer.
    pub label: String,
    /// More about it; empty if the agent gave nothing.
    #[serde(default)]
    pub description: String,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Its name in the answer.
    pub name: String,
    /// Its name for people.
    pub label: String,
    /// More about it; empty if the server gave nothing.
    #[serde(default)]
    pub description: String,
    /// The values that it takes.
    #[serde(rename = "type")]
    pub kind: FieldKind,
    /// Whether an answer needs a value for it.
    #[serde(default)]
    pub required: bool,
    /// The values of a `choice` or of `choices`.
    #[serde(default)]
    pub choices: Vec<FieldChoice>,
    /// The value that it has before the person changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<Value>,
}

/// The values that a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// A text.
    Text,
    /// A number.
    Number,
    /// A number without fraction.
    Integer,
    /// Yes or no.
    Boolean,
    /// One of `choices`.
    Choice,
    /// Any of `choices`.
    Choices,
}

/// A value of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldChoice {
    /// The value.
    pub value: String,
    /// The value for people.
    pub label: String,
}

/// An agent's request to use a tool. No field of the agent's payload is left out, but for the rules that it suggests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRequest {
    /// The tool's name; empty if the request names none.
    #[serde(default)]
    pub tool: String,
    /// The fields that `change` does not show, as the agent wrote them, the most informative first.
    #[serde(default)]
    pub parts: Vec<RequestPart>,
    /// The change of a file that it makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<FileChange>,
    /// The risks of its command, the worst first. A command without a risk is not safe, only of no kind that is known.
    #[serde(default)]
    pub risks: Vec<String>,
}

/// A field of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPart {
    /// Its name; empty for a request that is only a text.
    pub name: String,
    /// Its text; other data as JSON.
    pub text: String,
}

impl RequestPart {
    /// Whether it is the command to be run.
    pub fn is_command(&self) -> bool {
        matches!(self.name.as_str(), "" | "command" | "cmd")
    }
}

/// A change of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The path of the file.
    pub path: String,
    /// The edits, in their order.
    pub edits: Vec<Edit>,
}

/// A text of a file and its replacement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The text; empty if the whole file is written.
    pub before: String,
    /// Its replacement.
    pub after: String,
    /// Whether every occurrence is replaced.
    #[serde(default)]
    pub all: bool,
}

/// A decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Allowed this time; for a plan: approved.
    Allow,
    /// Allowed, and from now on what the agent offers too.
    AllowAlways,
    /// The plan is approved, and the session may edit files without asking.
    AcceptEdits,
    /// Denied; for a form: declined.
    Deny,
    /// The form is closed without an answer.
    Cancel,
}

impl Decision {
    /// The decision for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::AllowAlways => "allow always",
            Self::AcceptEdits => "approve: accept edits",
            Self::Deny => "deny",
            Self::Cancel => "cancel",
        }
    }
}

/// The answer to one question of a dialog: options by their labels, a text, or both if several may be chosen. Without either,
/// the question stays without an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// The labels of the chosen options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// A text of the person's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An answer, one kind for each [`Control`].
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// For a question, or for each question of a dialog, in their order.
    Choices(Vec<Chosen>),
    /// For a permission or a plan, with a reason if it is denied; for a form only `deny` and `cancel`.
    Verdict(Decision, Option<String>),
    /// The content of a form.
    Form(Map<String, Value>),
    /// For a question: a text.
    Reply(String),
}

impl Answer {
    /// The answer that a person types in one line: `allow`, `allow always` and `deny: why` for a permission, `approve`,
    /// `approve: accept edits` and `reject: why` for a plan, JSON, `decline` and `cancel` for a form; else a text.
    pub fn of_words(text: &str, controls: &[Control]) -> Self {
        let words = text.trim();
        match controls {
            [Control::Verdict { .. }] => verdict(words).map(|it| match it {
                Verdict::Allow => Self::Verdict(Decision::Allow, None),
                Verdict::AllowAlways => Self::Verdict(Decision::AllowAlways, None),
                Verdict::AcceptEdits => Self::Verdict(Decision::AcceptEdits, None),
                Verdict::Deny(reason) => Self::Verdict(Decision::Deny, reason),
            }),
            [Control::Form { .. }] if words == "decline" => {
                Some(Self::Verdict(Decision::Deny, None))
            }
            [Control::Form { .. }] if words == "cancel" => {
                Some(Self::Verdict(Decision::Cancel, None))
            }
            [Control::Form { .. }] => {
                let json = words.strip_prefix("accept:").unwrap_or(words);
                serde_json::from_str(json).ok().map(Self::Form)
            }
            _ => None,
        }
        .unwrap_or_else(|| Self::Reply(text.to_owned()))
    }
}

impl fmt::Display for Answer {
    /// The answer for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choices(all) => {
                let texts = all.iter().map(|it| {
                    let chosen = it.labels.iter().chain(&it.text);
                    chosen.map(String::as_str).collect::<Vec<_>>().join(", ")
                });
                f.write_str(&texts.collect::<Vec<_>>().join(" · "))
            }
            Self::Verdict(decision, None) => f.write_str(decision.words()),
            Self::Verdict(decision, Some(reason)) => write!(f, "{}: {reason}", decision.words()),
            Self::Form(content) => write!(f, "{}", Value::Object(content.clone())),
            Self::Reply(text) => f.write_str(text),
        }
    }
}

/// The body of `POST /needs/{id}/answer`: exactly one of `choices`, `verdict`, `form` and `reply`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerPost {
    /// An answer for each question of a dialog, in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<Chosen>>,
    /// A decision on a permission or a plan; for a form `deny` or `cancel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Decision>,
    /// Why it is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The values of a form's fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Map<String, Value>>,
    /// A text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// The `revision` of the need that the answer was given to; an answer to another one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Seq>,
    /// The agent session that answers; absent for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<InboxName>,
    /// The name of the one who answers, if it is not a session; `person` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<InboxName>,
    /// Whether the person typed it in a dialog of the client that runs the caller.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dialog: bool,
    /// Any JSON value that the client adds.
    #[serde(
        default,
        deserialize_with = "crate::null::value",
        skip_serializing_if = "Option::is_none"
    )]
    pub data: Option<Value>,
}

impl AnswerPost {
    /// An answer of a person.
    pub fn new(answer: Answer) -> Self {
        let mut post = Self::default();
        match answer {
            Answer::Choices(choices) => post.choices = Some(choices),
            Answer::Verdict(decision, reason) => {
                (post.verdict, post.reason) = (Some(decision), reason);
            }
            Answer::Form(content) => post.form = Some(content),
            Answer::Reply(text) => post.reply = Some(text),
        }
        post
    }

    /// Its answer; `None` if it has none or several, or a reason for something else than a decision.
    pub fn answer(&self) -> Option<Answer> {
        match (&self.choices, self.verdict, &self.form, &self.reply) {
            (None, Some(decision), None, None) => {
                Some(Answer::Verdict(decision, self.reason.clone()))
            }
            _ if self.reason.is_some() => None,
            (Some(choices), None, None, None) => Some(Answer::Choices(choices.clone())),
            (None, None, Some(content), None) => Some(Answer::Form(content.clone())),
            (None, None, None, Some(text)) => Some(Answer::Reply(text.clone())),
            _ => None,
        }
    }
}
