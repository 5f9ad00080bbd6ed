//! The coding agents that the hub knows, one file an agent: its facts, its settings files, and the form of its hooks. `hubd`,
//! `hubctl`, the tests and the documentation ask this crate and no other about an agent.
//!
//! To add an agent: its file, and its two lines below.

pub mod acp;
mod always;
mod answer;
mod claude;
mod codex;
mod copilot;
mod cursor;
mod dialog_news;
mod event;
pub mod extension;
mod facts;
mod form;
mod gemini;
mod kilo;
mod kimi;
mod opencode;
mod pi;
mod qwen;
mod reporter;
pub mod request;
mod settings;
mod transcript;
mod turn_cause;

use std::fmt;
use std::str::FromStr;

use hub_protocol::first_chars;

pub use always::always;
pub use answer::{AnswerKind, FormAnswer};
pub use claude::PLANS;
pub use dialog_news::{Call, DialogNews};
pub use event::AgentEvent;
pub use facts::{Docs, Facts, Foreign, OneAnswer};
pub use form::{HookReply, InvalidSessionId, ParsedHook, ToolUse, parse, render};
pub use reporter::Reporter;
pub use settings::{Allow, Commands, Content, Event, Files, Json, Managed, Settings, Shape};
pub use transcript::is_of_peer;
pub use turn_cause::TurnCause;

/// The agents, each with its file.
macro_rules! agents {
    ($($(#[$doc:meta])* $name:ident = $module:ident,)*) => {
        /// A coding agent, by its name in `POST /hooks/{agent}` and in commands.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Agent {
            $($(#[$doc])* $name,)*
        }

        impl Agent {
            /// Every agent.
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];

            /// The facts about the agent.
            pub const fn facts(self) -> &'static Facts {
                match self {
                    $(Self::$name => &$module::FACTS,)*
                }
            }

            /// The agent's settings files, and the hooks in them.
            pub const fn settings(self) -> &'static Settings {
                match self {
                    $(Self::$name => &$module::SETTINGS,)*
                }
            }

            const fn form(self) -> &'static form::Form {
                match self {
                    $(Self::$name => &$module::FORM,)*
                }
            }
        }
    };
}

agents! {
    /// Claude Code.
    Claude = claude,
    /// Codex CLI.
    Codex = codex,
    /// Gemini CLI.
    Gemini = gemini,
    /// `OpenCode`.
    OpenCode = opencode,
    /// Qwen Code.
    Qwen = qwen,
    /// Pi.
    Pi = pi,
    /// Copilot CLI.
    Copilot = copilot,
    /// Kimi Code.
    Kimi = kimi,
    /// Kilo Code.
    Kilo = kilo,
    /// Cursor.
    Cursor = cursor,
}

/// The error for the name of an agent that the hub does not know.
#[derive(Debug, thiserror::Error)]
#[error("no agent '{0}': the hub knows {all}", all = Agent::ALL.map(Agent::as_str).join(", "))]
pub struct UnknownAgent(String);

impl Agent {
    /// The name in paths and commands.
    pub const fn as_str(self) -> &'static str {
        self.facts().name
    }

    /// The variables in which agents pass their session's id to the processes that they start.
    pub fn session_variables() -> impl Iterator<Item = &'static str> {
        Self::ALL
            .into_iter()
            .filter_map(|it| it.facts().session_variable)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_of_one_agent() {
        for agent in Agent::ALL {
            assert_eq!(agent.as_str().parse::<Agent>().unwrap(), agent);
        }
        let unknown = "cl".parse::<Agent>().unwrap_err();
        let text = unknown.to_string();
        assert!(text.starts_with("no agent 'cl': the hub knows claude, codex, "));
    }
}
