//! What the model answers.

use serde_json::{Value, json};

/// An answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// It says something, calls tools, or both.
    Blocks(Vec<Block>),
    /// The server refuses, with this HTTP status and the vendor's name for the error.
    Fails(u16, String),
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Words.
    Text(String),
    /// A call of a tool: its name and its input.
    Tool(String, Value),
}

impl Reply {
    /// Words, which end the turn.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Blocks(vec![Block::Text(text.into())])
    }

    /// A call of a tool.
    pub fn tool(name: &str, input: Value) -> Self {
        Self::Blocks(vec![Block::Tool(name.into(), input)])
    }

    /// Claude Code's Bash.
    pub fn bash(command: &str) -> Self {
        Self::tool("Bash", json!({"command": command, "description": command}))
    }

    /// Claude Code's Bash, in the background.
    pub fn bash_in_background(command: &str) -> Self {
        let input = json!({"command": command, "description": command, "run_in_background": true});
        Self::tool("Bash", input)
    }
}
