//! From settings to a running hub, and back to nothing: open, serve, close.

use std::io::Write;
use std::process::ExitCode;
use std::thread::JoinHandle;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use crate::bridges::spool::Spool;
use crate::bridges::status_files::StatusFiles;
use crate::config::{Backend, Config, LogFormat};
use crate::guard::{self, Guard};
use crate::hub::{Hub, Parts, Rules};
use crate::journal::JournalError;
use crate::lease::LeaseKey;
use crate::net::Sockets;
use crate::presence::WakeLimits;
use crate::secret::Token;
use crate::state_dir::StateDir;
use crate::storage::{self, Storage};
use crate::{api, bridges, clock};

/// `EX_IOERR` of sysexits: the storage failed.
const EXIT_STORAGE: u8 = 74;

/// The exit code for an error of [`serve`].
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    if error
        .chain()
        .any(<dyn std::error::Error>::is::<JournalError>)
    {
        ExitCode::from(EXIT_STORAGE)
    } else {
        ExitCode::FAILURE
    }
}

/// Runs a hub until SIGINT or SIGTERM, or until its storage fails.
pub fn serve(config: &Config) -> anyhow::Result<()> {
    start_log(config)?;
    let dir = StateDir::open(&config.state_dir)?;
    let token = dir.token()?;
    let storage = match config.journal {
        Backend::Memory => storage::memory()?,
        Backend::Sled => storage::sled(dir.path(), config)?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(config.workers.get() as usize)
        .enable_all()
        .build()?;
    runtime.block_on(run(config, &dir, token, storage))
}

async fn run(
    config: &Config,
    dir: &StateDir,
    token: Token,
    mut storage: Storage,
) -> anyhow::Result<()> {
    let shutdown = CancellationToken::new();
    let archive = storage.archive.take();
    let (hub, writer) = start(config, &token, storage, shutdown.clone());
    let writer = watch(writer, shutdown.clone());
    let archive = archive.map(|parts| parts.spawn(hub.clone())).transpose()?;
    // Whoever listens before the spool is in may see it come after what was said later.
    let spool = Spool::open(&dir.spool())?;
    let submit = async |item| bridges::submit(&hub, item).await;
    spool.take_in(&submit).await?;
    dir.make_status()?;
    // Whoever learns of a worktree tells this handle.
    let (status_files, mut status_bridge) = StatusFiles::open(dir.path());
    // Who writes a file and speaks right after has found the hub listening.
    status_bridge.take_in(&hub).await;
    let sockets = Sockets::bind(config.listen, dir)?;
    let app = guard::protect(
        api::router(hub.clone(), token.clone(), sockets.port(), dir.path()),
        Guard::new(token, &config.allowed_hosts),
    );
    let clock = tokio::spawn(clock::run(hub.clone(), shutdown.clone()));
    announce(sockets.port())?;
    stop_on_signal(shutdown.clone())?;
    let served = async {
        let served = sockets.serve(app, &config.limits, shutdown.clone()).await;
        // Without sockets nobody can end the hub but we.
        shutdown.cancel();
        served
    };
    let (served, (), (), ()) = tokio::join!(
        served,
        spool.watch(&submit, &shutdown),
        status_bridge.run(&hub, &shutdown),
        bridges::local_sessions::watch(&hub, &status_files, &shutdown),
    );
    served?;
    clock.await?;
    tokio::task::spawn_blocking(move || {
        drop(archive);
        hub.stop();
    })
    .await?;
    writer.await?.context("the journal failed")
}

fn start(
    config: &Config,
    token: &Token,
    storage: Storage,
    shutdown: CancellationToken,
) -> (Hub, JoinHandle<Result<(), JournalError>>) {
    Hub::start(Parts {
        journal: storage.journal,
        state: storage.state,
        reload: storage.reload,
        leases: LeaseKey::new(token.expose().as_bytes()),
        limits: WakeLimits {
            per_sender_per_minute: config.wake.per_sender_per_minute as usize,
            per_hour: config.wake.per_hour as usize,
        },
        rules: Rules {
            approvals: config.approvals,
            agents_may_approve: config.agents_may_approve,
        },
        queue: config.limits.queue.get() as usize,
        streams: config.limits.streams.get() as usize,
        shutdown,
    })
}

/// A writer that ends by itself has lost its storage: the hub ends with it.
fn watch(
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

/// The one line on stdout that says that the hub is ready.
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
        shutdown.cancel();
        tracing::info!("stopping");
    });
    Ok(())
}

fn start_log(config: &Config) -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_new(&config.log.level).context("log.level")?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // It would be said on stderr, in vain and with a panic, where nobody reads that any more.
        .log_internal_errors(false)
        .with_ansi(false);
    match config.log.format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
    Ok(())
}
