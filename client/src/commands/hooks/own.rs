//! Recognises our commands in settings, for any path of hubctl.

use std::iter;

use hub_agents::{Agent, Commands};
use hub_protocol::Way;
use serde_json::Value;

use crate::system::shell::{commands, quoted};

/// A command of ours in an agent's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnCommand {
    /// The variables that it sets, as `NAME=value`.
    pub(super) variables: Vec<String>,
    /// The path of hubctl.
    pub(super) program: String,
    /// Whether it wakes sessions.
    pub(super) rewake: bool,
}

/// Words that may stand before a command of ours and change nothing about it.
const PREFIXES: [&str; 12] = [
    "if", "then", "else", "elif", "{", "!", "exec", "env", "nohup", "nice", "time", "timeout",
];

/// Commands that may stand beside ours in a line: they decide whether it runs, and do nothing else.
const GUARDS: [&str; 11] = [
    "test", "[", "[[", "command", "which", "type", "hash", "true", ":", "exit", "fi",
];

/// Shells, whose `-c` runs a line.
const SHELLS: [&str; 4] = ["sh", "bash", "dash", "zsh"];

impl OwnCommand {
    /// The command of ours in a handler, which has a line for the shell in its `member`, or a program there and `args`.
    pub(super) fn of(handler: &Value, member: &str, agent: Agent) -> Option<Self> {
        let command = handler.get(member)?.as_str()?;
        let args = handler.get("args").and_then(Value::as_array);
        let args: Vec<&str> = args
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if args.is_empty() {
            return Self::parse(command, agent);
        }
        let words = iter::once(command).chain(args);
        Self::of_words(words.map(str::to_owned).collect(), agent)
    }

    /// Parses `line`; `None` if it is not a command of ours for `agent`, or does more than that.
    pub(super) fn parse(line: &str, agent: Agent) -> Option<Self> {
        let mut ours = None;
        for words in commands(line)? {
            let is_guard = words.iter().find(|it| !is_prefix(it));
            let is_guard = is_guard.is_none_or(|it| GUARDS.contains(&it.as_str()));
            match Self::of_words(words, agent) {
                Some(own) => ours = Some(own),
                None if is_guard => {}
                None => return None,
            }
        }
        ours
    }

    fn of_words(words: Vec<String>, agent: Agent) -> Option<Self> {
        let mut words = words.into_iter().skip_while(|it| is_prefix(it)).peekable();
        let mut variables = Vec::new();
        while let Some(word) = words.next_if(|word| is_assignment(word)) {
            variables.push(word);
        }
        let program = words.next()?;
        let args: Vec<String> = words.collect();
        let name = program.rsplit('/').next().unwrap_or_default();
        if SHELLS.contains(&name) {
            let at = args
                .iter()
                .position(|it| it.starts_with('-') && it.ends_with('c'))?;
            return Self::parse(args.get(at + 1)?, agent);
        }
        if name != "hubctl" {
            return None;
        }
        let has = |pair: [&str; 2]| args.windows(2).any(|two| two == pair);
        let waits = agent.facts().has(Way::Rewake) && has(["wait", "--rewake"]);
        let ours = waits || has(["hook", agent.as_str()]);
        // An extension wakes its sessions by itself.
        let rewake =
            waits || agent.facts().has_extension && args.iter().any(|arg| arg == "--rewake");
        ours.then_some(Self {
            variables,
            program,
            rewake,
        })
    }
}

/// Whether a word is one of [`PREFIXES`], or an option or a number of one, such as in `timeout -k 1 10`.
fn is_prefix(word: &str) -> bool {
    PREFIXES.contains(&word) || word.starts_with(|c: char| c == '-' || c.is_ascii_digit())
}

/// Whether a command in the settings of `agent` is ours.
pub(in crate::commands) fn is_ours(command: &str, agent: Agent) -> bool {
    OwnCommand::parse(command, agent).is_some()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// Whether the hooks of `agent` can wake its sessions.
pub(super) fn can_rewake(agent: Agent) -> bool {
    agent.facts().has(Way::Rewake) || agent.facts().has_extension
}

/// The beginning of each command that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invocation {
    /// The variables that it sets, as `NAME=value`.
    pub(super) variables: Vec<String>,
    /// The path of hubctl.
    pub(super) program: String,
    /// Whether to install the rewake hooks.
    pub(super) rewake: bool,
    /// Whether the hooks belong to the plugin: they do nothing where the settings have hooks too.
    pub(super) plugin: bool,
    /// Whether to install the status line too.
    pub(super) status_line: bool,
}

impl Invocation {
    /// A caller for recognising our commands, which does not depend on the path or the variables.
    pub(super) fn anybody() -> Self {
        Self {
            variables: Vec::new(),
            program: "hubctl".into(),
            rewake: true,
            plugin: false,
            status_line: false,
        }
    }

    /// The words of the command that calls hubctl.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = self.variables.clone();
        if !words.is_empty() {
            words.insert(0, "env".into());
        }
        words.push(self.program.clone());
        words
    }

    /// The command line that calls hubctl with `args`.
    pub(super) fn command(&self, args: &str) -> String {
        let mut line = String::new();
        for variable in &self.variables {
            let (name, value) = variable.split_once('=').unwrap_or((variable, ""));
            line.extend([name, "=", &quoted(value), " "]);
        }
        line.extend([&quoted(&self.program), " ", args]);
        line
    }

    /// The command line for the hooks of `agent`.
    pub(super) fn hook(&self, agent: Agent) -> String {
        let flag = if self.rewake && can_rewake(agent) {
            " --rewake"
        } else {
            ""
        };
        self.command(&format!("hook {agent}{flag}{}", self.plugin_flag()))
    }

    /// The command lines for the hooks of `agent`, with the one that wakes sessions if it shall be installed.
    pub(super) fn commands(&self, agent: Agent) -> Commands {
        let rewake = || self.command(&format!("wait --rewake{}", self.plugin_flag()));
        Commands {
            hook: self.hook(agent),
            rewake: self.rewake.then(rewake),
        }
    }

    fn plugin_flag(&self) -> &'static str {
        if self.plugin { " --plugin" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn our_commands_are_recognised_and_others_are_not() {
        let own = |command: &str| OwnCommand::parse(command, Agent::Claude);
        for ours in [
            "hubctl hook claude",
            "/usr/bin/hubctl hook claude --rewake",
            "'/a b/it'\\''s/hubctl' hook claude",
            "HUB_SESSION='x y' HUB_STATE_DIR=/s \"/o/hubctl\" wait --rewake",
            "/o/hubctl --socket /s hook claude",
            "test -x /o/hubctl && /o/hubctl hook claude",
            "[ ! -x '/o/hubctl' ] || exec /o/hubctl hook claude 2>/dev/null || true",
            "if command -v hubctl >/dev/null 2>&1; then hubctl hook claude; fi",
            "env HUB_SESSION=w1 hubctl hook claude",
            "bash -lc 'exec hubctl hook claude'",
            "timeout -k 1 10 nice -n 5 hubctl hook claude",
        ] {
            assert!(own(ours).is_some(), "{ours}");
        }
        for foreign in [
            "echo hubctl hook claude",
            "hubctl hook codex",
            "hubctl wait",
            "hubctl notify done",
            "/o/myhubctl hook claude",
            "my-hook.sh 'hubctl hook claude'",
            "my-hook.sh; hubctl hook claude",
            "test -x /o/hubctl",
            "sh hubctl hook claude",
            "sh -c",
            "'",
            "",
        ] {
            assert_eq!(own(foreign), None, "{foreign}");
        }
        assert_eq!(
            OwnCommand::parse("hubctl wait --rewake", Agent::Codex),
            None
        );
    }

    #[test]
    fn a_program_with_arguments_is_recognised() {
        for (handler, is_ours) in [
            (
                json!({"command": "/o p/hubctl", "args": ["hook", "claude"]}),
                true,
            ),
            (
                json!({"command": "sh", "args": ["-c", "hubctl hook claude"]}),
                true,
            ),
            (json!({"command": "hubctl hook claude", "args": []}), true),
            (
                json!({"command": "/o/hubctl", "args": ["notify", "done"]}),
                false,
            ),
            (
                json!({"command": "echo", "args": ["hubctl", "hook", "claude"]}),
                false,
            ),
            (json!({"command": ["hubctl"]}), false),
        ] {
            let own = OwnCommand::of(&handler, "command", Agent::Claude);
            assert_eq!(own.is_some(), is_ours, "{handler}");
        }
    }

    #[test]
    fn a_generated_command_is_parsed_back() {
        let invocation = Invocation {
            variables: vec![
                "HUB_SESSION=it's \"me\"".into(),
                "HUB_STATE_DIR=/s d".into(),
            ],
            program: "/a b/$(x)'/hubctl".into(),
            rewake: true,
            plugin: false,
            status_line: false,
        };
        let read = OwnCommand::parse(&invocation.hook(Agent::Claude), Agent::Claude).unwrap();
        assert_eq!(
            (read.variables, read.program),
            (invocation.variables, invocation.program)
        );
        assert!(!read.rewake);
    }
}
