//! What all long-polls have in common: the request, the lease in the answer, and whether the hub knows of the waiter.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::http::{Connection, PATIENCE};
use crate::target::Server;

#[derive(Deserialize)]
struct Inboxes {
    inboxes: Vec<Inbox>,
}

#[derive(Deserialize)]
struct Inbox {
    name: String,
    waiter: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Batch {
    lease: String,
}

/// The path of a wait at `inbox` that acknowledges `lease`, if not empty.
pub(crate) fn path(inbox: &str, lease: &str) -> String {
    let ack = if lease.is_empty() { "" } else { "&ack=" };
    format!("/wait?inbox={inbox}&timeout=60{ack}{lease}")
}

/// The lease of a batch.
pub(crate) fn lease(batch: &[u8]) -> Result<String> {
    let batch: Batch = serde_json::from_slice(batch).context("a batch without a lease")?;
    Ok(batch.lease)
}

/// Asks until somebody waits at `inbox`.
pub(crate) fn until_armed(watch: &mut Connection, server: &Server, inbox: &str) -> Result<()> {
    let request = server.request("GET", "/inboxes?project=default", "");
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let answer: Inboxes = serde_json::from_slice(&watch.exchange(&request)?)?;
        let named = |it: &Inbox| it.name == inbox || it.name == "*";
        let mut waiters = answer.inboxes.iter().filter(|it| it.waiter.is_some());
        if waiters.any(named) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    ensure!(false, "nobody waits at {inbox}");
    Ok(())
}
