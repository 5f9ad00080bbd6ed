//! Recognises our commands in settings, for any path of hubctl.

use hub_protocol::Agent;

use crate::system::shell::{quoted, words};

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

impl OwnCommand {
    /// Parses `command`; `None` if it is not a command of ours for `agent`.
    pub(super) fn parse(command: &str, agent: Agent) -> Option<Self> {
        let mut words = words(command)?.into_iter().peekable();
        let mut variables = Vec::new();
        while let Some(word) = words.next_if(|word| is_assignment(word)) {
            variables.push(word);
        }
        let program = words.next()?;
        if program.rsplit('/').next() != Some("hubctl") {
            return None;
        }
        let args: Vec<String> = words.collect();
        let has = |pair: [&str; 2]| args.windows(2).any(|two| two == pair);
        let waits = agent == Agent::Claude && has(["wait", "--rewake"]);
        let ours = waits || has(["hook", agent.as_str()]);
        // An extension wakes its sessions by itself.
        let rewake = waits || agent.has_extension() && args.iter().any(|arg| arg == "--rewake");
        ours.then_some(Self {
            variables,
            program,
            rewake,
        })
    }
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
        let rewakes = self.rewake && (agent == Agent::Claude || agent.has_extension());
        let flag = if rewakes { " --rewake" } else { "" };
        self.command(&format!("hook {agent}{flag}{}", self.plugin_flag()))
    }

    /// The command line for the rewake hooks.
    pub(super) fn rewake(&self) -> String {
        self.command(&format!("wait --rewake{}", self.plugin_flag()))
    }

    fn plugin_flag(&self) -> &'static str {
        if self.plugin { " --plugin" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_commands_are_recognised_and_others_are_not() {
        let own = |command: &str| OwnCommand::parse(command, Agent::Claude);
        for ours in [
            "hubctl hook claude",
            "/usr/bin/hubctl hook claude --rewake",
            "'/a b/it'\\''s/hubctl' hook claude",
            "HUB_SESSION='x y' HUB_STATE_DIR=/s \"/o/hubctl\" wait --rewake",
            "/o/hubctl --socket /s hook claude",
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
