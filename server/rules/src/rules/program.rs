//! A program that a rule runs: without a shell, in a process group of its own, which ends with it.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use hub_core::guarded_file::{UnguardedFile, check_program};
use hub_engine::{Programs, RunningProgram};
use hub_protocol::one_line;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

/// How long the hub reads what is left of the output after the end.
const REST: Duration = Duration::from_millis(200);
/// The end of the output that is kept, in bytes.
const KEPT: usize = 4096;

/// A program with its input.
#[derive(Debug)]
pub(super) struct Program {
    /// The name of the rule.
    pub(super) rule: String,
    /// The program and its arguments.
    pub(super) words: Vec<String>,
    /// The text of its standard input, and of `HUB_JSON`.
    pub(super) json: String,
    /// Further environment variables.
    pub(super) variables: Vec<(&'static str, String)>,
    /// How long it may run.
    pub(super) limit: Duration,
}

/// Kills a process group when it is dropped.
struct Group {
    leader: Pid,
    #[allow(dead_code)] // held until the group is killed
    running: RunningProgram,
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = kill_process_group(self.leader, Signal::KILL);
    }
}

impl Program {
    /// Runs the program to its end or its time limit. Returns how it failed, and logs that with the last line of its output.
    pub(super) async fn run(&self, programs: &Arc<Programs>) -> Result<(), String> {
        let program = self.words[0].as_str();
        let ended = match self.check().await {
            Ok(()) => self.ended(programs).await,
            Err(unguarded) => Err(std::io::Error::other(unguarded)),
        };
        let (why, said) = match ended {
            Ok((Some(status), _)) if status.success() => return Ok(()),
            Ok((Some(status), said)) => (status.to_string(), said),
            Ok((None, said)) => (format!("killed after {} s", self.limit.as_secs()), said),
            Err(error) => (format!("cannot be started: {error}"), String::new()),
        };
        tracing::warn!(
            rule = self.rule,
            program,
            why,
            said,
            "a rule's program failed"
        );
        Err(why)
    }

    /// Fails if other users can change the program.
    async fn check(&self) -> Result<(), UnguardedFile> {
        let program = self.words[0].clone();
        let checked = tokio::task::spawn_blocking(move || check_program(&program));
        checked.await.map_err(std::io::Error::other)?
    }

    /// Returns how the program ended, `None` after the time limit, and the last line of its output.
    async fn ended(
        &self,
        programs: &Arc<Programs>,
    ) -> std::io::Result<(Option<ExitStatus>, String)> {
        let (output, writer) = std::io::pipe()?;
        let mut output = pipe::Receiver::from_file(File::from(OwnedFd::from(output)))?;
        let (mut child, group) = self.spawn(writer, programs)?;
        let stdin = child.stdin.take();
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A program need not read its input.
                let _ = stdin.write_all(self.json.as_bytes()).await;
            }
            std::future::pending::<()>().await;
        };
        let mut last = Vec::new();
        let status = tokio::select! {
            status = child.wait() => Some(status?),
            () = feed => None,
            () = keep_last(&mut output, &mut last, true) => None,
            () = tokio::time::sleep(self.limit) => None,
        };
        drop(group);
        // A process that left the group may keep the output open.
        let _ = tokio::time::timeout(REST, keep_last(&mut output, &mut last, false)).await;
        let text = String::from_utf8_lossy(&last);
        let line = text.lines().rev().find(|line| !line.trim().is_empty());
        Ok((status, one_line(line.unwrap_or_default()).into_owned()))
    }

    fn spawn(
        &self,
        output: std::io::PipeWriter,
        programs: &Arc<Programs>,
    ) -> std::io::Result<(Child, Group)> {
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .stdin(Stdio::piped())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .kill_on_drop(true);
        // The hub may itself run in a session of an agent.
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("HUB_")) {
                command.env_remove(name);
            }
        }
        command
            .env("HUB_RULE", &self.rule)
            .env("HUB_JSON", &self.json);
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        let (child, running) = programs.start(|| {
            let child = command.spawn()?;
            let id = child.id().ok_or(std::io::ErrorKind::NotFound)?;
            Ok((child, id))
        })?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let leader = pid.ok_or(std::io::ErrorKind::NotFound)?;
        Ok((child, Group { leader, running }))
    }
}

/// Reads the output to its end and keeps the last bytes. With `forever`, it does not return then.
async fn keep_last(output: &mut pipe::Receiver, last: &mut Vec<u8>, forever: bool) {
    let mut chunk = [0; KEPT];
    while let Ok(length @ 1..) = output.read(&mut chunk).await {
        last.extend_from_slice(&chunk[..length]);
        let extra = last.len().saturating_sub(KEPT);
        last.drain(..extra);
    }
    if forever {
        std::future::pending::<()>().await;
    }
}
