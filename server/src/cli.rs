//! The command line of `hubd`.

use clap::Parser;
use hub_config::ConfigArgs;

use crate::maintain::Maintenance;

/// Durable notifications between coding agents on one machine.
///
/// Without a command it runs the hub until SIGINT or SIGTERM. `hubctl up` does the same in the background.
#[derive(Debug, Parser)]
#[command(
    name = "hubd",
    version,
    after_help = "Examples:\n  hubd\n  hubd --listen 127.0.0.1:0 --state-dir /tmp/hub\n  hubd --print-config\n  hubd doctor"
)]
pub struct Args {
    /// The flags that choose settings.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Print every setting and its source, and exit
    #[arg(long)]
    pub print_config: bool,
    /// The work to do instead of running the hub.
    #[command(subcommand)]
    pub command: Option<Task>,
}

/// Work that `hubd` does instead of running the hub.
#[derive(Debug, clap::Subcommand)]
pub enum Task {
    /// Work on the state directory.
    #[command(flatten)]
    Maintenance(Maintenance),
    /// Share the log with the hubs of other machines, over NATS
    #[cfg(feature = "jetstream")]
    #[command(subcommand)]
    Cluster(hub_cluster::commands::ClusterCommand),
}
