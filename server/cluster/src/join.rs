//! The start of a hub in a cluster. At its first start it learns the epoch of the log and the secret that signs leases, and
//! keeps both beside its copy; later it starts without NATS. A copy that the stream does not continue any more is made anew.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use async_nats::connection::State;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::kv;
use bytes::Bytes;
use hub_config::state_dir::{CLUSTER_MARKER, StateDir, read_private};
use hub_config::{ClusterSettings, Config};
use hub_core::durable;
use hub_core::secret::hex;
use hub_log::journal::Journal as _;
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::sled::{DirLock, Files, Options, StagedJournal};
use hub_protocol::Epoch;
use serde::{Deserialize, Serialize};

use super::signature::CallKeys;
use super::{connection, lease};
use crate::journal::base::{self, BaseError};
use crate::journal::{MAX_MESSAGE, SharedLog, SharedLogError};
use crate::nats::{JetStream, Nats as _};

/// How long a first start waits for NATS, and the pause between two attempts.
const ATTEMPTS: u32 = 60;
const PAUSE: Duration = Duration::from_millis(500);
/// The time in which NATS must answer.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The key of the secret.
const SECRET: &str = "secret";

/// A hub's connection to the NATS servers of its cluster.
pub struct ClusterConnection<N = JetStream> {
    /// The connection.
    pub nats: N,
    /// The settings of the cluster.
    pub settings: ClusterSettings,
    /// The name of this hub.
    pub node: String,
    /// The name of this process, which no other one has.
    pub run: String,
    /// The identifier of this machine; `None` if it has none.
    pub machine: Option<String>,
    /// The keys that sign calls.
    pub keys: CallKeys,
    /// The stream.
    pub shared: Arc<SharedLog<N>>,
}

/// A hub's connection to its cluster, before it starts.
pub struct Joined {
    /// The stream.
    pub shared: Arc<SharedLog>,
    /// The epoch of the log.
    pub epoch: Epoch,
    /// The secret with which all hubs sign leases.
    pub secret: String,
    pub(super) connection: ClusterConnection,
    /// The directory of the snapshots.
    pub(super) snapshots: PathBuf,
}

/// The content of [`CLUSTER_MARKER`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Membership {
    cluster: String,
    pub(super) epoch: Epoch,
    pub(super) secret: String,
}

impl Membership {
    /// Reads the membership of a state directory; `None` if it belongs to no cluster.
    pub(super) fn load(dir: &Path, cluster: &str) -> anyhow::Result<Option<Self>> {
        let path = dir.join(CLUSTER_MARKER);
        let Some(text) = read_private(&path)? else {
            return Ok(None);
        };
        let found: Self =
            serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        ensure!(
            found.cluster == cluster,
            "this state directory belongs to the cluster '{}', and cluster.name is '{cluster}'",
            found.cluster
        );
        Ok(Some(found))
    }

    pub(super) fn save(&self, dir: &Path) -> anyhow::Result<()> {
        let bytes = serde_json::to_vec(self)?;
        Ok(durable::replace(&dir.join(CLUSTER_MARKER), &[&bytes])?)
    }
}

/// Begins to connect to the NATS servers; does not wait for them.
pub(super) async fn connect(settings: ClusterSettings) -> anyhow::Result<ClusterConnection> {
    let node = node_name(&settings)?;
    check_name("cluster.name", &settings.name)?;
    let keys = CallKeys::load(&settings)?;
    let client = connection::connect(&settings, &node, connection::log).await?;
    let context = ContextBuilder::new()
        .timeout(TIMEOUT)
        .ack_timeout(TIMEOUT)
        .build(client);
    let run = random_hex()?;
    let nats = JetStream::new(context, &settings);
    let shared = SharedLog::new(nats.clone(), &settings.name, &node, &run);
    Ok(ClusterConnection {
        machine: lease::machine(&settings.name),
        nats,
        settings,
        node,
        run,
        keys,
        shared: Arc::new(shared),
    })
}

/// Connects a hub to its cluster. Must run inside the async runtime.
pub async fn join(config: &Config, dir: &StateDir) -> anyhow::Result<Joined> {
    let connection = connect(config.cluster.clone()).await?;
    let dir = dir.path();
    let membership = if let Some(found) = Membership::load(dir, &connection.settings.name)? {
        found
    } else {
        ensure!(
            !dir.join("epoch").exists(),
            "{} has a log of its own: move it into the cluster with `hubd cluster init`, or use an empty --state-dir",
            dir.display()
        );
        let membership = begin(&connection).await?;
        membership.save(dir)?;
        membership
    };
    let Membership { epoch, secret, .. } = membership;
    let copied = base::retry(
        || copy_anew(&connection.shared, dir, epoch),
        || connection.nats.client.connection_state() == State::Connected,
    );
    copied
        .await
        .context("the log could not be copied from NATS")?;
    Ok(Joined {
        shared: Arc::clone(&connection.shared),
        epoch,
        secret,
        connection,
        snapshots: Files::new(dir).snapshots(),
    })
}

/// Copies the log from the base if this directory has none, or one that the stream does not continue any more.
async fn copy_anew(shared: &SharedLog, dir: &Path, epoch: Epoch) -> Result<(), BaseError> {
    if !shared.lacks_beginning(epoch).await? {
        return Ok(());
    }
    if !Files::new(dir).are_missing() {
        let journal = DiskJournal::open(dir, Options::default())?;
        let place = shared.place_of(&journal).await;
        journal.close()?;
        if !matches!(place, Err(SharedLogError::TooOld(_))) {
            return Ok(());
        }
    }
    let lock = DirLock::take(dir)?;
    tracing::info!("copying the log from NATS");
    shared.copy(epoch, StagedJournal::begin(&lock)?).await
}

/// Learns the epoch and the secret of the cluster; makes its stream and its keys if this hub is the first.
async fn begin(connection: &ClusterConnection) -> anyhow::Result<Membership> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        match try_begin(connection).await {
            Ok(membership) => return Ok(membership),
            Err(error) => match error.downcast_ref::<SharedLogError>() {
                Some(fault) if fault.is_lasting() => return Err(error),
                _ => last = Some(error),
            },
        }
        tokio::time::sleep(PAUSE).await;
    }
    let last = last.unwrap_or_else(|| anyhow::anyhow!("no answer"));
    Err(last.context("a first start needs NATS with JetStream"))
}

async fn try_begin(connection: &ClusterConnection) -> anyhow::Result<Membership> {
    let ClusterConnection {
        shared, settings, ..
    } = connection;
    let epoch = match shared.epoch().await {
        Err(SharedLogError::Missing(_)) => {
            let replicas = settings.replicas.get() as usize;
            shared.create(Epoch(getrandom::u64()?), replicas).await?;
            shared.epoch().await?
        }
        found => found?,
    };
    enlist(connection, epoch, random_secret()?).await
}

/// Makes the keys of a cluster whose stream exists, and stores `secret`, if they are missing.
pub(super) async fn enlist(
    connection: &ClusterConnection,
    epoch: Epoch,
    secret: String,
) -> anyhow::Result<Membership> {
    let ClusterConnection { nats, settings, .. } = connection;
    let limit = nats.client.server_info().max_payload;
    ensure!(
        limit >= MAX_MESSAGE,
        "NATS accepts messages of {limit} bytes: set max_payload: 8MB in its configuration"
    );
    let keys = nats.keys().await?;
    let secret = stored_secret(&keys, secret).await?;
    Ok(Membership {
        cluster: settings.name.clone(),
        epoch,
        secret,
    })
}

/// Returns a new secret of a cluster.
pub(super) fn random_secret() -> anyhow::Result<String> {
    Ok(random_hex()? + &random_hex()?)
}

/// Returns the secret of the cluster; that is `new` if it has none yet.
async fn stored_secret(keys: &kv::Store, new: String) -> anyhow::Result<String> {
    if let Some(found) = keys.get(SECRET).await? {
        return Ok(String::from_utf8(found.to_vec())?);
    }
    match keys.create(SECRET, Bytes::from(new.clone())).await {
        Ok(_) => Ok(new),
        Err(error) if error.kind() == kv::CreateErrorKind::AlreadyExists => {
            let found = keys.get(SECRET).await?;
            let found = found.context("the cluster has no secret")?;
            Ok(String::from_utf8(found.to_vec())?)
        }
        Err(error) => Err(error.into()),
    }
}

fn node_name(settings: &ClusterSettings) -> anyhow::Result<String> {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let host = host.split('.').next().unwrap_or_default();
    let named = Some(settings.node.as_str()).filter(|it| !it.is_empty());
    let node = named.unwrap_or(host);
    check_name("cluster.node", node)?;
    Ok(node.to_owned())
}

/// Checks a name that becomes part of NATS subjects.
fn check_name(setting: &str, name: &str) -> anyhow::Result<()> {
    let sound = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(sound) {
        bail!("{setting} '{name}' must have 1 to 64 letters, digits, '-' and '_'");
    }
    Ok(())
}

fn random_hex() -> anyhow::Result<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)?;
    Ok(hex(&random))
}
