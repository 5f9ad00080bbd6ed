//! Mistral Vibe: it has no hooks, so the hub knows its sessions only by the Agent Client Protocol.

use super::launch::{Acp, Known};

static ACP: Acp = Acp {
    command: &["vibe-acp"],
    ask_mode: Some("ask"),
    limits: "a permission names only its tool call; it outlives the end of its input in a turn",
    ..Acp::NONE
};

pub(super) const KNOWN: Known = Known {
    name: "vibe",
    product: "Mistral Vibe",
    acp: &ACP,
    verified: None,
};
