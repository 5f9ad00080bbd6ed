//! The facts about an agent that both programs ask for.

use hub_protocol::Way;

use crate::acp::Acp;

/// The facts about an agent. An agent's file starts from [`Facts::NONE`].
#[derive(Debug)]
pub struct Facts {
    /// The name in paths and commands.
    pub name: &'static str,
    /// The name of the product.
    pub product: &'static str,
    /// The npm packages, each with its version, with which the hooks were last verified: `tests/install` installs them, and
    /// the tests run them. `PLATFORM` stands for npm's name of the machine's kind. Without a package the hooks are
    /// experimental.
    pub verified: &'static [&'static str],
    /// The words about it in docs/reference/agents.md.
    pub docs: Docs,
    /// The ways to wake a session, the best first. Each agent may have those in the answers to its hooks.
    pub ways: &'static [Way],
    /// Whether the hooks run within the agent's own process, in a file of their own, and wake its sessions there.
    pub has_extension: bool,
    /// Whether the instructions tell the model to keep `hubctl wait` in the background, because its end begins a turn.
    pub waits_in_background: bool,
    /// Why no hook may have reported: the agent runs none until the person trusts them.
    pub trust: Option<&'static str>,
    /// Variables that only this agent sets for the commands that it runs.
    pub marks: &'static [&'static str],
    /// The variable with the session's id.
    pub session_variable: Option<&'static str>,
    /// The variable with the number of the agent's process.
    pub process_variable: Option<&'static str>,
    /// The variable with the directory in which the agent was started.
    pub directory_variable: Option<&'static str>,
    /// How its hooks are told from those that another agent runs.
    pub foreign: Option<Foreign>,
    /// How a session that answers one prompt and ends is known.
    pub one_answer: OneAnswer,
    /// The events whose hooks the hub may hold for an answer.
    pub held: &'static [&'static str],
    /// The event and the tool that ask the person, if the hub may hold that call for the answer.
    pub held_tool: Option<(&'static str, &'static str)>,
    /// The event during whose hook the session itself shows the dialog in its terminal.
    pub dialog_during: Option<&'static str>,
    /// The events that end a turn.
    pub stops: &'static [&'static str],
    /// Events that occur many times a turn and are worthless when they arrive late.
    pub heartbeats: &'static [&'static str],
    /// How it speaks the Agent Client Protocol, if it does.
    pub acp: Option<Acp>,
}

impl Facts {
    /// An agent without properties.
    pub const NONE: Self = Self {
        name: "",
        product: "",
        verified: &[],
        docs: Docs {
            hooks: "",
            limits: "",
        },
        ways: &[],
        has_extension: false,
        waits_in_background: false,
        trust: None,
        marks: &[],
        session_variable: None,
        process_variable: None,
        directory_variable: None,
        foreign: None,
        one_answer: OneAnswer::PROMPT,
        held: &[],
        held_tool: None,
        dialog_during: None,
        stops: &[],
        heartbeats: &[],
        acp: None,
    };

    /// The versions with which the hooks were last verified; `None` if they are experimental, because no test has run the
    /// program.
    pub fn verified(&self) -> Option<String> {
        let versions = self.verified.iter().filter_map(|it| it.rsplit('@').next());
        let all = versions.collect::<Vec<_>>().join(" and ");
        (!all.is_empty()).then_some(all)
    }

    /// Whether a session can be woken in this way.
    pub fn has(&self, way: Way) -> bool {
        self.ways.contains(&way)
    }
}

/// The words about an agent in docs/reference/agents.md.
#[derive(Debug)]
pub struct Docs {
    /// Where its hooks are.
    pub hooks: &'static str,
    /// Its known limits.
    pub limits: &'static str,
}

/// The difference between an agent's own hooks and those that another agent runs from the same settings.
#[derive(Debug)]
pub struct Foreign {
    /// The variables, one of which the agent itself sets for its hooks.
    pub own: &'static [&'static str],
    /// A field that only another agent adds to the payload.
    pub field: &'static str,
}

/// How a session that answers one prompt and ends is known.
#[derive(Debug)]
pub struct OneAnswer {
    /// The variable that tells it instead of the command line, and its value in a terminal. An unknown value counts as one
    /// answer, because a rewake hook would keep such a session open.
    pub variable: Option<(&'static str, &'static str)>,
    /// The arguments that ask for it; a long option may have its value after `=`.
    pub arguments: &'static [&'static str],
    /// The first argument that asks for it.
    pub first: Option<&'static str>,
    /// Whether the agent reads one prompt if its input is a pipe and no editor (`--acp`).
    pub reads_pipes: bool,
    /// The argument of a server that runs the hooks, and that the process with the command line has started.
    pub server: Option<&'static str>,
}

impl OneAnswer {
    /// A command line without one.
    pub const NEVER: Self = Self {
        variable: None,
        arguments: &[],
        first: None,
        reads_pipes: false,
        server: None,
    };

    /// The options that most agents share.
    pub const PROMPT: Self = Self {
        arguments: &["-p", "--prompt", "--print"],
        ..Self::NEVER
    };

    /// Whether a command line asks for one answer.
    pub fn is_asked_by(&self, line: &[&str]) -> bool {
        let is_asking = |argument: &str, it: &str| {
            let rest = argument.strip_prefix(it);
            rest.is_some_and(|rest| {
                rest.is_empty() || it.starts_with("--") && rest.starts_with('=')
            })
        };
        let mut arguments = line.iter().skip(1);
        arguments.any(|argument| self.arguments.iter().any(|it| is_asking(argument, it)))
            || self.first.is_some() && line.get(1).copied() == self.first
    }
}

#[cfg(test)]
mod tests {
    use crate::Agent;

    #[test]
    fn a_command_line_shows_a_headless_session() {
        let says = |agent: Agent, line: &str| {
            let line: Vec<&str> = line.split(' ').collect();
            agent.facts().one_answer.is_asked_by(&line)
        };
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
