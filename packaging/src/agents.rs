//! The tables of agents in the documentation: they follow from the crate that knows them.

use std::fmt::Write as _;

use anyhow::Context as _;
use hub_agents::acp::{self, Known};
use hub_agents::{Agent, Facts};

/// The line before the table. A line with [`END`] is after it.
const BEGIN: &str =
    "<!-- Written from protocol/agents by: cargo run -p hub-packaging -- docs -->\n";
const END: &str = "<!-- the end of the table -->\n";

/// Returns the page with this table.
pub(crate) fn with_table(page: &str, table: &str) -> anyhow::Result<String> {
    let (before, rest) = page.split_once(BEGIN).context(BEGIN)?;
    let (_, after) = rest.split_once(END).context(END)?;
    Ok([before, BEGIN, "\n", table, "\n", END, after].concat())
}

/// The table of `docs/reference/agents.md`.
pub(crate) fn table() -> String {
    let mut table =
        "| agent | product | hooks | ways to wake a session | verified with | known limits |\n\
        |---|---|---|---|---|---|\n"
            .to_owned();
    for facts in Agent::ALL.map(Agent::facts) {
        let Facts { name, product, .. } = facts;
        let ways = facts.ways.iter().map(|it| format!("`{}`", it.as_str()));
        let ways = ways.collect::<Vec<_>>().join(", ");
        let verified = facts.verified();
        let verified = verified.unwrap_or_else(|| "experimental: not run".into());
        let (hooks, limits) = (facts.docs.hooks, facts.docs.limits);
        let _ = writeln!(
            table,
            "| `{name}` | {product} | {hooks} | {ways} | {verified} | {limits} |"
        );
    }
    table
}

/// The table of `docs/how-to/acp.md`.
pub(crate) fn acp_table() -> String {
    let mut table = "| agent | command | verified with | mode in which it asks | takes prompts in a turn | differs from the protocol |\n\
        |---|---|---|---|---|---|\n"
        .to_owned();
    for Known {
        product,
        acp,
        verified,
        ..
    } in acp::known()
    {
        let command = acp.command.join(" ");
        let verified = verified.unwrap_or_else(|| "not run by a test".into());
        let mode = acp
            .ask_mode
            .map_or("its default".into(), |it| format!("`{it}`"));
        let steers = if acp.steers { "yes" } else { "no" };
        let limits = acp.limits;
        let _ = writeln!(
            table,
            "| {product} | `{command}` | {verified} | {mode} | {steers} | {limits} |"
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &str = include_str!("../../docs/reference/agents/settings.md");

    #[test]
    fn the_page_about_settings_names_every_variable_and_every_switch() {
        for agent in Agent::ALL {
            let (settings, product) = (agent.settings(), agent.facts().product);
            for (variable, _) in settings
                .files
                .moved
                .iter()
                .filter(|it| !it.0.starts_with("XDG_"))
            {
                assert!(SETTINGS.contains(&format!("`{variable}`")), "{variable}");
            }
            let of_agent = format!("| {product} |");
            let row = SETTINGS.lines().find(|it| it.starts_with(&of_agent));
            assert_eq!(row.is_some(), !settings.switches.is_empty(), "{of_agent}");
            for (switch, _) in settings.switches.iter().take(1) {
                let name = switch.rsplit('/').next().unwrap_or_default();
                assert!(
                    row.is_some_and(|it| it.contains(name)),
                    "{product}: {switch}"
                );
            }
        }
    }
}
