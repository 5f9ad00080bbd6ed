//! The time without the hub that held a hook. The next one holds it again.

use std::time::{Duration, Instant};

use crate::hub::backoff::Backoff;
use crate::hub::{Hub, Path, Request};
use crate::system::env::Env;
use crate::system::parent;

/// How long to look for the hub in all if the agent shows no dialog meanwhile: long enough for a restart.
const SHORT: Duration = Duration::from_secs(5);

/// How long the hub may take to say that it is there.
const PROBE: Duration = Duration::from_secs(1);

/// A hook that was held for longer begins with short pauses again.
const HELD: Duration = Duration::from_secs(1);

/// Looks for the hub, with pauses of at most 5 s.
#[derive(Debug)]
pub(super) struct Outage {
    backoff: Backoff,
    /// How long to look in all; `None` if that delays nothing.
    left: Option<Duration>,
}

impl Outage {
    /// The outages of a hook. `delays` says that the agent shows no dialog before the hook ends.
    pub(super) fn new(delays: bool) -> Self {
        Self {
            backoff: Backoff::new(Duration::from_millis(50), Duration::from_secs(5)),
            left: delays.then_some(SHORT),
        }
    }

    /// Returns whether the hub answers again within `patience`. The hub may have held the hook since `asked`. Ends with the
    /// agent, because then nobody waits for the answer.
    pub(super) async fn ends(
        &mut self,
        hub: &Hub,
        env: &Env,
        asked: Instant,
        patience: Duration,
    ) -> bool {
        if asked.elapsed() > HELD {
            self.backoff.reset();
        }
        let began = Instant::now();
        let patience = self.left.map_or(patience, |left| left.min(patience));
        let ended = tokio::select! {
            found = tokio::time::timeout(patience, self.found(hub)) => found.is_ok(),
            () = parent::ended(env) => false,
        };
        self.left = self.left.map(|left| left.saturating_sub(began.elapsed()));
        ended
    }

    async fn found(&mut self, hub: &Hub) {
        let probe = Request::get(Path::new("/healthz"));
        loop {
            self.backoff.pause().await;
            if hub.send(&probe, PROBE).await.is_ok() {
                return;
            }
        }
    }
}
