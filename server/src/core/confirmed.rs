//! The process and the pane of a session that the kernel has confirmed. Only the boundary makes one.

use hub_protocol::{Process, SessionInfo};

/// The confirmed part of the process and the pane that a request names as its session's.
#[derive(Debug, Default, Clone)]
pub(crate) struct Confirmed {
    pub(crate) process: Option<Process>,
    /// A process that runs the session beside the one that it has.
    pub(crate) other: Option<Process>,
    pub(crate) pane: Option<String>,
    pub(crate) pane_delivery: Option<bool>,
}

impl Confirmed {
    /// Adds it to the properties of the session.
    pub(crate) fn fill(self, info: &mut SessionInfo) {
        info.process = self.process;
        info.pane = self.pane;
        info.pane_delivery = self.pane_delivery;
    }
}
