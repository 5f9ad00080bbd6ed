//! Pi: an extension, in a file of our own.

use super::scheme::Files;

pub(super) const FILES: Files = Files {
    moved: &[("PI_CODING_AGENT_DIR", "")],
    home: ".pi/agent",
    user: "extensions/hub.js",
    project: Some(".pi/extensions/hub.js"),
    local: None,
};

/// The extension, which follows the module that it shares with other agents.
pub(super) const EXTENSION: &str = include_str!("extension/pi.js");

pub(super) fn left_to_do() -> Vec<String> {
    vec!["reload the running sessions with /reload".to_owned()]
}
