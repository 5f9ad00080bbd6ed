//! Tells whether an agent's session is headless: it answers one prompt and ends, so nothing can wake it.

use hub_protocol::process::{command_line, reads_terminal};
use hub_protocol::{Agent, Process};

use crate::system::env::Env;
use crate::system::process;

/// Whether this session of Claude Code is headless, or belongs to a program that waits for its end. An unknown entry
/// point counts as headless, because a rewake hook would keep such a session open.
pub(crate) fn is_headless(env: &Env) -> bool {
    let entrypoint = env.var("CLAUDE_CODE_ENTRYPOINT");
    let wanted = env.var("HUB_REWAKE_HEADLESS").is_some_and(|it| it == "1");
    !wanted && entrypoint.is_some_and(|it| it != "cli")
}

/// Whether a session of `agent` is headless. Only Claude Code sets a variable; for other agents their command line
/// decides.
pub(super) fn is_single_shot(env: &Env, agent: Agent, process: Option<&Process>) -> bool {
    if agent == Agent::Claude {
        return is_headless(env);
    }
    let Some(pid) = process.map(|it| it.pid) else {
        return false;
    };
    let mut line = command_line(pid);
    // `opencode run --standalone` starts a server, which runs the hooks.
    if agent == Agent::OpenCode && line.iter().any(|it| it == "--stdio") {
        let mut ancestors = process::ancestors().into_iter();
        let parent = ancestors.find(|it| it.pid == pid).and(ancestors.next());
        line = parent.map(|it| command_line(it.pid)).unwrap_or_default();
    }
    let args: Vec<&str> = line.iter().map(String::as_str).collect();
    let reads_pipes = matches!(agent, Agent::Gemini | Agent::Qwen);
    says_so(agent, &args) || reads_pipes && !reads_a_terminal(pid, &args)
}

/// Whether a command line asks for a single answer.
fn says_so(agent: Agent, args: &[&str]) -> bool {
    let has = |words: &[&str]| args.iter().skip(1).any(|arg| words.contains(arg));
    match agent {
        Agent::Codex => has(&["exec", "review"]) || args.get(1) == Some(&"e"),
        Agent::OpenCode => has(&["run"]),
        Agent::Claude => false,
        Agent::Gemini | Agent::Qwen | Agent::Pi | Agent::Copilot | Agent::Kimi | Agent::Cursor => {
            has(&["-p", "--prompt", "--print"])
                || args.iter().any(|arg| arg.starts_with("--prompt="))
        }
    }
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
        let of = |vars: &[(&str, &str)]| is_headless(&Env::of(Path::new("/"), vars));
        let entry = |name| ("CLAUDE_CODE_ENTRYPOINT", name);
        for name in ["sdk-cli", "sdk-ts", "sdk-py", "from-the-future"] {
            assert!(of(&[entry(name)]), "{name}");
            assert!(!of(&[entry(name), ("HUB_REWAKE_HEADLESS", "1")]), "{name}");
        }
        assert!(!of(&[entry("cli")]) && !of(&[]));
    }

    #[test]
    fn a_command_line_shows_a_headless_session() {
        let says = |agent, line: &str| says_so(agent, &line.split(' ').collect::<Vec<_>>());
        assert!(says(Agent::Codex, "/bin/codex -c a=b exec --json Do"));
        assert!(says(Agent::Codex, "codex e Do") && !says(Agent::Codex, "codex -p e"));
        assert!(!says(Agent::Codex, "codex resume") && !says(Agent::Codex, "codex"));
        assert!(says(Agent::Gemini, "node /bin/gemini -p Do"));
        assert!(says(Agent::Gemini, "node /bin/gemini --prompt=Do"));
        assert!(!says(
            Agent::Gemini,
            "node /bin/gemini --prompt-interactive Do"
        ));
        assert!(says(Agent::OpenCode, "opencode run Do") && !says(Agent::OpenCode, "opencode"));
    }
}
