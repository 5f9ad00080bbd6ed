//! `GET /hub`: what the hub is and where its log stands, for a page that starts from here.

use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use hub_protocol::{Epoch, Seq, Timestamp};
use serde::Serialize;

use crate::hub::Hub;

/// What the answer needs besides the log.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) hub: Hub,
    pub(super) state_dir: Arc<Path>,
}

#[derive(Serialize)]
pub(super) struct About {
    version: &'static str,
    /// Where its token and its socket are, for commands that a page shows.
    state_dir: String,
    host: String,
    now: Timestamp,
    epoch: Epoch,
    head: Seq,
}

/// What the hub is. Whoever reads events from `EPOCH-HEAD` on, and loads the rest after this answer, misses nothing.
#[allow(clippy::unused_async)] // a handler
pub(super) async fn about(State(place): State<Place>) -> Json<About> {
    let log = place.hub.log();
    Json(About {
        version: env!("CARGO_PKG_VERSION"),
        state_dir: place.state_dir.display().to_string(),
        host: rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned(),
        now: Timestamp::now(),
        epoch: log.epoch(),
        head: log.head(),
    })
}
