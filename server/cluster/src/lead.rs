//! The change between standby and active.
//!
//! A standby watches the lease and takes it after it has not changed for some seconds, or at once if it was given up. Then
//! it follows the log to the end that the stream's leader knows, and appends a `Led` record there. From that record on the
//! appends of every other hub fail, even if that hub believes to be active.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{bail, ensure};
use hub_log::journal::Journal as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::follower::Doubt;
use super::lease::{self, Leadership, Written};
use super::{Cluster, Role, follower, handover};
use crate::nats::{Keys, Nats};

/// How often the lease is renewed, and how often a standby reads it.
const PERIOD: Duration = Duration::from_secs(2);
/// A lease that is read after a longer pause may have been written long before.
const FRESH_MS: i64 = 6_000;
/// How long after the begin of its last renewal a hub is sure that no other one is active.
const SURE_MS: i64 = 6_000;
/// A lease that has not changed for this long is lost: its holder was sure for less, and stood by then.
const LOST_MS: i64 = 7_500;
/// A standby that lags by more messages follows before it may lead.
const MAX_LAG: u64 = 1_000;
/// A NATS server that did not answer for this long is cut off from the others: they elect a leader within 10 s.
const CUT_OFF: Duration = Duration::from_secs(10);
/// How long a hub that stops may take to give its lease up.
const FAREWELL: Duration = Duration::from_secs(3);
/// A smaller difference of two machines' clocks is not recorded.
const SKEW_MS: i64 = 60_000;

/// The progress of this hub with the lease.
struct Leader<K> {
    keys: Option<K>,
    /// The revision that this hub wrote last as the active one.
    held: u64,
    /// The revision that it read last as a standby, and since when it has known it without a gap.
    seen: (u64, i64),
    /// When it read it last, if it has read it since the last error.
    polled: Option<i64>,
    /// The lead of this machine's clock over that of another node, at the last change of the lease.
    skew: Option<(String, i64)>,
    /// Whether the end of the stream is lost.
    lost: Doubt,
}

/// Watches, takes and renews the lease until `shutdown`, and then gives it up.
pub(super) async fn run<N: Nats>(cluster: &Cluster<N>, shutdown: &CancellationToken) {
    let mut leader = Leader::new();
    let mut answered = Instant::now();
    loop {
        let round = async {
            if cluster.has_term() {
                leader.renew(cluster).await
            } else {
                leader.watch(cluster).await
            }
        };
        if let Some(Err(error)) = shutdown.run_until_cancelled(round).await {
            leader.polled = None;
            tracing::debug!(%error, "the lease");
            if answered.elapsed() >= CUT_OFF {
                answered = Instant::now();
                change_server(cluster).await;
            }
        } else {
            answered = Instant::now();
            let now = cluster.0.clock.boot_ms();
            cluster.0.answered.store(now, Ordering::Relaxed);
        }
        tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            () = cluster.0.hurry.notified() => {}
            () = tokio::time::sleep(PERIOD) => {}
        }
    }
    // Otherwise the writer waits for an append that NATS does not answer.
    cluster.0.journal.shared().stop();
    leader.resign(cluster).await;
}

impl<K: Keys> Leader<K> {
    fn new() -> Self {
        Self {
            keys: None,
            held: 0,
            seen: (0, 0),
            polled: None,
            skew: None,
            lost: Doubt::default(),
        }
    }

    async fn keys(&mut self, cluster: &Cluster<impl Nats<Keys = K>>) -> anyhow::Result<K> {
        if let Some(keys) = &self.keys {
            return Ok(keys.clone());
        }
        let keys = cluster.0.nats.keys().await?;
        if !lease::claim_name(cluster, &keys).await? {
            cluster.refuse_name("machine");
        }
        Ok(self.keys.insert(keys).clone())
    }

    /// One round of a standby.
    async fn watch(&mut self, cluster: &Cluster<impl Nats<Keys = K>>) -> anyhow::Result<()> {
        let keys = self.keys(cluster).await?;
        let (revision, lease) = lease::read(&keys).await?;
        let now = cluster.0.clock.boot_ms();
        let fresh = (self.polled.replace(now)).is_some_and(|polled| now - polled < FRESH_MS);
        let changed = revision != self.seen.0;
        if changed || !fresh {
            self.seen = (revision, now);
        }
        if changed && fresh {
            let skew_ms = cluster.0.clock.wall().as_millis() - lease.at.as_millis();
            self.skew = Some((lease.writer().to_owned(), skew_ms));
        }
        let is_free = lease.is_free_for(&cluster.0.node) && cluster.0.nodes.is_introduced();
        if is_free || now - self.seen.1 > LOST_MS {
            self.campaign(cluster, &keys, (revision, lease)).await?;
        }
        Ok(())
    }

    /// Returns by how much pending deadlines move, because they are by the clock of the hub before.
    fn clock_moved(
        &self,
        cluster: &Cluster<impl Nats<Keys = K>>,
        previous: &Leadership,
    ) -> Option<i64> {
        let (of, skew_ms) = self.skew.as_ref()?;
        let is_other = of == previous.writer() && *of != cluster.0.node;
        let moved = Some(*skew_ms).filter(|it| is_other && it.abs() > SKEW_MS)?;
        tracing::warn!(
            moved,
            "the clocks of this machine and the last active hub's differ"
        );
        Some(moved)
    }

    /// Tries to become the active hub.
    async fn campaign(
        &mut self,
        cluster: &Cluster<impl Nats<Keys = K>>,
        keys: &K,
        (revision, previous): (u64, Leadership),
    ) -> anyhow::Result<()> {
        let inner = &*cluster.0;
        if cluster.cannot_lead().is_some() || lag(cluster).await? > MAX_LAG {
            return Ok(());
        }
        let began = cluster.0.clock.boot_ms();
        match lease::write(keys, &own_lease(cluster), revision).await? {
            Written::Done(revision) => self.held = revision,
            Written::Conflict => return Ok(()),
        }
        inner.journal.confirm(began + SURE_MS);
        let moved = self.clock_moved(cluster, &previous);
        let led = self.lead(cluster, &previous, moved).await;
        match led {
            Ok(term) => {
                inner.role.send_replace(Role::Active { term });
                tracing::info!(term, "this hub is active");
            }
            Err(_) => self.release(cluster, keys, "").await?,
        }
        led.map(drop)
    }

    /// Follows the log to its end and appends the `Led` record; returns its number.
    async fn lead(
        &mut self,
        cluster: &Cluster<impl Nats<Keys = K>>,
        previous: &Leadership,
        clock_moved_ms: Option<i64>,
    ) -> anyhow::Result<u64> {
        let inner = &*cluster.0;
        let last = follower::reach_end(cluster).await?;
        let (position, head) = (*inner.journal.position().borrow(), inner.journal.head());
        if position > Some(last) || head < previous.head {
            let head = head.max(previous.head);
            let reason = format!(
                "the stream ends before record {head}: NATS lost its end; see `hubd cluster restore --help`"
            );
            if self.lost.lasts() {
                cluster.fail(&reason);
            }
            bail!(reason);
        }
        let term = inner.hub.lead(&inner.node, clock_moved_ms).await?;
        ensure!(inner.journal.leads(), "another hub was faster");
        Ok(term)
    }

    /// One round of the active hub.
    async fn renew(&mut self, cluster: &Cluster<impl Nats<Keys = K>>) -> anyhow::Result<()> {
        let keys = self.keys(cluster).await?;
        if !cluster.0.journal.leads() {
            return self.step_down(cluster, "").await;
        }
        if let Some(heir) = heir(cluster) {
            return self.step_down(cluster, &heir).await;
        }
        let began = cluster.0.clock.boot_ms();
        match lease::write(&keys, &own_lease(cluster), self.held).await? {
            Written::Done(revision) => {
                self.held = revision;
                cluster.0.journal.confirm(began + SURE_MS);
            }
            Written::Conflict => {
                stop_leading(cluster).await;
                stand_by(cluster);
            }
        }
        Ok(())
    }

    /// Stops leading, and gives the lease up. The beat that reports it lets the others look at the lease, so it comes last.
    async fn step_down(
        &mut self,
        cluster: &Cluster<impl Nats<Keys = K>>,
        heir: &str,
    ) -> anyhow::Result<()> {
        stop_leading(cluster).await;
        let released = match self.keys.clone() {
            Some(keys) => self.release(cluster, &keys, heir).await,
            None => Ok(()),
        };
        stand_by(cluster);
        released
    }

    /// Gives the lease up, if this hub holds it. Only `heir` takes it at once, or every hub if that is empty.
    async fn release(
        &mut self,
        cluster: &Cluster<impl Nats<Keys = K>>,
        keys: &K,
        heir: &str,
    ) -> anyhow::Result<()> {
        let free = Leadership {
            head: cluster.0.journal.head(),
            at: cluster.0.clock.wall(),
            heir: heir.to_owned(),
            from: cluster.0.node.clone(),
            ..Leadership::default()
        };
        if let Written::Conflict = lease::write(keys, &free, self.held).await? {
            // A renewal that was cut short may have been stored.
            let (revision, found) = lease::read(keys).await?;
            if found.run == cluster.0.run {
                lease::write(keys, &free, revision).await?;
            }
        }
        Ok(())
    }

    /// Hands over at a clean stop, and tells the other hubs that this one leaves.
    async fn resign(&mut self, cluster: &Cluster<impl Nats<Keys = K>>) {
        if cluster.has_term() {
            let stepped_down = tokio::time::timeout(FAREWELL, self.step_down(cluster, "")).await;
            if let Err(error) = stepped_down.map_err(Into::into).flatten() {
                tracing::warn!(%error, "the lease could not be given up: another hub takes over in 10 s");
            }
        }
        super::nodes::beat_once(cluster, super::nodes::LEAVING).await;
        // Without a server this would never end.
        let _ = tokio::time::timeout(PERIOD, cluster.0.nats.flush()).await;
    }
}

/// Returns by how many messages this hub is behind the stream.
async fn lag(cluster: &Cluster<impl Nats>) -> anyhow::Result<u64> {
    let position = *cluster.0.journal.position().borrow();
    let Some(position) = position else {
        return Ok(u64::MAX);
    };
    let last = cluster.0.journal.shared().last().await?;
    Ok(last.saturating_sub(position))
}

fn own_lease(cluster: &Cluster<impl Nats>) -> Leadership {
    Leadership {
        node: cluster.0.node.clone(),
        run: cluster.0.run.clone(),
        head: cluster.0.journal.head(),
        at: cluster.0.clock.wall(),
        version: env!("CARGO_PKG_VERSION").into(),
        ..Leadership::default()
    }
}

/// Returns the hub that shall take over: the one that was asked for, or any one if this hub has no room for notifications.
fn heir(cluster: &Cluster<impl Nats>) -> Option<String> {
    let inner = &*cluster.0;
    let full = || {
        inner
            .journal
            .is_full()
            .then(|| inner.nodes.heir(inner.journal.head()))
    };
    handover::take_chosen(cluster).or_else(|| full().flatten())
}

/// Goes to another NATS server: this one may be cut off from the others, and then it never answers.
async fn change_server(cluster: &Cluster<impl Nats>) {
    if cluster.0.settings.urls.len() > 1 {
        tracing::warn!("NATS does not answer: trying another server");
        let _ = cluster.0.nats.reconnect().await;
    }
}

async fn stop_leading(cluster: &Cluster<impl Nats>) {
    tracing::warn!("this hub is no longer active");
    cluster.0.journal.lead(false);
    let _ = cluster.0.hub.step_down().await;
}

fn stand_by(cluster: &Cluster<impl Nats>) {
    cluster.0.role.send_replace(Role::Standby);
    cluster.0.missed.notify_one();
}
