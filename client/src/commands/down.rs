//! `hubctl down`: stops the hub.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use hub_protocol::Span;
use hub_protocol::process::{RunState, Stat};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use crate::error::Error;
use crate::exit_code::Exit;
use crate::identity::Context;
use crate::output::{println, say};

/// How often to check whether the hub has ended.
const LOOK: Duration = Duration::from_millis(10);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing is lost: notifications stay pending, and new ones are spooled until the hub runs again.

Examples:
  hubctl down")]
/// The arguments of `hubctl down`.
pub(crate) struct DownArgs {
    /// The longest time to wait for the hub's end
    #[arg(long, value_name = "SPAN", default_value = "30")]
    timeout: Span,
}

pub(crate) async fn run(args: &DownArgs, context: &Context) -> Result<Exit, Error> {
    let state_dir = &context.settings.state_dir.value;
    let Some((lock, pid)) = holder(state_dir)? else {
        println(format_args!("no hub runs in {}", state_dir.display()))?;
        return Ok(Exit::DONE);
    };
    // A stopped process handles SIGTERM only after SIGCONT.
    match kill_process(pid, Signal::TERM).and_then(|()| kill_process(pid, Signal::CONT)) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => {
            return Err(anyhow::anyhow!("process {}: {error}", pid.as_raw_nonzero()).into());
        }
    }
    let until = Instant::now() + args.timeout.0;
    while is_held(&lock)? {
        if Instant::now() >= until {
            return Err(anyhow::anyhow!(
                "the hub (process {}) has not ended yet",
                pid.as_raw_nonzero()
            )
            .into());
        }
        tokio::time::sleep(LOOK).await;
    }
    println(format_args!("the hub in {} has ended", state_dir.display()))?;
    // A hub removes its own socket, so a service manager listens on this one.
    if state_dir.join("hub.sock").exists() {
        say(
            "the next command starts its service again; `hubctl service uninstall` ends it for good",
        );
    }
    Ok(Exit::DONE)
}

/// The lock file and the process that holds it; `None` if no hub runs.
fn holder(state_dir: &Path) -> anyhow::Result<Option<(File, Pid)>> {
    let Some(mut lock) = held_lock(state_dir)? else {
        return Ok(None);
    };
    let mut text = String::new();
    lock.read_to_string(&mut text)?;
    let pid = text.trim().parse().ok().and_then(Pid::from_raw);
    let pid = pid.filter(|pid| pid.as_raw_nonzero().get() > 1);
    let pid = pid.with_context(|| format!("{}/lock names no process", state_dir.display()))?;
    Ok(Some((lock, pid)))
}

/// A description of the hub that holds the lock of `state_dir` and does not answer; `None` if no hub runs.
pub(super) fn holder_shown(state_dir: &Path) -> anyhow::Result<Option<String>> {
    let Some(mut lock) = held_lock(state_dir)? else {
        return Ok(None);
    };
    let mut text = String::new();
    lock.read_to_string(&mut text)?;
    Ok(Some(match text.trim().parse() {
        Ok(pid) if Stat::of(pid).is_some_and(|it| it.state == RunState::Stopped) => {
            format!("hubd (process {pid}), which is stopped: `kill -CONT {pid}` resumes it")
        }
        Ok(pid) => format!("hubd (process {pid}), which does not answer"),
        Err(_) => "the hubd that holds the state directory's lock".into(),
    }))
}

/// The lock file, if a hub holds its lock, whether it is ready or still starting.
pub(super) fn held_lock(state_dir: &Path) -> anyhow::Result<Option<File>> {
    let path = state_dir.join("lock");
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = match rustix::fs::open(&path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error).context(path.display().to_string()),
    };
    // A lock file that is not locked is stale: its process number may have been reused.
    Ok(is_held(&lock)?.then_some(lock))
}

/// Whether a hub holds the lock. The kernel frees the lock when the process ends, in any way.
fn is_held(lock: &File) -> anyhow::Result<bool> {
    match flock(lock, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            flock(lock, FlockOperation::Unlock)?;
            Ok(false)
        }
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(error) => Err(error).context("lock"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_lock_file_names_no_process() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("lock"), "1234\n").unwrap();
        assert!(holder(dir.path()).unwrap().is_none());
    }

    #[test]
    fn a_held_lock_names_the_process_that_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        std::fs::write(&path, "1234\n").unwrap();
        let held = File::open(&path).unwrap();
        flock(&held, FlockOperation::LockExclusive).unwrap();
        let (_, pid) = holder(dir.path()).unwrap().unwrap();
        assert_eq!(pid.as_raw_nonzero().get(), 1234);
    }
}
