//! Replies of the model.

use serde_json::{Value, json};

/// A reply of the model.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Text or a call of a tool.
    Says(Block),
    /// An error with this HTTP status and Anthropic's name for the error.
    Fails(u16, String),
    /// The account has reached its usage limit, which ends at this time, in seconds since 1970.
    Limited(i64),
}

/// The content of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text.
    Text(String),
    /// A call of a tool, with its name and its input.
    Tool(String, Value),
}

impl Reply {
    /// Returns a reply of text alone, which ends the turn.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Says(Block::Text(text.into()))
    }

    /// Returns a call of a tool.
    pub fn tool(name: &str, input: Value) -> Self {
        Self::Says(Block::Tool(name.into(), input))
    }

    /// Returns a call of Claude Code's Bash.
    pub fn bash(command: &str) -> Self {
        Self::tool("Bash", json!({"command": command, "description": command}))
    }

    /// Returns a call of Claude Code's Bash in the background.
    pub fn bash_in_background(command: &str) -> Self {
        let input = json!({"command": command, "description": command, "run_in_background": true});
        Self::tool("Bash", input)
    }
}
