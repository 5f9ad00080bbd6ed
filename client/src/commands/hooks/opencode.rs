//! `OpenCode`: a plugin, in a file of our own. Versions 1 and 2 read the same directories.

use super::scheme::Files;

pub(super) const FILES: Files = Files {
    moved: &[("OPENCODE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "opencode")],
    home: ".config/opencode",
    user: "plugin/hub.js",
    project: Some(".opencode/plugin/hub.js"),
    local: None,
};

/// The plugin, which follows the module that it shares with other agents.
pub(super) const PLUGIN: &str = include_str!("extension/opencode.js");

pub(super) fn left_to_do() -> Vec<String> {
    vec![
        "restart the running sessions, and the background service of OpenCode 2 (`opencode service restart`)"
            .to_owned(),
    ]
}
