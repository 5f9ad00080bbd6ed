//! `hub-acp list`: the agents that speak the protocol.

use hub_agents::acp::{Known, known};

/// Prints a line for each agent.
pub(crate) fn print() {
    println!(
        "{:10} {:24} {:22} {:18} STEERS",
        "AGENT", "COMMAND", "VERIFIED WITH", "ASKS IN MODE"
    );
    for Known {
        name,
        acp,
        verified,
        ..
    } in known()
    {
        let command = acp.command.join(" ");
        let verified = verified.unwrap_or_else(|| "not run by a test".into());
        let mode = acp.ask_mode.unwrap_or("its default");
        let steers = if acp.steers { "yes" } else { "no" };
        println!("{name:10} {command:24} {verified:22} {mode:18} {steers}");
    }
}
