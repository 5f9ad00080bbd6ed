//! Pi: an extension, in a file of our own.

use hub_protocol::Way;

use crate::acp::Acp;
use crate::extension;
use crate::facts::{Docs, Facts};
use crate::settings::{Content, Files, Settings};

pub(crate) static FACTS: Facts = Facts {
    name: "pi",
    product: "Pi",
    verified: &["@earendil-works/pi-coding-agent@1.5.2"],
    docs: Docs {
        hooks: "extension",
        limits: "Pi has no permission dialogs to report",
    },
    ways: &[Way::Module, Way::Pane],
    has_extension: true,
    marks: &["PI_CODING_AGENT"],
    stops: extension::STOPS,
    heartbeats: extension::HEARTBEATS,
    acp: Some(Acp {
        command: &["pi-acp"],
        adapter: Some("pi-acp@0.0.34"),
        limits: "it never asks; its sessions have other ids than in its extension",
        ..Acp::NONE
    }),
    ..Facts::NONE
};

pub(crate) use crate::extension::FORM;

pub(crate) static SETTINGS: Settings = Settings {
    files: Files {
        moved: &[("PI_CODING_AGENT_DIR", "")],
        home: ".pi/agent",
        user: "extensions/hub.js",
        project: Some(".pi/extensions/hub.js"),
        local: None,
        beside: None,
    },
    content: Content::Extension(include_str!("extension/pi.js")),
    left_to_do: &["reload the running sessions with /reload"],
    switches: &[],
    managed: None,
};
