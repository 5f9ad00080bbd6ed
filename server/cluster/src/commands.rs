//! `hubd cluster`: moves the log of a machine into a cluster and back, checks the setting up, and mends the log in NATS. No
//! hub may run on the state directory.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use async_nats::jetstream::kv::Store;
use futures_util::StreamExt as _;
use hub_config::Config;
use hub_log::journal::Journal as _;
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::sled::{Files, Options};
use hub_log::journal::snapshot::Snapshots;
use indicatif::ProgressBar;

use super::join::{self, ClusterConnection};
use super::lease::{self, Leadership};
use crate::nats::Nats as _;

mod check;
mod init;
mod leave;
mod restore;

/// How long the beats of hubs are listened for: hubs beat every 2 s.
const LISTEN: Duration = Duration::from_secs(5);
/// How long a connection to NATS may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Work on a cluster, and on the state directory of one of its hubs.
#[derive(Debug, clap::Subcommand)]
pub enum ClusterCommand {
    /// Make the log of this machine the log of a cluster; without a log, begin an empty one.
    #[command(after_help = "Example:\n  \
        hubd cluster init --creds /root/nats-admin.seed\n\n\
        The epoch, the numbers and the cursors of readers stay. Run it on one machine, while no hub runs there; the others \
        start with an empty state directory and copy the log. Cut short anywhere, it can be run again. It makes streams in \
        NATS, so its user needs more permissions than that of a hub: see docs/how-to/cluster.md.")]
    Init(Admin),
    /// Verify the settings, the NATS servers, the permissions and the log in NATS, line by line.
    #[command(after_help = "Example:\n  \
        hubd cluster check\n\n\
        Run it on each machine, with the credentials of its hub. It changes nothing.")]
    Check,
    /// Restore the lost part of the log in NATS from the copy of this machine.
    #[command(after_help = "Examples:\n  \
        hubd cluster restore --creds /root/nats-admin.seed\n  \
        hubd cluster restore --anew --creds /root/nats-admin.seed\n\n\
        Stop all hubs of the cluster first, run it on the machine with the newest copy, then start them again. Without \
        --anew it appends what is missing at the end of the stream, or makes a stream that is gone.")]
    Restore {
        /// Delete the stream in NATS, and make it anew from the copy: for a stream with a hole
        #[arg(long)]
        anew: bool,
        /// Restore although another hub had more records, which are then lost
        #[arg(long)]
        accept_loss: bool,
        /// The credentials for NATS.
        #[command(flatten)]
        admin: Admin,
    },
    /// Make the log of the cluster the log of this machine alone.
    #[command(after_help = "Example:\n  \
        hubd cluster leave --creds /root/nats-admin.seed && hubd --set journal=sled\n\n\
        Stop all hubs of the cluster first. The epoch, the numbers and the cursors of readers stay. The stream in NATS is \
        closed, so that no other hub goes on with it; `hubd cluster init` opens it again.")]
    Leave(Admin),
}

/// The credentials for NATS.
#[derive(Debug, clap::Args)]
pub struct Admin {
    /// The credentials of a NATS user that may make and delete streams; those of the hub when absent
    #[arg(long, value_name = "FILE")]
    creds: Option<PathBuf>,
}

impl ClusterCommand {
    /// Runs the command with the settings of the hub.
    pub fn run(self, config: &Config) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        runtime.block_on(async {
            match self {
                Self::Init(admin) => init::init(config, admin).await,
                Self::Check => check::check(config, io::stdout().lock()).await,
                Self::Restore {
                    anew,
                    accept_loss,
                    admin,
                } => restore::restore(config, admin, restore::Choices { anew, accept_loss }).await,
                Self::Leave(admin) => leave::leave(config, admin).await,
            }
        })
    }
}

/// Connects, and waits until a server answers.
async fn connect(config: &Config, admin: Admin) -> anyhow::Result<ClusterConnection> {
    let mut settings = config.cluster.clone();
    if let Some(creds) = admin.creds {
        settings.creds = creds;
    }
    let urls = settings.urls.join(", ");
    let connection = join::connect(settings).await?;
    let answered = tokio::time::timeout(PATIENCE, connection.nats.client.flush()).await;
    answered.with_context(|| format!("no answer from {urls}: see `hubd cluster check`"))??;
    Ok(connection)
}

/// Fails if a hub of the cluster runs.
async fn ensure_stopped(connection: &ClusterConnection) -> anyhow::Result<()> {
    let subject = format!("hub.{}.beat.*", connection.settings.name);
    let mut beats = connection.nats.client.subscribe(subject).await?;
    let beat = tokio::time::timeout(LISTEN, beats.next()).await;
    if let Ok(Some(beat)) = beat {
        let node = beat.subject.rsplit('.').next().unwrap_or_default();
        anyhow::bail!("the hub of '{node}' runs: stop all hubs of the cluster first");
    }
    Ok(())
}

/// Opens the log in the state directory.
fn open(config: &Config) -> anyhow::Result<DiskJournal> {
    let dir = &config.state_dir;
    ensure!(
        dir.join("epoch").exists(),
        "there is no log in {}",
        dir.display()
    );
    Ok(DiskJournal::open(dir, Options::default())?)
}

/// Appends what `journal` has and the stream does not. Stores the base first, if the journal has no beginning.
async fn upload(
    connection: &ClusterConnection,
    config: &Config,
    journal: &DiskJournal,
) -> anyhow::Result<u64> {
    let first = journal.origin().first;
    connection.nats.objects().await?;
    if first > 1 {
        let snapshots = Files::new(&config.state_dir).snapshots();
        let snapshots = Snapshots::new(&snapshots, journal.epoch());
        let newest = snapshots.usable()?.next().transpose()?;
        let base = newest.filter(|it| it.seq + 1 >= first);
        let base = base.context("no snapshot includes the records that the log has dropped")?;
        let position = connection.shared.state().await?.first_sequence.max(1);
        connection.shared.put_base(position, &base).await?;
    }
    let bar = ProgressBar::new(journal.head() + 1 - first);
    let appended = connection
        .shared
        .upload(journal, |seq| bar.set_position(seq + 1 - first));
    let appended = appended.await?;
    bar.finish_and_clear();
    Ok(appended)
}

/// Reads the lease, with its revision; 0 if the cluster never had an active hub.
async fn last_lease(connection: &ClusterConnection) -> anyhow::Result<(Store, u64, Leadership)> {
    let keys = connection.nats.keys().await?;
    let (revision, lease) = lease::read(&keys).await?;
    Ok((keys, revision, lease))
}
