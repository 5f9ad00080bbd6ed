//! Acknowledges a batch that was shown.

use std::time::Duration;

use hub_protocol::{AckRequest, InboxName, ProjectName, Seq};
use tokio::time::Instant;

use crate::error::Error;
use crate::hub::backoff::Backoff;
use crate::hub::{Hub, Path, Request, json};

/// How long to retry. The agent wakes when this process ends, so a later duplicate is better than a late wake.
const PATIENCE: Duration = Duration::from_secs(5);

/// The batch that was shown, and the waiter that showed it.
pub(super) struct Acknowledgement<'a> {
    pub(super) project: &'a ProjectName,
    pub(super) inbox: &'a InboxName,
    pub(super) lease: &'a str,
    /// The ids that were shown, if not all of the leased ones were.
    pub(super) only: Option<&'a [Seq]>,
    pub(super) by: &'a str,
}

impl Acknowledgement<'_> {
    /// Sends the acknowledgement, with retries. If it fails, the hub will offer the batch again.
    pub(super) async fn send(&self, hub: &Hub) -> Result<(), Error> {
        let path = Path::new("/inboxes")
            .segment(self.inbox)
            .segment("ack")
            .with("project", self.project);
        let body = AckRequest {
            lease: Some(self.lease.into()),
            ids: self.only.map(<[_]>::to_vec),
            by: Some(self.by.into()),
        };
        let request = Request::post(path, json(&body)?);
        let mut backoff = Backoff::local();
        let until = Instant::now() + PATIENCE;
        loop {
            match hub.send(&request, PATIENCE).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_passing() && Instant::now() < until => backoff.pause().await,
                Err(error) => return Err(error),
            }
        }
    }
}
