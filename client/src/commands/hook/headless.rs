//! Tells whether an agent's session is headless: it answers one prompt and ends, so nothing can wake it.

use hub_agents::Agent;
use hub_protocol::Process;
use hub_protocol::process::{command_line, reads_terminal};

use crate::system::env::Env;
use crate::system::process;

/// Whether the agent's variable says that this session is headless, or belongs to a program that waits for its end.
pub(crate) fn is_headless(env: &Env, agent: Agent) -> bool {
    let Some((variable, of_terminal)) = agent.facts().one_answer.variable else {
        return false;
    };
    let wanted = env.var("HUB_REWAKE_HEADLESS").is_some_and(|it| it == "1");
    !wanted && env.var(variable).is_some_and(|it| it != of_terminal)
}

/// Whether a session of `agent` is headless, by the agent's variable or else by its command line.
pub(super) fn is_single_shot(env: &Env, agent: Agent, process: Option<&Process>) -> bool {
    let facts = &agent.facts().one_answer;
    if facts.variable.is_some() {
        return is_headless(env, agent);
    }
    let Some(pid) = process.map(|it| it.pid) else {
        return false;
    };
    let mut line = command_line(pid);
    if facts
        .server
        .is_some_and(|server| line.iter().any(|it| it == server))
    {
        let mut ancestors = process::ancestors().into_iter();
        let parent = ancestors.find(|it| it.pid == pid).and(ancestors.next());
        line = parent.map(|it| command_line(it.pid)).unwrap_or_default();
    }
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    facts.is_asked_by(&line) || facts.reads_pipes && !reads_a_terminal(pid, &line)
}

/// Whether Gemini CLI or its fork Qwen Code reads its prompts from a terminal or an editor (`--acp`). From a pipe it reads
/// one prompt, answers and ends.
fn reads_a_terminal(pid: u32, args: &[&str]) -> bool {
    args.iter().any(|arg| arg.ends_with("acp")) || reads_terminal(pid).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_entry_point_except_the_terminals_is_headless() {
        let of = |vars: &[(&str, &str)]| is_headless(&Env::of(Path::new("/"), vars), Agent::Claude);
        let entry = |name| ("CLAUDE_CODE_ENTRYPOINT", name);
        for name in ["sdk-cli", "sdk-ts", "sdk-py", "from-the-future"] {
            assert!(of(&[entry(name)]), "{name}");
            assert!(!of(&[entry(name), ("HUB_REWAKE_HEADLESS", "1")]), "{name}");
        }
        assert!(!of(&[entry("cli")]) && !of(&[]));
    }
}
