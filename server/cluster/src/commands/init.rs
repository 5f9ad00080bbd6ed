//! `hubd cluster init`: makes the log of this machine the log of a cluster.

use anyhow::ensure;
use hub_config::Config;
use hub_core::durable;
use hub_log::journal::Journal as _;
use hub_protocol::Epoch;

use super::{Admin, connect, ensure_stopped, open, upload};
use crate::join::{self, ClusterConnection, Membership};
use crate::journal::SharedLogError;

pub(super) async fn init(config: &Config, admin: Admin) -> anyhow::Result<()> {
    let connection = connect(config, admin).await?;
    let name = connection.settings.name.clone();
    durable::private_dir(&config.state_dir)?;
    ensure!(
        Membership::load(&config.state_dir, &name)?.is_none(),
        "this machine is in the cluster '{name}' already"
    );
    ensure_stopped(&connection).await?;
    let has_log = config.state_dir.join("epoch").exists();
    let (epoch, appended) = if has_log {
        let journal = open(config)?;
        let epoch = journal.epoch();
        prepare(&connection, epoch).await?;
        let appended = upload(&connection, config, &journal).await?;
        journal.close()?;
        (epoch, appended)
    } else {
        let epoch = Epoch(getrandom::u64()?);
        prepare(&connection, epoch).await?;
        connection.nats.objects().await?;
        (epoch, 0)
    };
    join::enlist(&connection, epoch, join::random_secret()?)
        .await?
        .save(&config.state_dir)?;
    println!("the cluster '{name}' has the log {epoch}; {appended} records were moved");
    println!("start hubd here with journal = \"jetstream\", then on the other machines");
    Ok(())
}

/// Makes the stream of the log `epoch`, or opens the one that a hub has left with this log.
async fn prepare(connection: &ClusterConnection, epoch: Epoch) -> anyhow::Result<()> {
    let shared = &connection.shared;
    let replicas = connection.settings.replicas.get() as usize;
    let found = match shared.epoch().await {
        Err(SharedLogError::Missing(_)) => {
            shared.create(epoch, replicas).await?;
            epoch
        }
        Err(SharedLogError::Closed { epoch: found, .. }) if found == epoch => {
            shared.reopen().await?;
            found
        }
        found => found?,
    };
    ensure!(
        found == epoch,
        "the cluster '{}' has another log ({found}): use an empty state directory to join it, or another cluster.name",
        connection.settings.name
    );
    Ok(())
}
