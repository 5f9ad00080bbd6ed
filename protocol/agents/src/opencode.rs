//! `OpenCode`: a plugin, in a file of our own. Versions 1 and 2 read the same directories.

use hub_protocol::Way;

use crate::acp::Acp;
use crate::extension;
use crate::facts::{Docs, Facts, OneAnswer};
use crate::settings::{Content, Files, Settings};

pub(crate) static FACTS: Facts = Facts {
    name: "opencode",
    product: "OpenCode",
    verified: &[
        "opencode-PLATFORM@1.18.33",
        "@opencode/cli-PLATFORM-baseline@2.0.15",
    ],
    docs: Docs {
        hooks: "plugin for OpenCode 1 and 2",
        limits: "a session is known from its first prompt on; version 1 must be at least 1.18.29; `opencode run` of \
                 version 2 may end before it has reported its stop, and then the hub reports the end of the process; the \
                 background service of version 2 takes `HUB_SESSION` from the terminal that started it; `pane` does not reach \
                 version 2, which runs its sessions in a server",
    },
    ways: &[Way::Module, Way::Pane],
    has_extension: true,
    marks: &["OPENCODE"],
    one_answer: OneAnswer {
        arguments: &["run"],
        // `opencode run --standalone` starts a server, which runs the hooks.
        server: Some("--stdio"),
        ..OneAnswer::NEVER
    },
    stops: extension::STOPS,
    heartbeats: extension::HEARTBEATS,
    acp: Some(Acp {
        command: &["opencode", "acp"],
        limits: "it writes files through its client although that declares no such ability; a permission that a \
                 cancel leaves open blocks the next turn",
        ..Acp::NONE
    }),
    ..Facts::NONE
};

pub(crate) use crate::extension::FORM;

/// The plugin.
pub(crate) const PLUGIN: &str = include_str!("extension/opencode.js");

pub(crate) static SETTINGS: Settings = Settings {
    files: Files {
        moved: &[("OPENCODE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "opencode")],
        home: ".config/opencode",
        user: "plugin/hub.js",
        project: Some(".opencode/plugin/hub.js"),
        local: None,
        beside: None,
    },
    content: Content::Extension(PLUGIN),
    left_to_do: &[
        "restart the running sessions, and the background service of OpenCode 2 (`opencode service restart`)",
    ],
    switches: &[],
    managed: None,
};
