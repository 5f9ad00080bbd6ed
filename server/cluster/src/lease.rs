//! The lease: the key in NATS that the active hub renews, so that the others notice when it stops.

use bytes::Bytes;
use hub_core::secret::hex;
use hub_protocol::{Seq, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use super::Cluster;
use super::join::ClusterConnection;
use crate::nats::{Keys, Nats};

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

/// Reads the lease. Returns its revision too, 0 if there is none.
pub(super) async fn read(keys: &impl Keys) -> anyhow::Result<(u64, Leadership)> {
    let Some((revision, value)) = keys.read(KEY).await? else {
        return Ok((0, Leadership::default()));
    };
    Ok((revision, serde_json::from_slice(&value).unwrap_or_default()))
}

/// Writes the lease if it still has the revision `revision`.
pub(super) async fn write(
    keys: &impl Keys,
    lease: &Leadership,
    revision: u64,
) -> anyhow::Result<Written> {
    let value = Bytes::from(serde_json::to_vec(lease)?);
    let mut written = keys.update(KEY, value.clone(), revision).await?;
    if written.is_none() {
        // An earlier write may have been stored without an answer. The time of the lease began with that one, so it does not
        // stand for this one.
        let (found, stored) = read(keys).await?;
        if stored.run == lease.run && !lease.run.is_empty() && found > revision {
            written = keys.update(KEY, value, found).await?;
        }
    }
    Ok(written.map_or(Written::Conflict, Written::Done))
}

/// Registers the node name for this machine. Returns `false` if another machine has it, because the hubs of two machines
/// with one name would end each other's sessions.
pub(super) async fn claim_name(
    cluster: &Cluster<impl Nats>,
    keys: &impl Keys,
) -> anyhow::Result<bool> {
    let inner = &*cluster.0;
    let Some(own) = &inner.machine else {
        return Ok(true);
    };
    let key = format!("node.{}", inner.node);
    if matches!(keys.create(&key, own.clone().into()).await, Ok(true)) {
        return Ok(true);
    }
    let found = keys.get(&key).await?;
    Ok(found.is_none_or(|it| it == own.as_bytes()))
}

/// Whether no other machine has registered the node name.
pub(super) async fn is_own_name(
    connection: &ClusterConnection,
    keys: &impl Keys,
) -> anyhow::Result<bool> {
    let found = keys.get(&format!("node.{}", connection.node)).await?;
    let own = &connection.machine;
    Ok(found
        .zip(own.as_ref())
        .is_none_or(|(found, own)| found == own.as_bytes()))
}

/// Returns a hash of the machine's id, which is private itself.
pub(super) fn machine(cluster: &str) -> Option<String> {
    let id = std::fs::read_to_string("/etc/machine-id").ok()?;
    Some(hex(&sha2::Sha256::digest(format!("hub {cluster} {id}"))))
}
