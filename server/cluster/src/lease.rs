//! The lease: the key in NATS that the active hub renews, so that the others notice when it stops.

use async_nats::jetstream::Context;
pub(super) use async_nats::jetstream::kv::Store;
use async_nats::jetstream::kv::{self, UpdateErrorKind};
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use hub_core::secret::hex;
use hub_protocol::{Seq, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use super::Cluster;
use super::join::ClusterConnection;

const KEY: &str = "active";

/// The value of the key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Leadership {
    /// The node that holds it; empty if it was given up.
    pub(super) node: String,
    /// The process that holds it.
    pub(super) run: String,
    /// The head of the holder's log.
    pub(super) head: Seq,
    /// When it was renewed, by the holder's clock.
    pub(super) at: Timestamp,
    /// The version of the holder.
    #[serde(default)]
    pub(super) version: String,
    /// The node that the last holder gave it to, before all others; empty for none.
    #[serde(default)]
    pub(super) heir: String,
    /// The node that gave it up; empty while a hub holds it.
    #[serde(default)]
    pub(super) from: String,
}

impl Leadership {
    /// The node by whose clock it was written: the one that holds it, or that gave it up.
    pub(super) fn writer(&self) -> &str {
        if self.node.is_empty() {
            &self.from
        } else {
            &self.node
        }
    }

    /// Whether `node` may take it at once.
    pub(super) fn is_free_for(&self, node: &str) -> bool {
        self.node == node || self.node.is_empty() && (self.heir.is_empty() || self.heir == node)
    }
}

/// The outcome of a write.
pub(super) enum Written {
    /// The key has this revision now.
    Done(u64),
    /// Another hub has written it.
    Conflict,
}

/// Returns the keys of a cluster; makes them if this hub is the first.
pub(super) async fn keys(
    context: &Context,
    cluster: &str,
    replicas: usize,
) -> anyhow::Result<Store> {
    let bucket = format!("hub_{cluster}");
    if let Ok(found) = context.get_key_value(&bucket).await {
        return Ok(found);
    }
    let config = kv::Config {
        bucket,
        history: 1,
        num_replicas: replicas,
        ..kv::Config::default()
    };
    Ok(context.create_key_value(config).await?)
}

/// Reads the lease from the leader of the keys; a replica may be old. Returns its revision too, 0 if there is none.
pub(super) async fn read(keys: &Store) -> anyhow::Result<(u64, Leadership)> {
    let subject = format!("{}{KEY}", keys.prefix);
    match keys.stream.get_last_raw_message_by_subject(&subject).await {
        Ok(found) => Ok((
            found.sequence,
            serde_json::from_slice(&found.payload).unwrap_or_default(),
        )),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
            Ok((0, Leadership::default()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Writes the lease if it still has the revision `revision`.
pub(super) async fn write(
    keys: &Store,
    lease: &Leadership,
    revision: u64,
) -> anyhow::Result<Written> {
    let value = serde_json::to_vec(lease)?;
    match keys.update(KEY, value.into(), revision).await {
        Ok(revision) => Ok(Written::Done(revision)),
        Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {
            // An earlier write may have been stored without an answer.
            let (found, stored) = read(keys).await?;
            if stored.run == lease.run && !lease.run.is_empty() && found > revision {
                return Ok(Written::Done(found));
            }
            Ok(Written::Conflict)
        }
        Err(error) => Err(error.into()),
    }
}

/// Registers the node name for this machine. Returns `false` if another machine has it, because the hubs of two machines
/// with one name would end each other's sessions.
pub(super) async fn claim_name(cluster: &Cluster, keys: &Store) -> anyhow::Result<bool> {
    let inner = &*cluster.0;
    let Some(own) = machine(&inner.settings.name) else {
        return Ok(true);
    };
    let key = format!("node.{}", inner.node);
    if keys.create(&key, own.clone().into()).await.is_ok() {
        return Ok(true);
    }
    let found = keys.get(&key).await?;
    Ok(found.is_none_or(|it| it == own.as_bytes()))
}

/// Whether no other machine has registered the node name.
pub(super) async fn is_own_name(
    connection: &ClusterConnection,
    keys: &Store,
) -> anyhow::Result<bool> {
    let found = keys.get(&format!("node.{}", connection.node)).await?;
    let own = machine(&connection.settings.name);
    Ok(found
        .zip(own)
        .is_none_or(|(found, own)| found == own.as_bytes()))
}

/// Returns a hash of the machine's id, which is private itself.
fn machine(cluster: &str) -> Option<String> {
    let id = std::fs::read_to_string("/etc/machine-id").ok()?;
    Some(hex(&sha2::Sha256::digest(format!("hub {cluster} {id}"))))
}
