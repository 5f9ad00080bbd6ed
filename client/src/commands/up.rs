//! `hubctl up`: starts the hub in the background.

pub(super) mod detach;

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path as FilePath, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use hub_protocol::Span;
use rustix::fs::OFlags;

use super::down::holder_shown;
use super::service::is_service;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Hub, Path, Request, SOON};
use crate::identity::Context;
use crate::output::{println, say};
use crate::settings::{HubLocation, Settings};
use crate::system::private::make_private;

/// How often to check whether the hub is ready.
const LOOK: Duration = Duration::from_millis(20);

/// A log larger than this is renamed at the next start.
const MAX_LOG_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The hub's output goes to hubd.log in the state directory.

Examples:
  hubctl up
  hubctl up --listen 127.0.0.1:0 --state-dir /tmp/hub")]
/// The arguments of `hubctl up`.
pub(crate) struct UpArgs {
    /// The address to listen on [default: that of hubd]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// The hub's configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The longest time to wait until the hub is ready
    #[arg(long, value_name = "SPAN", default_value = "60")]
    timeout: Span,
    /// Become a session leader and run this: the step between up and the hub
    #[arg(long, hide = true, num_args = 1.., value_name = "COMMAND", allow_hyphen_values = true)]
    detached: Vec<std::ffi::OsString>,
}

pub(crate) async fn run(args: &UpArgs, context: &Context) -> Result<Exit, Error> {
    if let [program, rest @ ..] = args.detached.as_slice() {
        return Err(detach::become_detached(program, rest).into());
    }
    let state_dir = &context.settings.state_dir.value;
    if let Some(url) = ready(state_dir, context).await {
        println(format_args!(
            "the hub already runs in {}, at {url}{}",
            state_dir.display(),
            started_by(state_dir)
        ))?;
        return Ok(Exit::DONE);
    }
    make_private(state_dir)?;
    let mut log = open_log(state_dir)?;
    let begin = log.seek(SeekFrom::End(0))?;
    let hubd = hubd()?;
    let child = detach::start(&hubd, &hubd_args(args, context), &log)?;
    let url = wait_until_ready(args, context, child, || tail(state_dir, begin)).await?;
    println(format_args!(
        "the hub runs in {}, at {url}{}",
        state_dir.display(),
        started_by(state_dir)
    ))?;
    Ok(Exit::DONE)
}

/// Waits until the hub is ready, and returns its URL.
async fn wait_until_ready(
    args: &UpArgs,
    context: &Context,
    mut child: Child,
    log_end: impl Fn() -> String,
) -> Result<String, Error> {
    let state_dir = &context.settings.state_dir.value;
    let until = Instant::now() + args.timeout.0;
    let mut announced = false;
    loop {
        if let Some(url) = ready(state_dir, context).await {
            return Ok(url);
        }
        let mut other = None;
        if let Some(status) = child.try_wait()? {
            // If another hub holds the state directory, wait for that one.
            other = holder_shown(state_dir)?;
            match &other {
                None => {
                    return Err(anyhow::anyhow!("hubd ended with {status}: {}", log_end()).into());
                }
                Some(other) if !announced => say(format_args!(
                    "waiting up to {} s for {other}",
                    args.timeout.0.as_secs()
                )),
                Some(_) => {}
            }
            announced = true;
        }
        if Instant::now() >= until {
            let what = other.unwrap_or_else(|| format!("hubd: {}", log_end()));
            return Err(anyhow::anyhow!("not ready yet: {what}").into());
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// How the running hub was started, for the end of a line.
fn started_by(state_dir: &FilePath) -> &'static str {
    if is_service(state_dir) {
        ", as the service hubd"
    } else {
        ", in the background"
    }
}

/// The URL of the hub of this state directory, if it answers on its socket.
async fn ready(state_dir: &FilePath, context: &Context) -> Option<String> {
    let location = HubLocation {
        socket: Some(state_dir.join("hub.sock")),
        state_dir: Some(state_dir.to_owned()),
        ..HubLocation::default()
    };
    let settings = Settings::resolve(&location, &context.env).ok()?;
    let hub = Hub::open(&settings).ok()?;
    // Not `/readyz`: with a full disk the hub runs and is not ready.
    let ready = Request::get(Path::new("/healthz"));
    hub.text_within(&ready, SOON).await.ok()?;
    let url = hub.url(SOON).await;
    // A hub of another version may not report its URL.
    Some(url.unwrap_or_else(|_| "an unknown address".into()))
}

/// The path of hubd: beside this program, because both are installed together, or else on PATH.
pub(super) fn hubd() -> Result<PathBuf, Error> {
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

fn hubd_args(args: &UpArgs, context: &Context) -> Vec<std::ffi::OsString> {
    let mut words: Vec<std::ffi::OsString> = vec![
        "--state-dir".into(),
        context.settings.state_dir.value.clone().into(),
    ];
    if let Some(listen) = &args.listen {
        words.extend(["--listen".into(), listen.into()]);
    }
    // An absolute path, because the hub changes its working directory.
    let config = args.config.as_ref().map(|file| context.env.absolute(file));
    if let Some(file) = config.or_else(|| context.env.path("HUB_CONFIG")) {
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

/// The hub's log since `begin`: the reason why it ended, or the last three lines.
fn tail(state_dir: &FilePath, begin: u64) -> String {
    let mut text = String::new();
    if let Ok(mut log) = File::open(state_dir.join("hubd.log")) {
        let _ = log
            .seek(SeekFrom::Start(begin))
            .and_then(|_| log.read_to_string(&mut text));
    }
    let lines: Vec<&str> = text.lines().collect();
    // The lines before that one give the same reason in more words.
    if let Some(why) = lines
        .iter()
        .rev()
        .find_map(|line| line.strip_prefix("hubd: "))
    {
        return why.into();
    }
    match lines.as_slice() {
        [] => "it printed nothing".into(),
        lines => lines[lines.len().saturating_sub(3)..].join("; "),
    }
}
