//! The process of the command.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::Job;
use super::signals::Signals;
use super::tail::Tail;
use crate::commands::hook::PANE_DELIVERY;
use crate::error::Error;
use crate::identity::sender::SESSION_AGENT;

/// How long to wait for the rest of stderr. A process that the command left running may hold it open for ever.
const REST: Duration = Duration::from_millis(200);

/// A running command.
#[derive(Debug)]
pub(super) struct Child {
    process: std::process::Child,
    started: Instant,
    /// The last lines of stderr; `None` if the command writes to a terminal.
    tail: Option<Tail>,
}

/// A command that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// The exit code or the signal that ended it.
    pub status: ExitStatus,
    /// How long it ran.
    pub lasted: Duration,
    /// The last lines of its stderr; `None` if it wrote to a terminal.
    pub stderr: Option<Vec<String>>,
}

impl Child {
    /// Starts `command` as the session of `job`.
    pub(super) fn start(command: &[OsString], job: &Job) -> io::Result<Self> {
        let to_terminal = io::stderr().is_terminal();
        let mut start = Command::new(&command[0]);
        start
            .args(&command[1..])
            .env("HUB_SESSION", job.session.as_str())
            // Without the mark, `HUB_SESSION` belongs to whichever agent the command is or starts first.
            .env_remove(SESSION_AGENT)
            .env("HUB_PROJECT", job.project.as_str())
            .env_remove("HUB_STATUS_FILE")
            .envs(job.pane_delivery.then_some((PANE_DELIVERY, "1")))
            .envs(job.status_file.iter().map(|path| ("HUB_STATUS_FILE", path)));
        if !to_terminal {
            start.stderr(Stdio::piped());
        }
        let started = Instant::now();
        let mut process = start.spawn()?;
        let tail = process.stderr.take().map(Tail::of);
        Ok(Self {
            process,
            started,
            tail,
        })
    }

    /// Waits for the end of the command, and passes on every signal until then.
    pub(super) async fn end(mut self, signals: &mut Signals) -> Result<Ended, Error> {
        let pid = Pid::from_child(&self.process);
        let mut over = tokio::task::spawn_blocking(move || until_over(pid));
        loop {
            tokio::select! {
                over = &mut over => {
                    over.map_err(anyhow::Error::from)??;
                    break;
                }
                // The process is not reaped yet, so its number cannot have been reused.
                signal = signals.next() => pass_on(pid, signal),
            }
        }
        let lasted = self.started.elapsed();
        let status = self.process.wait()?;
        let stderr = match self.tail {
            Some(tail) => Some(tail.lines(REST).await),
            None => None,
        };
        Ok(Ended {
            status,
            lasted,
            stderr,
        })
    }
}

/// Returns when the process has ended, without reaping it.
fn until_over(pid: Pid) -> io::Result<()> {
    loop {
        match waitid(
            WaitId::Pid(pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
        ) {
            Err(Errno::INTR) => {}
            done => return Ok(done.map(drop)?),
        }
    }
}

fn pass_on(pid: Pid, signal: Signal) {
    // The process may have just ended, so a failure is ignored.
    let _ = kill_process(pid, signal);
}
