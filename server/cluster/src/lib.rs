//! The cluster: several hubs with one log, on several machines, over NATS.
//!
//! One hub is active: it alone decides commands and hands out notifications. The others follow its commits, answer reads
//! and event streams from their own copies of the log, and pass every other request on to it. The log decides which hub may
//! append (`log/journal/jetstream`); the lease in a NATS key only detects that the active hub has failed.
//!
//! ```text
//!   join        first start: the epoch and the secret of the cluster; the NATS connection
//!   nats        what a hub needs of NATS, and the real one; tests/sim has a model
//!   lead        the lease, and the change between standby and active
//!   follower    the commits of the active hub, into the copy and the fold
//!   nodes       the beats of all hubs: role, head, and which calls they hold
//!   front       requests of clients: answered here, or forwarded
//!   calls       forwarded requests, answered by the active hub
//!   signature   which hub took a forwarded request
//!   handover    the route that makes another hub the active one
//!   retention   the base, and the end of the commits that it replaces
//!   audit       looks for commits that NATS has lost
//!   commands    `hubd cluster init`, `check`, `restore` and `leave`
//! ```

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use axum::Router;
use axum::routing::post;
use futures_util::future::BoxFuture;
use hub_config::ClusterSettings;
use hub_core::command::Command;
use hub_core::record::Led;
use hub_core::rejected::Rejected;
use hub_core::sync;
use hub_core::time::{Clock, SystemClock};
use hub_engine::writer::Done;
use hub_engine::{ActiveHub, Hub};
use hub_log::journal::Journal as _;
use hub_log::journal::snapshot::{FoldSnapshot, Snapshots};
use hub_protocol::{ClusterInfo, NodeInfo, Seq};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::journal::JetStreamJournal;
use crate::nats::{JetStream, Nats};

mod audit;
mod calls;
pub mod commands;
mod connection;
mod follower;
mod forward;
mod front;
mod handover;
mod join;
pub mod journal;
mod lead;
mod lease;
pub mod nats;
mod nodes;
mod replay;
mod retention;
mod signature;
mod wire;

pub use join::{ClusterConnection, Joined, join};
pub use signature::CallKeys;

use nodes::Nodes;
use wire::CallId;

/// After this time without a look at the lease, a hub says so. An election of NATS takes less in most cases.
const SILENT_MS: i64 = 8_000;

/// The role of this hub in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It follows another hub, or waits for one.
    Standby,
    /// It is the active hub, since the record with this number.
    Active { term: Seq },
}

/// Reads the newest snapshot of this hub.
pub type NewestSnapshot =
    Box<dyn Fn() -> BoxFuture<'static, anyhow::Result<Option<FoldSnapshot>>> + Send + Sync>;

/// A hub's part in its cluster; clones share it.
pub struct Cluster<N = JetStream>(Arc<ClusterInner<N>>);

impl<N> Clone for Cluster<N> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct ClusterInner<N> {
    nats: N,
    settings: ClusterSettings,
    node: String,
    run: String,
    machine: Option<String>,
    keys: CallKeys,
    clock: Arc<dyn Clock>,
    hub: Hub,
    journal: Arc<JetStreamJournal<N>>,
    role: watch::Sender<Role>,
    nodes: Nodes,
    /// The forwarded calls of clients of this hub that have no answer yet.
    open: Mutex<BTreeSet<CallId>>,
    /// The calls of other hubs that this one works on.
    held: calls::HeldCalls,
    /// Whether the active hub does not know this hub's key.
    unknown: AtomicBool,
    /// Notified when the lease must be looked at now.
    hurry: Notify,
    /// When the lease was read or written last, by [`Clock::boot_ms`].
    answered: AtomicI64,
    /// Whether another hub has the name of this one.
    namesake: AtomicBool,
    /// The hub that shall become the active one.
    heir: Mutex<Option<(String, Instant)>>,
    /// Notified when commits may have been missed.
    missed: Notify,
    newest_snapshot: NewestSnapshot,
    /// A description of the records that NATS has lost.
    damage: Mutex<Option<String>>,
}

/// The other hubs, as the hub's own bridges reach them.
struct Others<N>(Weak<ClusterInner<N>>);

impl<N: Nats> ActiveHub for Others<N> {
    fn submit(&self, command: Command) -> BoxFuture<'static, Result<Done, Rejected>> {
        let own = self.0.upgrade().map(Cluster);
        Box::pin(async move {
            let cluster = own.ok_or(Rejected::ShuttingDown)?;
            forward::submit(&cluster, command).await
        })
    }

    fn catch_up(&self) -> BoxFuture<'static, Result<(), Rejected>> {
        let own = self.0.upgrade().map(Cluster);
        Box::pin(async move {
            let cluster = own.ok_or(Rejected::ShuttingDown)?;
            let reached = follower::reach_end(&cluster).await;
            reached.map(drop).map_err(|error| {
                tracing::debug!(%error, "the end of the log was not reached");
                Rejected::NoActiveHub
            })
        })
    }
}

impl Cluster {
    /// Puts a hub that has started into its cluster; [`Cluster::run`] does the work.
    pub fn new(joined: Joined, journal: Arc<JetStreamJournal>, hub: Hub) -> Self {
        let snapshots = Snapshots::new(&joined.snapshots, journal.epoch());
        let newest_snapshot: NewestSnapshot = Box::new(move || {
            let snapshots = snapshots.clone();
            let newest = tokio::task::spawn_blocking(move || newest(&snapshots));
            Box::pin(async { newest.await? })
        });
        let clock = Arc::new(SystemClock);
        Self::over(joined.connection, (journal, newest_snapshot), hub, clock)
    }
}

/// Returns the newest of the snapshots; `None` if there is none.
pub fn newest(snapshots: &Snapshots) -> anyhow::Result<Option<FoldSnapshot>> {
    Ok(snapshots.usable()?.next().transpose()?)
}

impl<N: Nats> Cluster<N> {
    /// Puts a hub into the cluster that `connection` leads to; [`Self::run`] does the work.
    pub fn over(
        connection: ClusterConnection<N>,
        (journal, newest_snapshot): (Arc<JetStreamJournal<N>>, NewestSnapshot),
        hub: Hub,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let cluster = Self(Arc::new(ClusterInner {
            answered: AtomicI64::new(clock.boot_ms()),
            newest_snapshot,
            nats: connection.nats,
            settings: connection.settings,
            node: connection.node,
            run: connection.run,
            machine: connection.machine,
            keys: connection.keys,
            clock,
            hub,
            journal,
            role: watch::Sender::new(Role::Standby),
            nodes: Nodes::default(),
            open: Mutex::default(),
            held: calls::HeldCalls::default(),
            unknown: AtomicBool::new(false),
            hurry: Notify::new(),
            namesake: AtomicBool::new(false),
            heir: Mutex::default(),
            missed: Notify::new(),
            damage: Mutex::default(),
        }));
        let others = Others(Arc::downgrade(&cluster.0));
        cluster.0.hub.set_active_hub(Box::new(others));
        cluster
    }

    /// Adds the routes of what only a hub in a cluster can do.
    pub fn with_routes(&self, routes: Router) -> Router {
        routes.route(
            "/cluster/handover",
            post(handover::hand_over::<N>).with_state(self.clone()),
        )
    }

    /// Returns `routes` behind the choice of the hub that answers.
    pub fn front(&self, routes: Router) -> Router {
        front::layer(self, routes)
    }

    /// Follows, leads and serves the other hubs with `routes`, and drops old commits, until `shutdown`.
    pub async fn run(&self, routes: Router, shutdown: &CancellationToken) {
        tokio::join!(
            lead::run(self, shutdown),
            shutdown.run_until_cancelled(follower::run(self)),
            shutdown.run_until_cancelled(nodes::listen(self)),
            shutdown.run_until_cancelled(nodes::beat(self)),
            shutdown.run_until_cancelled(calls::serve(self, routes)),
            shutdown.run_until_cancelled(audit::run(self)),
            shutdown.run_until_cancelled(retention::run(self)),
        );
    }

    /// Describes the cluster as this hub sees it.
    pub fn info(&self) -> ClusterInfo {
        let inner = &*self.0;
        let head = inner.journal.head();
        let nodes: Vec<NodeInfo> = inner.nodes.list(inner.clock.wall());
        let newest = inner.nodes.newest_head();
        let active = self.active();
        ClusterInfo {
            name: inner.settings.name.clone(),
            node: inner.node.clone(),
            role: self.role_name().into(),
            active: active.as_ref().map(|(_, led)| led.node.clone()),
            since: active.map(|(_, led)| led.at),
            behind: newest.saturating_sub(head),
            fault: self
                .fault()
                .or_else(|| self.silence())
                .or_else(|| self.doubt()),
            damage: sync::lock(&inner.damage).clone(),
            nodes,
        }
    }

    /// Why this hub does not follow the others, or refuses publishes.
    fn fault(&self) -> Option<String> {
        let journal = &self.0.journal;
        journal.fault().or_else(|| {
            let full = if self.is_active() {
                "its disk is full: publishes are refused until there is room"
            } else {
                "its disk is full: it follows again when there is room"
            };
            journal.is_full().then(|| full.to_owned())
        })
    }

    /// Says that this hub does not know what the others do.
    fn silence(&self) -> Option<String> {
        let silent_ms = self.0.clock.boot_ms() - self.0.answered.load(Ordering::Relaxed);
        (silent_ms > SILENT_MS).then(|| {
            format!(
                "the lease in NATS could not be used for {} s: only the records that are stored here are known",
                silent_ms / 1000
            )
        })
    }

    /// Says that the active hub does not believe this one who makes a request.
    fn doubt(&self) -> Option<String> {
        let is_doubted = !self.is_active() && self.0.unknown.load(Ordering::Relaxed);
        is_doubted.then(|| {
            "the active hub does not know its key: everyone here counts as an unknown caller".into()
        })
    }

    /// Why this hub cannot become the active one, and what to do.
    fn cannot_lead(&self) -> Option<String> {
        let never = || "its setting is cluster.lead = false".to_owned();
        self.fault().or_else(|| (!self.0.settings.lead).then(never))
    }

    fn role(&self) -> Role {
        *self.0.role.borrow()
    }

    /// Whether this hub has begun a term and not ended it. Another hub may have begun the next one.
    fn has_term(&self) -> bool {
        matches!(self.role(), Role::Active { .. })
    }

    /// Whether this hub is the active one: it has a term, and the time of its lease is not over.
    pub fn is_active(&self) -> bool {
        self.0.journal.is_active() && self.has_term()
    }

    /// Returns the active hub and its term: this hub, or the one that began the last term if its beats say that it is
    /// active.
    fn active(&self) -> Option<(Seq, Led)> {
        let leader = self.0.hub.read(|state, _| state.leader().cloned());
        let leader = leader.ok().flatten();
        leader.filter(|(_, led)| self.is_active() || self.0.nodes.is_active(&led.node))
    }

    fn role_name(&self) -> &'static str {
        if self.is_active() {
            nodes::ACTIVE
        } else {
            "standby"
        }
    }

    /// A subject of this cluster.
    fn subject(&self, rest: &str) -> String {
        format!("hub.{}.{rest}", self.0.settings.name)
    }

    fn open_calls(&self) -> std::sync::MutexGuard<'_, BTreeSet<CallId>> {
        sync::lock(&self.0.open)
    }

    /// Stops for good, because another hub has this name: the two would end each other's sessions.
    fn refuse_name(&self, other: &str) {
        self.0.namesake.store(true, Ordering::Relaxed);
        let node = &self.0.node;
        self.fail(&format!(
            "another {other} is '{node}' in this cluster: set cluster.node"
        ));
    }

    /// Stops following for good, because the log in NATS and the copy differ.
    fn fail(&self, reason: &str) {
        tracing::error!(reason, "this hub stopped following its cluster");
        self.0.journal.fail(reason);
    }
}
