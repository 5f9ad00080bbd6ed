//! Agents as arguments of commands.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hub_protocol::Agent;

/// Parses the name of an agent.
pub(crate) fn parser() -> impl TypedValueParser<Value = Agent> {
    let value = |agent: Agent| PossibleValue::new(agent.as_str()).help(product(agent));
    // The values that the parser admits are the agents' names.
    PossibleValuesParser::new(Agent::ALL.map(value))
        .map(|name| name.parse().expect("the name of an agent"))
}

/// The name of the agent's product.
fn product(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "Claude Code",
        Agent::Codex => "Codex CLI",
        Agent::Gemini => "Gemini CLI",
        Agent::OpenCode => "OpenCode",
        Agent::Copilot => "Copilot CLI (experimental)",
        Agent::Cursor => "Cursor (experimental)",
    }
}
