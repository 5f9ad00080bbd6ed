//! The hub's extension within an agent's own process: the text of its file.

use hub_agents::Agent;
use hub_agents::extension::SHARED;
use serde_json::Value;

use super::own::Invocation;

/// The beginning of the first line of each installed file, which shows that the file is ours.
pub(super) const MARK: &str = "// Installed by `hubctl hooks install ";

/// The text of the extension for `agent`, whose own part is `part`.
pub(super) fn text(agent: Agent, part: &str, invocation: &Invocation) -> String {
    let command = Value::from(invocation.hook(agent)).to_string();
    let words = Value::from(invocation.words()).to_string();
    let shared = SHARED
        .replace("\"hubctl hook AGENT\"", &command)
        .replace("[\"hubctl\"]", &words);
    format!("{MARK}{agent}`; `hubctl hooks uninstall {agent}` removes it.\n{shared}{part}")
}

/// The command that an installed extension runs; `None` if the file is not ours.
pub(super) fn command(text: &str) -> Option<String> {
    if !text.starts_with(MARK) {
        return None;
    }
    let mut lines = text.lines();
    let command = lines.find_map(|line| line.strip_prefix("const COMMAND = "))?;
    // Earlier versions wrote no semicolons.
    serde_json::from_str(command.trim_end_matches(';')).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_runs_the_command_it_was_made_for() {
        let invocation = Invocation {
            variables: vec!["HUB_SESSION=w 1".into()],
            program: "/a b/\"it's\"/hubctl".into(),
            rewake: true,
            plugin: false,
            status_line: false,
        };
        let text = text(Agent::Pi, "export default 1\n", &invocation);
        assert!(text.starts_with(MARK));
        assert_eq!(command(&text).unwrap(), invocation.hook(Agent::Pi));
        assert!(text.contains(r#"["env","HUB_SESSION=w 1","/a b/\"it's\"/hubctl"]"#));
        assert_eq!(command("export const Other = 1"), None);
    }
}
