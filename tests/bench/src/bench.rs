//! Parameters of all rows: servers, slices and directories.

use anyhow::Result;

use crate::progress::Progress;
use crate::server::{Kind, Launcher, Server};
use crate::slices::Plan;

#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) launcher: Launcher,
    /// The measured server: the hub, unless the bench measures its own noise.
    pub(crate) subject: Kind,
    /// The server that stands as REF.
    pub(crate) reference: Kind,
    pub(crate) plan: Plan,
    /// Whether this is a quick, rougher run.
    pub(crate) quick: bool,
    pub(crate) progress: Progress,
}

impl Bench {
    pub(crate) fn start(&self, kind: Kind) -> Result<Server> {
        self.launcher.start(kind)
    }
}
