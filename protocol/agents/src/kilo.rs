//! Kilo Code, a fork of `OpenCode` 1: the same plugin, in a directory of its own.

use hub_protocol::Way;

use crate::extension;
use crate::facts::{Docs, Facts, OneAnswer};
use crate::opencode::PLUGIN;
use crate::settings::{Content, Files, Settings};

pub(crate) static FACTS: Facts = Facts {
    name: "kilo",
    product: "Kilo Code",
    verified: &["@kilocode/cli-PLATFORM-baseline@7.7.9"],
    docs: Docs {
        hooks: "plugin, that of OpenCode 1",
        limits: "a session is known from its first prompt on",
    },
    ways: &[Way::Module, Way::Pane],
    has_extension: true,
    // It sets `OPENCODE` too.
    marks: &["KILO_PID"],
    one_answer: OneAnswer {
        arguments: &["run"],
        ..OneAnswer::NEVER
    },
    stops: extension::STOPS,
    heartbeats: extension::HEARTBEATS,
    ..Facts::NONE
};

pub(crate) use crate::extension::FORM;

pub(crate) static SETTINGS: Settings = Settings {
    files: Files {
        moved: &[("KILO_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "kilo")],
        home: ".config/kilo",
        user: "plugin/hub.js",
        project: Some(".kilo/plugin/hub.js"),
        local: None,
        beside: None,
    },
    content: Content::Extension(PLUGIN),
    left_to_do: &["restart the running sessions"],
    switches: &[],
    managed: None,
};
