//! The agents that have hooks.

use std::fmt;

/// An agent, by the name that it has in commands and paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Agent {
    /// Claude Code
    Claude,
    /// Codex CLI
    Codex,
    /// Gemini CLI
    Gemini,
    /// `OpenCode`
    Opencode,
    /// Copilot CLI (experimental)
    Copilot,
    /// Cursor (experimental)
    Cursor,
}

impl Agent {
    /// Every agent.
    pub(crate) const ALL: [Self; 6] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::Copilot,
        Self::Cursor,
    ];

    /// Its name in commands and paths.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
        }
    }

    /// The environment variable in which this agent passes its process id to its hooks. Another agent's variable may be
    /// inherited, and would name the wrong process.
    pub(crate) fn pid_variable(self) -> Option<&'static str> {
        (self == Self::Claude).then_some("CLAUDE_PID")
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
