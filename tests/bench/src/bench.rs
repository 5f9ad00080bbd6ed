//! What every row needs: what is measured, against what, for how long, and where.

use anyhow::Result;

use crate::progress::Progress;
use crate::slices::Plan;
use crate::target::{Kind, Place, Server};

/// One run.
#[derive(Debug)]
pub(crate) struct Bench {
    /// Where servers and binaries are.
    pub(crate) place: Place,
    /// What is measured: the hub, unless the bench measures its own noise.
    pub(crate) subject: Kind,
    /// What REF is.
    pub(crate) reference: Kind,
    /// The slices.
    pub(crate) plan: Plan,
    /// Whether it should be over soon.
    pub(crate) quick: bool,
    /// Where it says how far it is.
    pub(crate) progress: Progress,
}

impl Bench {
    /// Starts a server.
    pub(crate) fn start(&self, kind: Kind) -> Result<Server> {
        self.place.start(kind)
    }
}
