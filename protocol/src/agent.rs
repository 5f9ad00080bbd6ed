//! The coding agents whose hooks the hub understands.

use std::fmt;
use std::str::FromStr;

/// A coding agent, by its name in `POST /hooks/{agent}` and in commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// `OpenCode`.
    OpenCode,
    /// Copilot CLI; experimental.
    Copilot,
    /// Cursor; experimental.
    Cursor,
}

/// The error for the name of an agent that the hub does not know.
#[derive(Debug, thiserror::Error)]
#[error("no agent '{0}'")]
pub struct UnknownAgent(String);

impl Agent {
    /// Every agent.
    pub const ALL: [Self; 6] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::OpenCode,
        Self::Copilot,
        Self::Cursor,
    ];

    /// The name in paths and commands.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
        }
    }
}

impl FromStr for Agent {
    type Err = UnknownAgent;

    fn from_str(text: &str) -> Result<Self, UnknownAgent> {
        let known = Self::ALL.into_iter().find(|it| it.as_str() == text);
        known.ok_or_else(|| UnknownAgent(text.chars().take(64).collect()))
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
