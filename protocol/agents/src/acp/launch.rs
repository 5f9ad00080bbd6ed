//! How each agent is started for the Agent Client Protocol, and how it departs from the protocol.

use super::vibe;
use crate::Agent;

/// How an agent speaks the Agent Client Protocol. An agent's file starts from [`Acp::NONE`].
#[derive(Debug, PartialEq, Eq)]
pub struct Acp {
    /// The command that speaks the protocol on stdin and stdout.
    pub command: &'static [&'static str],
    /// The package of `command`, with the version with which it was last verified, if it is not the agent's own.
    pub adapter: Option<&'static str>,
    /// The mode in which it asks before it acts, if its default is another one.
    pub ask_mode: Option<&'static str>,
    /// Whether a prompt can be put into a running turn (`_session/steering`).
    pub steers: bool,
    /// Whether it begins turns without a prompt, when a task in its background ends.
    pub begins_turns: bool,
    /// The departures from the protocol, for people.
    pub limits: &'static str,
}

impl Acp {
    /// An agent without properties.
    pub const NONE: Self = Self {
        command: &[],
        adapter: None,
        ask_mode: None,
        steers: false,
        begins_turns: false,
        limits: "",
    };
}

/// An agent that speaks the protocol.
#[derive(Debug, Clone)]
pub struct Known {
    /// The name in commands and in the hub.
    pub name: &'static str,
    /// The name of the product.
    pub product: &'static str,
    /// How it speaks it.
    pub acp: &'static Acp,
    /// The versions with which it was last verified; `None` if no test has run it.
    pub verified: Option<String>,
}

/// Every agent that speaks the protocol.
pub fn known() -> impl Iterator<Item = Known> {
    let own = Agent::ALL.into_iter().filter_map(|agent| {
        let facts = agent.facts();
        let acp = facts.acp.as_ref()?;
        let version = |package: &str| Some(package.rsplit('@').next()?.to_owned());
        Some(Known {
            name: facts.name,
            product: facts.product,
            acp,
            verified: acp.adapter.map_or_else(|| facts.verified(), version),
        })
    });
    own.chain([vibe::KNOWN])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_of_one_agent() {
        let mut commands: Vec<_> = known().map(|it| it.acp.command).collect();
        assert!(commands.iter().all(|it| !it.is_empty()));
        let count = commands.len();
        commands.sort_unstable();
        commands.dedup();
        assert_eq!(commands.len(), count);
    }
}
