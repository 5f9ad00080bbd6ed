//! The measured servers: each one a process on a free port, with its state in a temporary directory.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::http::Connection;
use crate::running::Running;

/// Directories of binaries and state.
#[derive(Debug)]
pub(crate) struct Launcher {
    /// Parent of the directories of cargo's profiles.
    target: PathBuf,
    /// Parent of the state directories.
    state: PathBuf,
    /// The hubd of another build.
    before: Option<PathBuf>,
    running: Running,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// The hub.
    Hubd,
    /// The hub of another build, see `--before`.
    #[value(skip)]
    Before,
    /// REF, the minimal axum server.
    Axum,
    /// REF with two tokio workers.
    Axum2,
    /// REF without a store.
    AxumMemory,
    /// B, the minimal relay.
    Relay,
}

impl Kind {
    /// Whether this is the hub, of this build or another.
    pub(crate) fn is_hub(self) -> bool {
        matches!(self, Self::Hubd | Self::Before)
    }
}

/// A server that runs until this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    kind: Kind,
    settings: Vec<&'static str>,
    address: SocketAddr,
    token: Option<String>,
    state: TempDir,
    running: Running,
}

impl Launcher {
    /// Programs as they are published, beside the directory of this one; state below `state`.
    pub(crate) fn new(state: &Path, before: Option<PathBuf>) -> Result<Self> {
        let own = std::env::current_exe()?;
        let target = own.ancestors().nth(2);
        let target = target.context("this program is not in a directory of cargo's")?;
        let find = |path: PathBuf| {
            let found = path.canonicalize();
            found.with_context(|| format!("--before {}", path.display()))
        };
        Ok(Self {
            target: target.to_owned(),
            state: state.to_owned(),
            before: before.map(find).transpose()?,
            running: Running::default(),
        })
    }

    pub(crate) fn running(&self) -> &Running {
        &self.running
    }

    /// Returns the path of the hubd.
    pub(crate) fn hubd(&self) -> Result<PathBuf> {
        self.built("dist", "hubd")
    }

    /// Returns the path of the hubctl.
    pub(crate) fn hubctl(&self) -> Result<PathBuf> {
        self.built("small", "hubctl")
    }

    /// Returns the path of a program that was built with the profile of its releases.
    fn built(&self, profile: &str, program: &str) -> Result<PathBuf> {
        let path = self.target.join(profile).join(program);
        ensure!(
            path.exists(),
            "no {}; build it with: cargo build --profile {profile} -p {program}",
            path.display()
        );
        Ok(path)
    }

    /// Starts a server and waits until it listens.
    pub(crate) fn start(&self, kind: Kind) -> Result<Server> {
        self.start_with(kind, &[])
    }

    pub(crate) fn start_with(&self, kind: Kind, settings: &[&'static str]) -> Result<Server> {
        let state = tempfile::Builder::new()
            .prefix("hub-bench-")
            .tempdir_in(&self.state)?;
        let (child, address) = self.spawn(kind, settings, state.path())?;
        let mut server = Server {
            child,
            kind,
            settings: settings.to_vec(),
            address,
            token: None,
            state,
            running: self.running.clone(),
        };
        if kind.is_hub() {
            let token = std::fs::read_to_string(server.file("token")).context("token")?;
            server.token = Some(token.trim().to_owned());
        }
        Ok(server)
    }

    /// Kills the server with SIGKILL and starts it again on the same state; returns the time until it listens.
    pub(crate) fn restart(&self, server: &mut Server) -> Result<Duration> {
        server.kill();
        let start = Instant::now();
        let (child, address) = self.spawn(server.kind, &server.settings, server.state.path())?;
        (server.child, server.address) = (child, address);
        Ok(start.elapsed())
    }

    fn spawn(&self, kind: Kind, settings: &[&str], state: &Path) -> Result<(Child, SocketAddr)> {
        let log = state.join("stderr.log");
        let mut child = self
            .command(kind, state)?
            .args(settings.iter().flat_map(|setting| ["--set", setting]))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .spawn()
            .with_context(|| format!("start {kind:?}"))?;
        self.running.add(child.id());
        let stdout = child.stdout.take().context("no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line
            .trim_end()
            .rsplit_once(" listening on http://")
            .and_then(|(_, address)| address.parse().ok());
        let Some(address) = address else {
            let _ = child.kill();
            let _ = child.wait();
            self.running.remove(child.id());
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            bail!("{kind:?} did not come up: {line}{said}");
        };
        Ok((child, address))
    }

    fn command(&self, kind: Kind, state: &Path) -> Result<Command> {
        if kind.is_hub() {
            let hubd = match kind {
                Kind::Before => self.before.clone().context("--before says which hubd")?,
                _ => self.hubd()?,
            };
            let mut command = Command::new(hubd);
            command
                .args(["--listen", "127.0.0.1:0", "--state-dir"])
                .arg(state)
                // The person's own configuration must not apply.
                .env("XDG_CONFIG_HOME", state)
                .env_remove("HUB_CONFIG");
            return Ok(command);
        }
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(match kind {
                Kind::Relay => &["serve-relay"][..],
                Kind::Axum2 => &["serve-axum", "--workers", "2"],
                Kind::AxumMemory => &["serve-axum", "--memory"],
                Kind::Axum | Kind::Hubd | Kind::Before => &["serve-axum"],
            })
            .arg(state);
        Ok(command)
    }
}

impl Server {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn state(&self) -> &Path {
        self.state.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.state.path().join(name)
    }

    pub(crate) fn connect(&self) -> Result<Connection> {
        Connection::open(self.address)
    }

    /// Returns a valid request, with the token if the server has one.
    pub(crate) fn request(&self, method: &str, path: &str, body: &str) -> Vec<u8> {
        let address = self.address;
        let auth = match &self.token {
            Some(token) => format!("Authorization: Bearer {token}\r\n"),
            None => String::new(),
        };
        let content = match body.len() {
            0 => String::new(),
            length => format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"),
        };
        format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\n{auth}{content}\r\n{body}")
            .into_bytes()
    }

    /// Returns `POST /notify` with notification `number` for `inbox`.
    pub(crate) fn notify(&self, inbox: &str, number: u64) -> Vec<u8> {
        self.request("POST", "/notify", &crate::body::body(inbox, number))
    }

    /// Stores notifications 0 to `count` for `inbox`, a thousand a request.
    pub(crate) fn fill(&self, inbox: &str, count: u64) -> Result<()> {
        let mut connection = self.connect()?;
        for first in (0..count).step_by(1000) {
            let numbers = first..count.min(first + 1000);
            let items: Vec<_> = numbers.map(|it| crate::body::body(inbox, it)).collect();
            let batch = format!("[{}]", items.join(","));
            connection.exchange(&self.request("POST", "/notify", &batch))?;
        }
        Ok(())
    }

    pub(crate) fn kill(&mut self) {
        // Killing fails if the server has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.running.remove(self.child.id());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
