//! The start of a hub in a cluster. At its first start it learns the epoch of the log and the secret that signs leases, and
//! keeps both beside its copy; later it starts without NATS.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use async_nats::Client;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::{Context, kv};
use bytes::Bytes;
use hub_protocol::Epoch;
use serde::{Deserialize, Serialize};

use super::{connection, lease};
use crate::config::state_dir::{CLUSTER_MARKER, StateDir, read_private};
use crate::config::{ClusterSettings, Config};
use crate::core::durable;
use crate::core::secret::hex;
use crate::log::journal::jetstream::{MAX_MESSAGE, SharedLog, SharedLogError};

/// How long a first start waits for NATS, and the pause between two attempts.
const ATTEMPTS: u32 = 60;
const PAUSE: Duration = Duration::from_millis(500);
/// The time in which NATS must answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A hub's connection to its cluster, before it starts.
pub struct Joined {
    /// The stream.
    pub shared: Arc<SharedLog>,
    /// The epoch of the log.
    pub epoch: Epoch,
    /// The secret with which all hubs sign leases.
    pub secret: String,
    pub(super) client: Client,
    pub(super) context: Context,
    pub(super) settings: ClusterSettings,
    pub(super) node: String,
    pub(super) run: String,
}

/// The content of [`CLUSTER_MARKER`].
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Membership {
    cluster: String,
    epoch: Epoch,
    secret: String,
}

/// Connects a hub to its cluster. Must run inside the async runtime.
pub async fn join(config: &Config, dir: &StateDir) -> anyhow::Result<Joined> {
    let settings = config.cluster.clone();
    let node = node_name(&settings)?;
    check_name("cluster.name", &settings.name)?;
    let client = connection::connect(&settings, &node).await?;
    let context = ContextBuilder::new()
        .timeout(TIMEOUT)
        .ack_timeout(TIMEOUT)
        .build(client.clone());
    let run = random_hex()?;
    let shared = Arc::new(SharedLog::new(context.clone(), &settings.name, &run));
    let path = dir.path().join(CLUSTER_MARKER);
    let membership = if let Some(text) = read_private(&path)? {
        serde_json::from_str(&text).with_context(|| path.display().to_string())?
    } else {
        ensure!(
            !dir.path().join("epoch").exists(),
            "{} has a log of its own, which cannot join a cluster yet: use an empty --state-dir",
            dir.path().display()
        );
        let membership = begin(&client, &context, &shared, &settings).await?;
        durable::replace(&path, &[&serde_json::to_vec(&membership)?])?;
        membership
    };
    let Membership {
        cluster,
        epoch,
        secret,
    } = membership;
    ensure!(
        cluster == settings.name,
        "this state directory belongs to the cluster '{cluster}', and cluster.name is '{}'",
        settings.name
    );
    Ok(Joined {
        shared,
        epoch,
        secret,
        client,
        context,
        settings,
        node,
        run,
    })
}

/// Learns the epoch and the secret of the cluster; makes its stream and its keys if this hub is the first.
async fn begin(
    client: &Client,
    context: &Context,
    shared: &SharedLog,
    settings: &ClusterSettings,
) -> anyhow::Result<Membership> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        match try_begin(client, context, shared, settings).await {
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

async fn try_begin(
    client: &Client,
    context: &Context,
    shared: &SharedLog,
    settings: &ClusterSettings,
) -> anyhow::Result<Membership> {
    let replicas = settings.replicas.get() as usize;
    let epoch = match shared.epoch().await {
        Err(SharedLogError::Missing(_)) => {
            shared.create(Epoch(getrandom::u64()?), replicas).await?;
            shared.epoch().await?
        }
        found => found?,
    };
    let limit = client.server_info().max_payload;
    ensure!(
        limit >= MAX_MESSAGE,
        "NATS accepts messages of {limit} bytes: set max_payload: 8MB in its configuration"
    );
    let keys = lease::keys(context, &settings.name, replicas).await?;
    let secret = secret(&keys).await?;
    Ok(Membership {
        cluster: settings.name.clone(),
        epoch,
        secret,
    })
}

/// Returns the secret of the cluster; the first hub makes it.
async fn secret(keys: &kv::Store) -> anyhow::Result<String> {
    let new = random_hex()? + &random_hex()?;
    match keys.create("secret", Bytes::from(new.clone())).await {
        Ok(_) => Ok(new),
        Err(error) if error.kind() == kv::CreateErrorKind::AlreadyExists => {
            let found = keys
                .get("secret")
                .await?
                .context("the cluster has no secret")?;
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
