//! `GET /hub`: the hub's version, address and position in the log.

use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use hub_engine::Hub;
use hub_protocol::{About, Timestamp};

/// The handler's state.
#[derive(Clone)]
pub(super) struct AboutState {
    pub(super) hub: Hub,
    pub(super) state_dir: Arc<Path>,
    pub(super) port: u16,
    pub(super) describe: Arc<dyn Fn(&mut About) + Send + Sync>,
}

impl AboutState {
    /// Describes the hub. A client that loads its data after this and reads events from `EPOCH-HEAD` on misses nothing.
    pub(super) fn about(&self) -> About {
        let log = self.hub.log();
        let mut about = About {
            version: env!("CARGO_PKG_VERSION").into(),
            url: format!("http://127.0.0.1:{}", self.port),
            state_dir: self.state_dir.display().to_string(),
            host: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
            now: Timestamp::now(),
            epoch: log.epoch(),
            head: log.head(),
            agents_may_approve: self.hub.rules().agents_may_approve,
            ..About::default()
        };
        (self.describe)(&mut about);
        about
    }
}

#[allow(clippy::unused_async)] // a handler
pub(super) async fn about(State(state): State<AboutState>) -> Json<About> {
    Json(state.about())
}
