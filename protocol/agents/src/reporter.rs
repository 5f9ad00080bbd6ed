//! The reporter of a session's events.

use std::fmt;
use std::str::FromStr;

use crate::facts::Facts;
use crate::form::Form;
use crate::{Agent, UnknownAgent, acp};

/// The reporter of a session's events, by its name in `POST /hooks/{agent}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reporter {
    /// The hooks of an agent.
    Hooks(Agent),
    /// `hub-acp`, which runs any agent by the Agent Client Protocol.
    Acp,
}

impl Reporter {
    /// The facts about the agent's own hooks, or of the events of `hub-acp`.
    pub fn facts(self) -> &'static Facts {
        match self {
            Self::Hooks(agent) => agent.facts(),
            Self::Acp => &acp::FACTS,
        }
    }

    /// The name in paths.
    pub fn as_str(self) -> &'static str {
        self.facts().name
    }

    pub(crate) fn form(self) -> &'static Form {
        match self {
            Self::Hooks(agent) => agent.form(),
            Self::Acp => &acp::FORM,
        }
    }
}

impl From<Agent> for Reporter {
    fn from(agent: Agent) -> Self {
        Self::Hooks(agent)
    }
}

impl FromStr for Reporter {
    type Err = UnknownAgent;

    fn from_str(text: &str) -> Result<Self, UnknownAgent> {
        if text == acp::FACTS.name {
            return Ok(Self::Acp);
        }
        text.parse().map(Self::Hooks)
    }
}

impl fmt::Display for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
