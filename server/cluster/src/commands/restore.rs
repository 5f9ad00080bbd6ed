//! `hubd cluster restore`: puts back what NATS has lost.

use anyhow::{Context as _, ensure};
use hub_config::Config;
use hub_log::journal::Journal as _;
use hub_protocol::{Counted, Epoch, Timestamp};

use super::{Admin, connect, ensure_stopped, last_lease, open, upload};
use crate::join::{self, ClusterConnection, Membership};
use crate::journal::SharedLogError;
use crate::lease::{self, Leadership};

/// The flags with which the person accepts a loss.
pub(super) struct Choices {
    pub(super) anew: bool,
    pub(super) accept_loss: bool,
}

pub(super) async fn restore(config: &Config, admin: Admin, choices: Choices) -> anyhow::Result<()> {
    let connection = connect(config, admin).await?;
    let name = &connection.settings.name;
    let membership = Membership::load(&config.state_dir, name)?;
    let membership = membership.context("this machine has no copy of a cluster's log")?;
    let journal = open(config)?;
    ensure_stopped(&connection).await?;
    let (keys, revision, lease) = last_lease(&connection).await?;
    ensure!(
        lease.head <= journal.head() || choices.accept_loss,
        "the cluster had the log up to record {}, and this machine has it up to {}: use the machine with the newest copy, \
         or lose the records after that with --accept-loss",
        lease.head,
        journal.head()
    );
    prepare(&connection, membership.epoch, choices.anew).await?;
    let appended = upload(&connection, config, &journal).await?;
    // With the secret of before, so that the leases that readers have stay valid.
    join::enlist(&connection, membership.epoch, membership.secret)
        .await?
        .save(&config.state_dir)?;
    let free = Leadership {
        head: journal.head(),
        at: Timestamp::now(),
        ..Leadership::default()
    };
    lease::write(&keys, &free, revision).await?;
    journal.close()?;
    println!(
        "NATS has the log up to record {}; put back: {}",
        free.head,
        Counted(appended, "record")
    );
    println!("start the hubs again");
    Ok(())
}

/// Makes the stream if it is gone, or if it shall be made anew.
async fn prepare(connection: &ClusterConnection, epoch: Epoch, anew: bool) -> anyhow::Result<()> {
    let shared = &connection.shared;
    let mut found = shared.epoch().await;
    if anew && found.is_ok() {
        shared.delete().await?;
        found = shared.epoch().await;
    }
    let replicas = connection.settings.replicas.get() as usize;
    if matches!(found, Err(SharedLogError::Missing(_))) {
        shared.create(epoch, replicas).await?;
        return Ok(());
    }
    let found = found?;
    ensure!(found == epoch, "the stream has another log: {found}");
    let lost = shared.state().await?.deleted;
    ensure!(
        lost == 0,
        "NATS lost {} in the middle of the stream: delete it and make it anew with --anew",
        Counted(lost, "commit")
    );
    Ok(())
}
