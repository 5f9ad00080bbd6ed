//! Follows the active hub: its commits arrive as they are stored, and missed ones are read from the stream.

use std::time::Duration;

use async_nats::Message;
use futures_util::{FutureExt as _, StreamExt as _};
use hub_log::journal::{Journal as _, JournalError, SharedCommit};
use tokio::time::Instant;

use super::Cluster;
use crate::journal::shared_log::{SharedLogError, commit_of};
use crate::nats::Nats;

/// The pause after an error.
const RETRY: Duration = Duration::from_millis(500);
/// A server that leads the stream no more may know an old end of it for this long.
const OLD_END: Duration = Duration::from_secs(10);
/// How often the head of the other hubs is compared with this one's.
const COMPARE: Duration = Duration::from_secs(2);
/// How long a hub may take to follow the rest of the log.
const CATCH_UP: Duration = Duration::from_secs(5);
/// The most commits that are stored at once.
const BATCH: usize = 256;

/// The doubt whether the stream has lost its end.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// Since when it has seemed so without a pause, and when it did last.
    seemed: Option<(Instant, Instant)>,
}

impl Doubt {
    /// Notes that the end seems lost; returns whether it has for longer than a server can know an old one.
    pub(super) fn lasts(&mut self) -> bool {
        let now = Instant::now();
        let unbroken = self.seemed.filter(|(_, last)| now - *last < OLD_END);
        let since = unbroken.map_or(now, |(since, _)| since);
        self.seemed = Some((since, now));
        now - since > OLD_END
    }
}

/// Why following was interrupted.
#[derive(Debug, thiserror::Error)]
enum Interruption {
    #[error(transparent)]
    Stream(#[from] SharedLogError),
    #[error(transparent)]
    Copy(#[from] JournalError),
}

impl Interruption {
    /// Whether a server that has only the beginning of the stream would answer so.
    fn may_be_old(&self) -> bool {
        use SharedLogError::{Behind, Hole};
        matches!(self, Self::Stream(Behind { .. } | Hole(_)))
    }

    fn is_lasting(&self) -> bool {
        match self {
            Self::Stream(error) => error.is_lasting(),
            Self::Copy(error) => matches!(
                error,
                JournalError::Corrupt { .. } | JournalError::UnknownKind { .. }
            ),
        }
    }
}

/// Follows until the stream turns out not to continue the copy.
pub(super) async fn run(cluster: &Cluster<impl Nats>) {
    let mut doubt = Doubt::default();
    loop {
        let Err(error) = follow(cluster).await;
        if error.is_lasting() && (!error.may_be_old() || doubt.lasts()) {
            cluster.fail(&error.to_string());
            return;
        }
        tracing::debug!(%error, "following was interrupted");
        tokio::time::sleep(RETRY).await;
    }
}

async fn follow(cluster: &Cluster<impl Nats>) -> Result<std::convert::Infallible, Interruption> {
    let inner = &*cluster.0;
    // Before the first read, so that nothing is stored unnoticed in between.
    let mut live = inner.journal.shared().subscribe().await?;
    if inner.journal.position().borrow().is_none() {
        inner.journal.locate().await?;
    }
    catch_up(cluster).await?;
    // A hub that starts again may lead as soon as it has its place in the log.
    inner.hurry.notify_one();
    loop {
        tokio::select! {
            biased;
            () = inner.missed.notified() => catch_up(cluster).await?,
            message = live.next() => match message {
                Some(message) => take(cluster, &mut live, message).await?,
                None => return Err(SharedLogError::Unavailable("the connection was closed".into()).into()),
            },
            () = tokio::time::sleep(COMPARE) => {
                if inner.nodes.newest_head() > inner.journal.head() {
                    catch_up(cluster).await?;
                }
            }
        }
    }
}

/// Stores a commit that has just arrived, and those that arrived with it.
async fn take<N: Nats>(
    cluster: &Cluster<N>,
    live: &mut N::Messages,
    first: Message,
) -> Result<(), Interruption> {
    let arrived = std::iter::from_fn(|| live.next().now_or_never().flatten());
    let messages: Vec<Message> = std::iter::once(first).chain(arrived.take(BATCH)).collect();
    // The active hub stores its own commits itself.
    if cluster.0.journal.leads() {
        return Ok(());
    }
    let position = cluster.0.journal.position().borrow().unwrap_or(0);
    let commits = messages.into_iter().filter_map(commit_of);
    let commits: Vec<SharedCommit> = commits.filter(|it| it.position > position).collect();
    let next = position + 1;
    if commits
        .iter()
        .zip(next..)
        .any(|(it, expected)| it.position != expected)
    {
        return catch_up(cluster).await;
    }
    Ok(cluster.0.hub.follow(commits).await?)
}

/// Returns once the copy and the fold have the message that is the last one now; returns its position.
pub(super) async fn reach_end(cluster: &Cluster<impl Nats>) -> anyhow::Result<u64> {
    let inner = &*cluster.0;
    let mut position = inner.journal.position();
    anyhow::ensure!(
        position.borrow().is_some(),
        "the place in the stream is not known yet"
    );
    let last = inner.journal.shared().last().await?;
    inner.missed.notify_one();
    let reached = position.wait_for(|it| it.is_some_and(|it| it >= last));
    tokio::time::timeout(CATCH_UP, reached).await??;
    // The writer stores commits before it applies them.
    inner.hub.ping().await?;
    Ok(last)
}

/// Reads the stream to its end.
async fn catch_up(cluster: &Cluster<impl Nats>) -> Result<(), Interruption> {
    let inner = &*cluster.0;
    // The active hub has what it stored, and nobody else stores anything.
    if inner.journal.leads() {
        return Ok(());
    }
    let shared = inner.journal.shared();
    let position = inner.journal.position().borrow().unwrap_or(0);
    let read = shared.read(position + 1).await;
    let mut commits = read.map_err(|error| match error {
        SharedLogError::Dropped(_) => SharedLogError::TooOld(inner.journal.head() + 1),
        error => error,
    })?;
    while let Some(last) = commits.last().map(|it| it.position)
        && !inner.journal.leads()
    {
        // The next ones arrive while these are stored.
        let (stored, next) = tokio::join!(inner.hub.follow(commits), shared.read(last + 1));
        stored?;
        commits = next?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_an_end_that_seems_lost_without_a_pause_is_lost() {
        let pass = |seconds| tokio::time::advance(Duration::from_secs(seconds));
        let mut doubt = Doubt::default();
        assert!(!doubt.lasts());
        // The stream is followed for an hour.
        pass(3_600).await;
        for _ in 0..6 {
            assert!(!doubt.lasts());
            pass(2).await;
        }
        assert!(doubt.lasts());
    }
}
