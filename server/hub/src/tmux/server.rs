//! A tmux server of the hub's own user, asked by its command line program.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::str::FromStr;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::process::Command;

use super::Unreachable;

/// Timeout of one command.
const TIMEOUT: Duration = Duration::from_secs(3);

/// A tmux server.
pub(super) struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// Checks that the server at `socket` belongs to the hub's user and is one of `ancestors`. A tmux client carries out
    /// what its server tells it, so no other program may be asked.
    pub(super) async fn connect(socket: &Path, ancestors: &[u32]) -> Result<Self, Unreachable> {
        let own = rustix::process::getuid().as_raw();
        let owner = std::fs::metadata(socket).map(|it| it.uid());
        if owner.ok() != Some(own) {
            return Err(Unreachable::new(
                "its tmux server is gone, or of another user",
            ));
        }
        let server = UnixStream::connect(socket).await;
        let server = server.and_then(|it| it.peer_cred()).ok();
        let pid = server
            .and_then(|it| it.pid())
            .and_then(|it| u32::try_from(it).ok());
        if pid.is_none_or(|pid| !ancestors.contains(&pid)) {
            return Err(Unreachable::new("its tmux server is gone"));
        }
        let socket = socket.to_owned();
        Ok(Self { socket })
    }

    /// Runs a command and parses the first line that it prints.
    pub(super) async fn ask<T: FromStr>(&self, command: &[&str]) -> Result<T, Unreachable> {
        let answer = self.run(command).await?;
        let line = answer.lines().next().unwrap_or_default();
        line.parse().map_err(|_| Unreachable::not_understood())
    }

    /// Makes a pane the active one of its session, and of the client that the person used last, unless a client already
    /// shows that session. Returns whether a client shows the pane.
    pub(super) async fn show(&self, pane: &str) -> Result<bool, Unreachable> {
        let select = ["select-window", "-t", pane, ";", "select-pane", "-t", pane];
        self.run(&select).await?;
        let session: String = self
            .ask(&["display-message", "-p", "-t", pane, "#{session_id}"])
            .await?;
        let format = "#{client_activity} #{client_control_mode} #{session_id} #{client_name}";
        let clients = self.run(&["list-clients", "-F", format]).await?;
        let clients = clients.lines().filter_map(Client::parse);
        let clients: Vec<Client<'_>> = clients.filter(|it| !it.is_control).collect();
        if clients.iter().any(|it| it.session == session) {
            return Ok(true);
        }
        let Some(last) = clients.iter().max_by_key(|it| it.activity) else {
            return Ok(false);
        };
        self.run(&["switch-client", "-c", last.name, "-t", pane])
            .await?;
        Ok(true)
    }

    /// The command that shows a pane in a new terminal.
    pub(super) fn attach_command(&self, pane: &str) -> String {
        let socket = self.socket.to_string_lossy().replace('\'', r"'\''");
        format!("tmux -S '{socket}' attach -t '{pane}'")
    }

    /// Runs a command; returns what it prints.
    pub(super) async fn run(&self, command: &[&str]) -> Result<String, Unreachable> {
        self.run_with(command, b"").await
    }

    /// Runs a command that reads `input`; returns what it prints.
    pub(super) async fn run_with(
        &self,
        command: &[&str],
        input: &[u8],
    ) -> Result<String, Unreachable> {
        let run = tokio::time::timeout(TIMEOUT, self.output(command, input)).await;
        let output = run.map_err(|_| Unreachable::new("tmux does not answer"))?;
        let output =
            output.map_err(|error| Unreachable::new(format!("tmux cannot be started: {error}")))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(Unreachable::new(format!("tmux refused: {}", why.trim())));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    async fn output(&self, command: &[&str], input: &[u8]) -> io::Result<Output> {
        let mut tmux = Command::new("tmux");
        tmux.arg("-u").arg("-S").arg(&self.socket).args(command);
        tmux.env_remove("TMUX")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut tmux = tmux.spawn()?;
        if let Some(mut stdin) = tmux.stdin.take() {
            // Commands that read no input may have ended already.
            let _ = stdin.write_all(input).await;
        }
        tmux.wait_with_output().await
    }
}

/// A client of a tmux server.
struct Client<'a> {
    activity: u64,
    is_control: bool,
    session: &'a str,
    name: &'a str,
}

impl<'a> Client<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut parts = line.splitn(4, ' ');
        Some(Self {
            activity: parts.next()?.parse().ok()?,
            is_control: parts.next()? == "1",
            session: parts.next()?,
            name: parts.next()?,
        })
    }
}
