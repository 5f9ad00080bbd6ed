//! The life of a hub process: open the storage, serve, shut down.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::Context as _;
use hub_config::state_dir::StateDir;
use hub_config::{Backend, Config};
use hub_core::secret::Token;
use hub_core::waiters::WakeLimits;
use hub_core::waiters::lease_token::LeaseKey;
use hub_core::wake_files::WakeFiles;
use hub_engine::clock;
use hub_engine::{Hub, HubParts, Rules};
use hub_http::guard::{self, Guard};
use hub_http::listener::{Inherited, Sockets};
use hub_http::login::{Devices, LoginState};
use hub_http::routes;
use hub_log::archive::{Archive, RecoverError};
use hub_log::journal::JournalError;
use hub_log::journal::sled::OpenError;
use hub_protocol::Seq;
use hub_rules::forward::Forwards;
use hub_watch::spool::Spool;
use hub_watch::status_files::StatusFiles;
use hub_watch::{claude_sessions, codex_rollouts, local_sessions, lost_answers};
use hub_webpush::VapidKey;
use tokio_util::sync::CancellationToken;

mod log_output;
mod member;
pub mod storage;
mod supervisor;
mod tasks;

use member::{Member, Running};
use storage::Storage;
use tasks::Tasks;

/// `EX_IOERR` of sysexits: the storage failed.
const EXIT_STORAGE: u8 = 74;

/// The exit code for an error of [`serve`], or of maintenance.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    let storage = |cause: &(dyn std::error::Error + 'static)| {
        let open = cause.downcast_ref::<OpenError>();
        // `RecoverError` is transparent, so the error inside it is not in the chain itself.
        let read = cause.downcast_ref::<RecoverError>();
        cause.is::<JournalError>()
            || open.is_some_and(OpenError::is_storage)
            || read.is_some_and(|it| matches!(it, RecoverError::Journal(_)))
    };
    if error.chain().any(storage) {
        ExitCode::from(EXIT_STORAGE)
    } else {
        ExitCode::FAILURE
    }
}

/// Runs a hub until SIGINT or SIGTERM, or until its storage fails.
pub fn serve(config: &Config) -> anyhow::Result<()> {
    let inherited = Inherited::take().context("the sockets of the service manager")?;
    log_output::start(config)?;
    let dir = StateDir::open(&config.state_dir)?;
    let token = dir.token()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(config.workers.get() as usize)
        .enable_all()
        .build()?;
    let (storage, member) = match config.journal {
        Backend::Memory => (storage::memory()?, None),
        Backend::Sled => (storage::sled(dir.path(), config)?, None),
        Backend::Jetstream => {
            let (storage, member) = member::join(&runtime, &dir, config)?;
            (storage, Some(member))
        }
    };
    runtime.block_on(run(config, (&dir, inherited), token, storage, member))
}

async fn run(
    config: &Config,
    (dir, inherited): (&StateDir, Inherited),
    token: Token,
    mut storage: Storage,
    member: Option<Member>,
) -> anyhow::Result<()> {
    let shutdown = CancellationToken::new();
    let forwards = Forwards::open(&config.forward, storage.journal.head())?;
    let archive = storage.archive.take();
    // The record of deliveries is about the log on disk. A hub in memory has its own numbers, so it neither reads nor
    // writes that record.
    let deliveries = (config.journal == Backend::Sled).then_some(dir);
    let offered = last_offered(deliveries, storage.journal.head())?;
    let leases = match &member {
        Some(member) => member.leases(),
        None => LeaseKey::new(token.expose().as_bytes()),
    };
    let (hub, writer) = start_hub(config, (dir, leases), storage, offered, shutdown.clone());
    let cluster = member.map(|member| member.start(&hub));
    let writer = join_writer(writer, shutdown.clone());
    let own = hub.clone();
    let submit = Box::new(move |command| own.submit_blocking(command).is_ok());
    let archive = archive
        .map(|inputs| Archive::spawn(inputs, Arc::clone(hub.view()), submit))
        .transpose()?;
    // The spool is stored before the sockets open. Without this, newer notifications would get smaller numbers.
    let spool = Spool::open(&dir.spool())?;
    let own = hub.clone();
    let submit = async move |item| hub_watch::submit(&own, item).await;
    spool.drain(&submit).await?;
    dir.make_status()?;
    // The handle receives the worktrees of sessions that begin later.
    let (status_files, mut status_bridge) = StatusFiles::open(dir.path(), &hub, &shutdown);
    // Scan status files before listening; otherwise a line written right at start-up would count as old.
    status_bridge.scan().await;
    hub_rules::rules::begin(&hub).await;
    let sockets = Sockets::bind(config.listen, dir, inherited)?;
    // From here on notifications are delivered, so the record of a clean stop is removed.
    if let Some(deliveries) = deliveries {
        deliveries.begin_run()?;
    }
    let devices = Devices::open(dir.path()).context("cannot read devices.json")?;
    let key = VapidKey::open(dir.path())?;
    let login = LoginState::new(
        token.clone(),
        sockets.port(),
        devices.clone(),
        (&config.allowed_hosts, &key.public()),
    );
    let info = describe(&hub, cluster.as_ref(), &forwards);
    let routes = routes::router(hub.clone(), login, dir.path(), info).merge(hub_mcp::router(&hub));
    let routes = match &cluster {
        Some(cluster) => cluster.with_routes(routes),
        None => routes::outside_a_cluster(routes),
    };
    let front = match &cluster {
        Some(cluster) => cluster.front(routes.clone()),
        None => routes.clone(),
    };
    let guard = Guard::new(token, devices.clone(), &config.allowed_hosts);
    let app = guard::protect(front, guard);
    let mut tasks = Tasks::new(shutdown.clone());
    let (own, stop) = (|| hub.clone(), || shutdown.clone());
    tasks.spawn("clock", clock::run(own(), stop()));
    // Before the sockets are served: what begins from then on is pushed.
    tasks.spawn("Web Push", hub_webpush::run(own(), devices, key, stop()));
    // Before the announcement, because a signal between the two would kill the hub.
    stop_on_signal(shutdown.clone())?;
    announce(sockets.port())?;
    supervisor::ready(sockets.port());
    let limits = config.limits.clone();
    let until = stop();
    tasks.spawn_fallible("sockets", async move {
        sockets.serve(app, &limits, until).await
    });
    tasks.spawn("watchdog", supervisor::watchdog(own(), stop()));
    if let Some(cluster) = cluster {
        let until = stop();
        tasks.spawn("cluster", async move { cluster.run(routes, &until).await });
    }
    let until = stop();
    tasks.spawn("spool", async move { spool.watch(&submit, &until).await });
    tasks.spawn("status files", status_bridge.run());
    tasks.spawn(
        "processes of sessions",
        local_sessions::watch(own(), status_files.clone(), stop()),
    );
    tasks.spawn(
        "session files of Claude Code",
        claude_sessions::watch(own(), status_files, stop()),
    );
    tasks.spawn("rollouts of Codex", codex_rollouts::watch(own(), stop()));
    tasks.spawn("lost answers", lost_answers::watch(own(), stop()));
    tasks.spawn(
        "pushes",
        hub_push::run(own(), dir.path().to_owned(), stop()),
    );
    tasks.spawn("rules", hub_rules::rules::run(own(), stop()));
    tasks.spawn("forwards", forwards.run(own(), stop()));
    tasks.join().await?;
    let offered = stop_hub(hub, archive, writer).await?;
    if let Some(deliveries) = deliveries
        && let Err(error) = deliveries.end_run(offered)
    {
        tracing::warn!(%error, "the next start marks all pending notifications as redelivered");
    }
    Ok(())
}

/// How `GET /hub` describes the cluster and the forwards.
fn describe(hub: &Hub, cluster: Option<&Running>, forwards: &Forwards) -> routes::Describe {
    let (hub, cluster, forwards) = (hub.clone(), cluster.cloned(), forwards.clone());
    Box::new(move |about| {
        about.cluster = cluster.as_ref().map(Running::info);
        about.forwards = forwards.info(&hub);
    })
}

/// The last notification that the previous run may have delivered: any up to `head` if it did not stop cleanly.
fn last_offered(deliveries: Option<&StateDir>, head: Seq) -> io::Result<Seq> {
    match deliveries {
        Some(dir) => Ok(dir.offered()?.unwrap_or(head)),
        None => Ok(0),
    }
}

/// Stops a hub that has no connections left; returns the last notification that may have been delivered.
async fn stop_hub(
    hub: Hub,
    archive: Option<Archive>,
    writer: tokio::task::JoinHandle<Result<(), JournalError>>,
) -> anyhow::Result<Seq> {
    let waiters = hub.waiters().clone();
    tokio::task::spawn_blocking(move || {
        drop(archive);
        hub.stop();
    })
    .await?;
    writer.await?.context("the journal failed")?;
    Ok(waiters.read().offered())
}

fn start_hub(
    config: &Config,
    (dir, leases): (&StateDir, LeaseKey),
    storage: Storage,
    offered: Seq,
    shutdown: CancellationToken,
) -> (Hub, JoinHandle<Result<(), JournalError>>) {
    Hub::start(HubParts {
        journal: storage.journal,
        recovered: storage.recovered,
        leases,
        offered,
        limits: WakeLimits {
            per_sender_per_minute: config.wake.per_sender_per_minute as usize,
            per_hour: config.wake.per_hour as usize,
        },
        rules: Rules {
            approvals: config.approvals,
            agents_may_approve: config.agents_may_approve,
            same_file_alerts: config.same_file_alerts,
            resume_after_limit: config.resume_after_limit,
            keep_words: config.keep_words,
            pane_quiet: config.wake.pane_quiet(),
        },
        rule_set: Arc::new(config.on.clone()),
        wake_files: WakeFiles::new(dir.path().join("wake")),
        queue: config.limits.queue.get() as usize,
        streams: config.limits.streams.get() as usize,
        shutdown,
    })
}

/// Waits for the writer thread. If it ends by itself, the storage has failed, and the hub shuts down.
fn join_writer(
    writer: JoinHandle<Result<(), JournalError>>,
    shutdown: CancellationToken,
) -> tokio::task::JoinHandle<Result<(), JournalError>> {
    tokio::task::spawn_blocking(move || {
        let _end = shutdown.drop_guard();
        writer.join().unwrap_or_else(|_| {
            Err(JournalError::Io(std::io::Error::other(
                "the writer thread panicked",
            )))
        })
    })
}

/// Prints the line on stdout that reports that the hub is ready.
fn announce(port: u16) -> std::io::Result<()> {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "hubd listening on http://127.0.0.1:{port}")?;
    stdout.flush()
}

fn stop_on_signal(shutdown: CancellationToken) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        supervisor::stopping();
        shutdown.cancel();
        tracing::info!("stopping");
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_log_is_a_storage_failure() {
        let io = || JournalError::from(std::io::Error::other("read"));
        for error in [
            io().into(),
            RecoverError::from(io()).into(),
            anyhow::Error::from(OpenError::Full).context("opening"),
        ] {
            assert_eq!(exit_code(&error), ExitCode::from(EXIT_STORAGE), "{error:?}");
        }
        let other = anyhow::anyhow!("1 problem");
        assert_eq!(exit_code(&other), ExitCode::FAILURE);
    }
}
