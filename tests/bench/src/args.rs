//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

use crate::server::Kind;
use crate::slices::Plan;

const EXAMPLES: &str = "\
Build what is measured first, then run everything (about five minutes):
  cargo build --profile dist -p hubd && cargo build --profile small -p hubctl
  cargo run --profile dist -p hub-bench

Only some rows, or a quick look:
  cargo run --profile dist -p hub-bench -- --only publish,wake
  cargo run --profile dist -p hub-bench -- --quick --json

How much of a difference is noise (REF against itself):
  cargo run --profile dist -p hub-bench -- --subject axum --only publish

Two hubs on three nats-servers (tests/run installs nats-server); JS1 is a bare publisher of NATS:
  cargo run --profile dist -p hub-bench -- --only cluster

Against another build of the hub, in both orders (about eight minutes):
  cargo run --profile dist -p hub-bench -- --before ../older/target/dist/hubd

B is a minimal TCP relay that appends and fdatasyncs each line by itself. REF is a minimal axum server on sled with one
writer thread. Ratios are medians of alternating slices in one run, with the lowest and highest beside them; absolute
figures mean little, and on a busy machine so do ratios of time: there compare processor time. With --before, `orders`
has the ratios with this build first and with the other one first.";

/// Measures hubd and hubctl against a minimal relay (B) and a minimal axum server (REF), in one table.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// Measures these rows only.
    #[arg(long, value_delimiter = ',', value_name = "ROW")]
    pub(crate) only: Vec<Part>,
    /// Fewer, shorter slices: about a minute, and rougher.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Prints JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Parent of the servers' state directories, on a disk [default: the system's temporary directory]
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// The server that is measured as the hub; a reference against itself shows the noise.
    #[arg(long, default_value = "hubd", value_name = "SERVER")]
    pub(crate) subject: Kind,
    /// The server that is REF.
    #[arg(long, default_value = "axum", value_name = "SERVER")]
    pub(crate) reference: Kind,
    /// Measures against the hubd of another build only.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["only", "subject", "reference"])]
    pub(crate) before: Option<PathBuf>,
    /// Slices of each side [default: 5, quick: 3].
    #[arg(long)]
    pub(crate) slices: Option<usize>,
    /// A server to be measured, run by the bench itself.
    #[command(subcommand)]
    pub(crate) serve: Option<Serve>,
}

/// The servers inside this binary.
#[derive(Debug, Subcommand)]
pub(crate) enum Serve {
    /// B.
    #[command(hide = true)]
    ServeRelay {
        /// The state directory.
        state: PathBuf,
    },
    /// REF.
    #[command(hide = true)]
    ServeAxum {
        /// The state directory.
        state: PathBuf,
        /// Tokio workers.
        #[arg(long, default_value_t = 1)]
        workers: usize,
        /// Stores nothing.
        #[arg(long)]
        memory: bool,
    },
}

/// The groups of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Notifications a second, by 1, 16 and 64 publishers.
    Publish,
    /// From POST to receipt, SSE and long-poll.
    Wake,
    /// From POST to the last of many readers.
    Fanout,
    /// Reading what is stored, from the first.
    Replay,
    /// Memory of a reader that waits.
    Memory,
    /// hubctl's processes, and its size.
    Process,
    /// Publishing while ten thousand wait elsewhere.
    Waiters,
    /// Publishing while ten dashboards reload the list of 2,000 sessions, against publishing alone.
    Dashboards,
    /// What a person at the dashboard waits for, in Chromium; only when named.
    Browser,
    /// Two hubs on three nats-servers; only when named.
    Cluster,
    /// A million stored against none; only when named, it takes minutes.
    Million,
    /// Publishing and waking, against `--before`.
    #[value(skip)]
    Before,
}

impl Args {
    /// The slices that were asked for.
    pub(crate) fn plan(&self) -> Plan {
        let (count, millis) = if self.quick { (3, 500) } else { (5, 1500) };
        Plan {
            count: self.slices.unwrap_or(count),
            length: Duration::from_millis(millis),
        }
    }

    /// Whether a part is asked for.
    pub(crate) fn wants(&self, part: Part) -> bool {
        if self.before.is_some() {
            part == Part::Before
        } else if self.only.is_empty() {
            !matches!(
                part,
                Part::Before | Part::Browser | Part::Cluster | Part::Million
            )
        } else {
            self.only.contains(&part)
        }
    }
}
