//! Shared parts of long-polls: the request, the lease in the response, and whether the hub has registered the waiter.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::http::{Connection, TIMEOUT};
use crate::server::Server;

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

/// Returns the path of a wait at `inbox` that acknowledges `lease` unless that is empty.
pub(crate) fn path(inbox: &str, lease: &str) -> String {
    let ack = if lease.is_empty() { "" } else { "&ack=" };
    format!("/wait?inbox={inbox}&timeout=60{ack}{lease}")
}

pub(crate) fn lease(batch: &[u8]) -> Result<String> {
    let batch: Batch = serde_json::from_slice(batch).context("a batch without a lease")?;
    Ok(batch.lease)
}

/// Returns the inboxes of a project that have a waiter; `*` for a server without inboxes.
pub(crate) fn armed(watch: &mut Connection, server: &Server, project: &str) -> Result<Vec<String>> {
    let path = format!("/inboxes?project={project}");
    let body = watch.exchange(&server.request("GET", &path, ""))?;
    let answer: Inboxes = serde_json::from_slice(&body).context("a list of inboxes")?;
    let held = answer.inboxes.into_iter().filter(|it| it.waiter.is_some());
    Ok(held.map(|it| it.name).collect())
}

/// Polls until `inbox` of the default project has a waiter.
pub(crate) fn until_armed(watch: &mut Connection, server: &Server, inbox: &str) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < TIMEOUT {
        let armed = armed(watch, server, "default")?;
        if armed.iter().any(|name| name == inbox || name == "*") {
            return Ok(());
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    bail!("nobody waits at {inbox}")
}
