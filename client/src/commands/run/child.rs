//! The command itself.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::Job;
use super::signals::Signals;
use super::tail::Tail;
use crate::error::Error;
use crate::sender::SESSION_AGENT;

/// How long to wait for the rest of stderr: whatever the command left running may hold it open for ever.
const REST: Duration = Duration::from_millis(200);

/// A command that runs.
#[derive(Debug)]
pub(super) struct Child {
    process: std::process::Child,
    started: Instant,
    /// Nothing where the command writes to a terminal.
    tail: Option<Tail>,
}

/// A command that is over.
#[derive(Debug)]
pub(super) struct Ended {
    /// How.
    pub status: ExitStatus,
    /// How long it ran.
    pub lasted: Duration,
    /// The last lines of its stderr, where they were seen.
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
            // Whichever agent the command is or starts first: the session is given to it.
            .env_remove(SESSION_AGENT)
            .env("HUB_PROJECT", job.project.as_str())
            .env_remove("HUB_STATUS_FILE")
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

    /// Waits for its end, and passes on every signal until then.
    pub(super) async fn end(mut self, signals: &mut Signals) -> Result<Ended, Error> {
        let pid = Pid::from_child(&self.process);
        let mut over = tokio::task::spawn_blocking(move || until_over(pid));
        loop {
            tokio::select! {
                over = &mut over => {
                    over.map_err(anyhow::Error::from)??;
                    break;
                }
                // It is not reaped yet, so its number is nobody else's.
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

/// Returns when the process is over, and leaves it to be reaped.
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
    // It may have just ended: then nobody needs the signal.
    let _ = kill_process(pid, signal);
}
