//! The process and the pane of a session that the kernel has confirmed. Only the boundary makes one.

use hub_protocol::{Process, SessionInfo};

/// The confirmed part of the process and the pane that a request names as its session's.
#[derive(Debug, Default, Clone)]
pub struct Confirmed {
    /// The process that runs the session.
    pub process: Option<Process>,
    /// A process that runs the session beside the one that it has.
    pub other: Option<Process>,
    /// The tmux pane in which the process runs.
    pub pane: Option<String>,
    /// Whether notifications may be pasted into the pane.
    pub pane_delivery: Option<bool>,
}

impl Confirmed {
    /// Adds it to the properties of the session.
    pub fn fill(self, info: &mut SessionInfo) {
        info.process = self.process;
        info.pane = self.pane;
        info.pane_delivery = self.pane_delivery;
    }
}
