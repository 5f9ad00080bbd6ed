//! Looks for commits that NATS has lost. The copies of the hubs still have them, so the hubs go on, and say so.

use std::time::Duration;

use hub_core::sync;
use hub_log::journal::Journal as _;
use hub_protocol::Counted;
use tokio::time::Instant;

use super::Cluster;
use crate::journal::{LogEnd, SharedLog, SharedLogError};
use crate::nats::Nats;

/// How often the stream's leader is asked how many messages it has lost.
const PERIOD: Duration = Duration::from_secs(10);
/// How often the active hub reads a part of the stream.
const READ_PERIOD: Duration = Duration::from_secs(60);

/// Reads the stream part by part, and begins again at its end.
#[derive(Default)]
struct Scrub {
    last: Option<Instant>,
    next: Option<(u64, LogEnd)>,
    /// The result of the last pass that completed or failed.
    found: Option<String>,
    /// Whether the last look found no stream.
    missing: bool,
}

/// Looks for lost commits.
pub(super) async fn run(cluster: &Cluster<impl Nats>) {
    let mut scrub = Scrub::default();
    loop {
        if let Ok(damage) = look(cluster, &mut scrub).await {
            let damage = damage.map(|it| {
                format!("{it}; this hub still has the log: see `hubd cluster restore --help`")
            });
            let before = std::mem::replace(&mut *sync::lock(&cluster.0.damage), damage.clone());
            if let Some(damage) = damage.filter(|_| before.is_none()) {
                tracing::error!("{damage}");
            }
        }
        tokio::time::sleep(PERIOD).await;
    }
}

/// Returns what is lost, as text.
async fn look(cluster: &Cluster<impl Nats>, scrub: &mut Scrub) -> anyhow::Result<Option<String>> {
    let shared = cluster.0.journal.shared();
    let state = match shared.state().await {
        // Servers that have just started may not know it yet.
        Err(error @ SharedLogError::Missing(_)) if scrub.missing => {
            return Ok(Some(format!("NATS lost the log: {error}")));
        }
        state => {
            scrub.missing = matches!(state, Err(SharedLogError::Missing(_)));
            state?
        }
    };
    if state.deleted > 0 {
        return Ok(Some(format!(
            "NATS lost {} of the log",
            Counted(state.deleted, "commit")
        )));
    }
    let is_due = scrub.last.is_none_or(|it| it.elapsed() >= READ_PERIOD);
    if cluster.is_active() && is_due && state.messages > 0 {
        scrub.last = Some(Instant::now());
        let first = state.first_sequence;
        let begin = (first, LogEnd::empty(cluster.0.journal.epoch()));
        let (position, mut end) = scrub
            .next
            .take()
            .filter(|it| it.0 >= first)
            .unwrap_or(begin);
        match verify(shared, &mut end, position).await {
            Ok(next) if next > state.last_sequence => scrub.found = None,
            Ok(next) => scrub.next = Some((next, end)),
            Err(error) if is_damage(&error) => scrub.found = Some(format!("{error:#}")),
            Err(_) => scrub.next = Some((position, end)),
        }
    }
    Ok(scrub.found.clone())
}

/// Whether an error of [`verify`] is about the log. The others are about a server that did not answer.
fn is_damage(error: &anyhow::Error) -> bool {
    let of_nats = error.downcast_ref::<SharedLogError>();
    of_nats.is_none_or(SharedLogError::is_lasting)
}

/// Checks the commits from `position` on, as many as one read returns; returns the position after them. `end` is the end of
/// the log before them, or that of an empty log to begin anywhere.
pub(super) async fn verify(
    shared: &SharedLog<impl Nats>,
    end: &mut LogEnd,
    mut position: u64,
) -> anyhow::Result<u64> {
    if end.head() == 0 {
        *end = shared.end_before(position, end).await?;
    }
    for commit in shared.read(position).await? {
        end.advance(&commit)?;
        position = commit.position + 1;
    }
    Ok(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_answer_has_lost_nothing() {
        let silent = SharedLogError::Unavailable("deadline has elapsed".into());
        assert!(!is_damage(&silent.into()));
        assert!(is_damage(&SharedLogError::Hole(3).into()));
    }
}
