//! `hubctl up`: start the hub in the background.

pub(super) mod detach;

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path as FilePath, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::fs::OFlags;

use super::down::held_lock;
use crate::error::{Error, Exit};
use crate::here::Here;
use crate::hub::{Hub, Path, Request};
use crate::out::println;
use crate::settings::{Place, Settings};
use crate::span::Span;
use crate::spool::make_private;

/// How often to look whether the hub is ready.
const LOOK: Duration = Duration::from_millis(20);

/// A log larger than this is put aside at the next start.
const MAX_LOG_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The hub's own words go to hubd.log in the state directory.

Examples:
  hubctl up
  hubctl up --listen 127.0.0.1:0 --state-dir /tmp/hub")]
/// How to start it.
pub(crate) struct Args {
    /// The address to listen on [default: as hubd's own]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// The hub's configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How long to wait until it is ready
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    timeout: Span,
    /// Become a session leader and run this: the step between up and the hub
    #[arg(long, hide = true, num_args = 1.., value_name = "COMMAND", allow_hyphen_values = true)]
    detached: Vec<std::ffi::OsString>,
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    if let [program, rest @ ..] = args.detached.as_slice() {
        return Err(detach::become_detached(program, rest).into());
    }
    let state_dir = &here.settings.state_dir.value;
    if is_ready(state_dir, here).await {
        println(format_args!(
            "the hub already runs in {}",
            state_dir.display()
        ))?;
        return Ok(Exit::DONE);
    }
    make_private(state_dir)?;
    let mut log = open_log(state_dir)?;
    let begin = log.seek(SeekFrom::End(0))?;
    let hubd = hubd()?;
    let child = detach::start(&hubd, &hubd_args(args, here), &log)?;
    wait_until_ready(args, here, child, || tail(state_dir, begin)).await?;
    println(format_args!("the hub runs in {}", state_dir.display()))?;
    Ok(Exit::DONE)
}

async fn wait_until_ready(
    args: &Args,
    here: &Here,
    mut child: Child,
    said: impl Fn() -> String,
) -> Result<(), Error> {
    let state_dir = &here.settings.state_dir.value;
    let until = Instant::now() + args.timeout.0;
    loop {
        if is_ready(state_dir, here).await {
            return Ok(());
        }
        // A hub that another `up` started may have been first; then it is that one to wait for.
        if let Some(status) = child.try_wait()?
            && held_lock(state_dir)?.is_none()
        {
            return Err(anyhow::anyhow!("hubd ended with {status}: {}", said()).into());
        }
        if Instant::now() >= until {
            return Err(anyhow::anyhow!("hubd is not ready yet: {}", said()).into());
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Whether the hub of this state directory answers on its socket.
async fn is_ready(state_dir: &FilePath, here: &Here) -> bool {
    let place = Place {
        socket: Some(state_dir.join("hub.sock")),
        state_dir: Some(state_dir.to_owned()),
        ..Place::default()
    };
    let Ok(hub) = Settings::resolve(&place, &here.env).and_then(|settings| Hub::open(&settings))
    else {
        return false;
    };
    hub.text(&Request::get(Path::new("/readyz"))).await.is_ok()
}

/// The server's program: beside this one, as both are installed together, else on PATH.
fn hubd() -> Result<PathBuf, Error> {
    let own = std::env::current_exe().context("this program's own path")?;
    let beside = own.with_file_name("hubd");
    if beside.is_file() {
        return Ok(beside);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join("hubd"))
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| anyhow::anyhow!("no hubd beside {} or on PATH", own.display()).into())
}

fn hubd_args(args: &Args, here: &Here) -> Vec<std::ffi::OsString> {
    let mut words: Vec<std::ffi::OsString> = vec![
        "--state-dir".into(),
        here.settings.state_dir.value.clone().into(),
    ];
    if let Some(listen) = &args.listen {
        words.extend(["--listen".into(), listen.into()]);
    }
    // Absolute, because the hub leaves this directory.
    let config = args.config.as_ref().map(|file| here.env.absolute(file));
    if let Some(file) = config.or_else(|| here.env.path("HUB_CONFIG")) {
        words.extend(["--config".into(), file.into()]);
    }
    words
}

fn open_log(state_dir: &FilePath) -> anyhow::Result<File> {
    let path = state_dir.join("hubd.log");
    if fs::symlink_metadata(&path).is_ok_and(|meta| meta.len() > MAX_LOG_BYTES) {
        fs::rename(&path, state_dir.join("hubd.log.1"))?;
    }
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(&path)
        .with_context(|| path.display().to_string())
}

/// What the hub has said since `begin`, its last part.
fn tail(state_dir: &FilePath, begin: u64) -> String {
    let mut text = String::new();
    if let Ok(mut log) = File::open(state_dir.join("hubd.log")) {
        let _ = log
            .seek(SeekFrom::Start(begin))
            .and_then(|_| log.read_to_string(&mut text));
    }
    let lines: Vec<&str> = text.lines().collect();
    match lines.as_slice() {
        [] => "it said nothing".into(),
        lines => lines[lines.len().saturating_sub(3)..].join("; "),
    }
}
