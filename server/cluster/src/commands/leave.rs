//! `hubd cluster leave`: makes the cluster's log the log of this machine alone.

use std::sync::Arc;

use anyhow::Context as _;
use hub_config::Config;
use hub_config::state_dir::CLUSTER_MARKER;
use hub_log::journal::Journal as _;
use hub_log::journal::disk::DiskJournal;
use tokio::runtime::Handle;

use super::{Admin, connect, ensure_stopped, open};
use crate::join::{ClusterConnection, Membership};
use crate::journal::{JetStreamJournal, SharedLogError};

pub(super) async fn leave(config: &Config, admin: Admin) -> anyhow::Result<()> {
    let connection = connect(config, admin).await?;
    let name = &connection.settings.name;
    Membership::load(&config.state_dir, name)?.context("this machine is not in a cluster")?;
    let journal = open(config)?;
    ensure_stopped(&connection).await?;
    match connection.shared.epoch().await {
        // An earlier run was cut short after this.
        Err(SharedLogError::Closed { node, .. }) if node == connection.node => {
            journal.close()?;
        }
        found => {
            found?;
            fetch(&connection, journal).await?;
            connection.shared.close(&connection.node).await?;
        }
    }
    std::fs::remove_file(config.state_dir.join(CLUSTER_MARKER))?;
    println!("the log is this machine's own now: start hubd with journal = \"sled\"");
    println!("the other hubs of the cluster '{name}' cannot go on; their copies can be deleted");
    Ok(())
}

/// Fetches what the copy does not have yet.
async fn fetch(connection: &ClusterConnection, copy: DiskJournal) -> anyhow::Result<()> {
    let shared = Arc::clone(&connection.shared);
    let last = shared.last().await?;
    let journal = JetStreamJournal::new(copy, shared, Handle::current());
    journal.locate().await?;
    loop {
        let position = journal.position().borrow().unwrap_or(0);
        if position >= last {
            break;
        }
        journal.follow(&journal.shared().read(position + 1).await?)?;
    }
    Ok(journal.close()?)
}
