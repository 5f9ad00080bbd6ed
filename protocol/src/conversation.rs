//! A session's conversation: what was said to it and by it, ready to draw.

use serde::{Deserialize, Serialize};

use crate::{Decision, QuestionState, Seq, Timestamp};

/// A part of a conversation, the answer to `GET /sessions/{target}/conversation`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The words and acts, oldest first.
    pub entries: Vec<ConversationEntry>,
    /// Whether the hub keeps prompts and agents' last messages; those of the past stay what they are.
    pub keeps_words: bool,
    /// Whether the hub stopped at its limit of records for one request before the page was full.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The `before` of the older part, if there may be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Seq>,
}

/// One thing that was said or done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConversationEntry {
    /// The record that has it. An entry with words of a notification has its id.
    pub seq: Seq,
    /// When it was said.
    pub ts: Timestamp,
    /// Its kind.
    pub kind: EntryKind,
    /// The speaker's name: `person`, a session, another sender, `hub`.
    pub by: String,
    /// Their act, after the name: `wants to run a command`.
    pub title: String,
    /// The words, whole, as they were written; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How a question ended; absent as long as it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<GivenAnswer>,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A prompt of the person, of a program or of another session.
    Prompt,
    /// The hub, or a background task, began a turn.
    Wake,
    /// The agent stopped.
    Stop,
    /// The agent asked.
    Question,
    /// The agent asked whether it may use a tool.
    Permission,
    /// The agent asked whether it may carry out a plan.
    Plan,
    /// A server that the agent uses asked for details.
    Form,
    /// The agent failed.
    Error,
    /// The agent could not go on for a time.
    Limit,
    /// A notification to the session.
    Message,
    /// A notification of the session.
    #[default]
    Note,
}

/// How a question ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GivenAnswer {
    /// The question's final state.
    pub state: QuestionState,
    /// The end in words: `allowed`, `answered`, `expired`.
    pub title: String,
    /// The name of the one who answered or withdrew it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The decision, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The answer's words, or the reason of a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
