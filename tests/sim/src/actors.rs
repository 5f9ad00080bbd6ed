//! The hub's clients.

use hub_protocol::{InboxName, ProjectName};

pub(crate) mod hooks;
pub(crate) mod managers;
pub(crate) mod publishers;
pub(crate) mod readers;

use crate::rng::Rng;

/// Returns a project.
pub(crate) fn project(rng: &mut Rng) -> ProjectName {
    let name = *rng.pick(&["default", "default", "default", "/src/other"]);
    name.parse().expect("a constant name")
}

/// Returns an inbox.
pub(crate) fn inbox(rng: &mut Rng) -> InboxName {
    name(rng.pick::<&str>(&["primary", "primary", "person", "w1", "w2"]))
}

/// Returns a sender.
pub(crate) fn sender(rng: &mut Rng) -> InboxName {
    name(rng.pick::<&str>(&["primary", "w1", "w1", "w2", "ci", "unknown"]))
}

/// Returns this name.
pub(crate) fn name(name: &str) -> InboxName {
    name.parse().expect("a constant name")
}
