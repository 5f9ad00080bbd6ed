//! The coding agents whose hooks the hub understands.

use std::fmt;
use std::str::FromStr;

use crate::first_chars;

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
    /// Qwen Code.
    Qwen,
    /// Pi.
    Pi,
    /// Copilot CLI.
    Copilot,
    /// Kimi Code.
    Kimi,
    /// Cursor.
    Cursor,
}

/// The error for the name of an agent that the hub does not know.
#[derive(Debug, thiserror::Error)]
#[error("no agent '{0}'")]
pub struct UnknownAgent(String);

impl Agent {
    /// Every agent.
    pub const ALL: [Self; 9] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::OpenCode,
        Self::Qwen,
        Self::Pi,
        Self::Copilot,
        Self::Kimi,
        Self::Cursor,
    ];

    /// The name in commands, the name of the product, and the version that the tests ran last.
    const fn facts(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            Self::Claude => ("claude", "Claude Code", Some("2.1.330")),
            Self::Codex => ("codex", "Codex CLI", Some("0.169.0")),
            Self::Gemini => ("gemini", "Gemini CLI", Some("0.61.0")),
            Self::OpenCode => ("opencode", "OpenCode", Some("1.18.33 and 2.0.15")),
            Self::Qwen => ("qwen", "Qwen Code", Some("0.24.4")),
            Self::Pi => ("pi", "Pi", Some("1.5.2")),
            Self::Copilot => ("copilot", "Copilot CLI", Some("1.0.102")),
            Self::Kimi => ("kimi", "Kimi Code", Some("2.1.0")),
            Self::Cursor => ("cursor", "Cursor", None),
        }
    }

    /// The name in paths and commands.
    pub const fn as_str(self) -> &'static str {
        self.facts().0
    }

    /// The name of the product.
    pub const fn product(self) -> &'static str {
        self.facts().1
    }

    /// The version with which the hooks were last verified; `None` if they are experimental, because no test has run
    /// the program.
    pub const fn verified(self) -> Option<&'static str> {
        self.facts().2
    }

    /// Whether the answer to a hook of the prompt delivers notifications to the model. Cursor's hook of the prompt takes no
    /// text.
    pub const fn prompts_deliver(self) -> bool {
        !matches!(self, Self::Cursor)
    }

    /// Whether the hooks run within the agent's own process, in a file of their own, and wake its sessions there.
    pub const fn has_extension(self) -> bool {
        matches!(self, Self::OpenCode | Self::Pi)
    }
}

impl FromStr for Agent {
    type Err = UnknownAgent;

    fn from_str(text: &str) -> Result<Self, UnknownAgent> {
        let known = Self::ALL.into_iter().find(|it| it.as_str() == text);
        known.ok_or_else(|| UnknownAgent(first_chars(text, 64).into()))
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
