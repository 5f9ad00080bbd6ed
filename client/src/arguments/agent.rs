//! Agents as arguments of commands.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hub_agents::Agent;

/// Parses the name of an agent.
pub(crate) fn parser() -> impl TypedValueParser<Value = Agent> {
    let value = |agent: Agent| PossibleValue::new(agent.as_str()).help(described(agent));
    // The values that the parser admits are the agents' names.
    PossibleValuesParser::new(Agent::ALL.map(value))
        .map(|name| name.parse().expect("the name of an agent"))
}

/// The name of the agent's product, and whether its hooks are experimental.
fn described(agent: Agent) -> String {
    let product = agent.facts().product;
    if agent.facts().verified.is_empty() {
        return format!("{product} (experimental: not run)");
    }
    product.to_owned()
}
