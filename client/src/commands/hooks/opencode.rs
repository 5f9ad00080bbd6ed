//! `OpenCode`: a plugin, in a file of our own.

use hub_protocol::Agent;

use super::own::Invocation;
use super::scheme::Files;

pub(super) const FILES: Files = Files {
    moved: &[("OPENCODE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "opencode")],
    home: ".config/opencode",
    user: "plugin/hub.js",
    project: ".opencode/plugin/hub.js",
    local: None,
};

/// The beginning of the plugin's first line, which shows that the file is ours.
pub(super) const MARK: &str = "// Installed by `hubctl hooks install opencode`";

const PLUGIN: &str = include_str!("opencode.js");

/// The plugin's text with the command of `invocation`.
pub(super) fn plugin(invocation: &Invocation) -> String {
    let command = serde_json::Value::from(invocation.hook(Agent::OpenCode)).to_string();
    PLUGIN.replace("\"hubctl hook opencode\"", &command)
}

pub(super) fn left_to_do() -> Vec<String> {
    vec!["restart the running sessions: OpenCode loads its plugins when it starts".to_owned()]
}

/// The command that an installed plugin runs; `None` if the plugin is not ours.
pub(super) fn command(plugin: &str) -> Option<String> {
    if !plugin.starts_with(MARK) {
        return None;
    }
    let command = plugin
        .lines()
        .find_map(|line| line.strip_prefix("const COMMAND = "))?;
    serde_json::from_str(command).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_runs_the_command_it_was_made_for() {
        let invocation = Invocation {
            variables: Vec::new(),
            program: "/a b/\"it's\"/hubctl".into(),
            rewake: false,
            plugin: false,
        };
        let text = plugin(&invocation);
        assert!(text.starts_with(MARK));
        assert_eq!(command(&text).unwrap(), invocation.hook(Agent::OpenCode));
        assert_eq!(command("export const Other = 1"), None);
    }
}
