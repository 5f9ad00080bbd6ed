//! `OpenCode`: a plugin of ours.

use super::own::Caller;
use super::scheme::Files;
use crate::agent::Agent;

pub(super) const FILES: Files = Files {
    moved: &[("OPENCODE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "opencode")],
    home: ".config/opencode",
    user: "plugin/hub.js",
    project: ".opencode/plugin/hub.js",
    local: None,
};

/// By its first line a plugin is known to be ours.
pub(super) const MARK: &str = "// Installed by `hubctl hooks install opencode`";

const PLUGIN: &str = include_str!("opencode.js");

/// The plugin's text, calling what `caller` says.
pub(super) fn plugin(caller: &Caller) -> String {
    let command = serde_json::Value::from(caller.hook(Agent::Opencode)).to_string();
    PLUGIN.replace("\"hubctl hook opencode\"", &command)
}

pub(super) fn left_to_do() -> Vec<String> {
    vec!["restart the sessions that run now: OpenCode loads its plugins when it starts".to_owned()]
}

/// The command that an installed plugin calls; nothing where it is not ours.
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
    fn a_plugin_calls_what_it_was_made_for() {
        let caller = Caller {
            variables: Vec::new(),
            program: "/a b/\"it's\"/hubctl".into(),
            rewake: false,
        };
        let text = plugin(&caller);
        assert!(text.starts_with(MARK));
        assert_eq!(command(&text).unwrap(), caller.hook(Agent::Opencode));
        assert_eq!(command("export const Other = 1"), None);
    }
}
