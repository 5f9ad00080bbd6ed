//! The answers of the agents to `initialize`.

use hub_agents::acp::known;
use hub_harness::Program;
use serde_json::{Value, json};

use super::start::Agent;
use crate::support::{InstalledHub, no_limits};

/// The agents that agree to version 2 of the protocol.
const NEXT_VERSION: [&str; 2] = ["claude", "codex"];

/// Checks the table of agents: whether one takes prompts in a turn, loads sessions, and which version it speaks.
pub(super) fn are_offered(agent: &Agent) {
    let name = agent.row.trim_end_matches(['_', '1', '2']);
    let row = known().find(|it| it.name == name).expect("a row");
    let offered = initialize(agent, 1);
    let can = &offered["agentCapabilities"];
    let places = [&can["_meta"], &offered["_meta"]];
    let steers = places.iter().any(|it| it["steering"]["supported"] == true);
    assert_eq!(steers, row.acp.steers, "{offered}");
    assert_eq!(can["loadSession"], true, "{offered}");
    assert_eq!(offered["protocolVersion"], 1);
    let version = if NEXT_VERSION.contains(&name) { 2 } else { 1 };
    assert_eq!(initialize(agent, 2)["protocolVersion"], version, "{name}");
}

/// The answer of the agent to a client that speaks this version.
fn initialize(agent: &Agent, version: u64) -> Value {
    let hub = InstalledHub::without_hooks(no_limits());
    let (_model, words, env) = (agent.start)(&hub);
    let args: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let mut command = hub.command(words[0].as_ref(), &args);
    command.envs(env);
    let mut program = Program::start(command);
    // Version 2 has other names for the client's own facts.
    let client = json!({"name": "test", "version": "1"});
    let params = json!({
        "protocolVersion": version, "clientInfo": client, "info": client,
        "clientCapabilities": {}, "capabilities": {},
    });
    let request = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    program.types(&request.to_string());
    program.until("\"protocolVersion\"");
    program.until("\n");
    let printed = program.printed();
    let answer = printed
        .lines()
        .filter_map(|it| serde_json::from_str::<Value>(it).ok())
        .find(|it| it["id"] == 0);
    answer.expect("an answer")["result"].take()
}
