//! The fold: by example, and against a naive model with crashes, expiry, collapse and clock jumps.

mod action;
mod any_record;
mod check;
mod driver;
mod model;
mod promises;
mod property;
mod stops;

use hub_core::command::{AgentEvent, Hook};
use hub_protocol::{InboxName, ProjectName, SessionInfo};

/// A hook event of a session in the default project.
fn hook(id: &InboxName, happened: AgentEvent) -> Hook {
    Hook {
        project: ProjectName::default(),
        given: None,
        id: id.clone(),
        info: SessionInfo::default(),
        other: None,
        shares_process: false,
        acp: false,
        subagent: None,
        dialog: None,
        happened,
        event: "Test".into(),
        watched: false,
        by_peer: false,
        held: None,
        once: None,
        derived_at: None,
        acted: None,
        wordless: false,
        used: None,
    }
}
