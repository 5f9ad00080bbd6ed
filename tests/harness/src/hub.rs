//! A real hubd, started and ended by its process id.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;

use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process, setrlimit};
use tempfile::TempDir;

use crate::{Client, Contract, DEADLINE, Raw};

/// A running hub with a directory of its own; killed when dropped.
#[derive(Debug)]
pub struct Hub {
    builder: HubBuilder,
    dir: TempDir,
    contract: Contract,
    port: u16,
    child: Option<Child>,
}

/// What a hub is started with.
#[derive(Debug, Clone, Default)]
pub struct HubBuilder {
    args: Vec<OsString>,
    envs: Vec<(OsString, OsString)>,
    under: Vec<OsString>,
    state_dir: Option<PathBuf>,
}

/// A hub that ended before it was ready.
#[derive(Debug)]
pub struct NotStarted {
    /// How it ended.
    pub status: ExitStatus,
    /// What it said.
    pub stderr: String,
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hubd ended with {}: {}", self.status, self.stderr)
    }
}

/// The binary `name` of this build, next to the test that runs.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let found = test
        .ancestors()
        .skip(1)
        .take(3)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{name} is not built: run cargo build --bin {name}"))
}

impl HubBuilder {
    /// Keeps the log in memory.
    #[must_use]
    pub fn memory(self) -> Self {
        self.set("journal=memory")
    }

    /// Changes a setting, `KEY=VALUE`.
    #[must_use]
    pub fn set(self, setting: &str) -> Self {
        self.arg("--set").arg(setting)
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().into());
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.envs
            .push((name.as_ref().into(), value.as_ref().into()));
        self
    }

    /// Runs hubd as the last arguments of another command, which must become hubd (`exec`) or pass signals on.
    #[must_use]
    pub fn under(mut self, command: &[&str]) -> Self {
        self.under = command.iter().map(OsString::from).collect();
        self
    }

    /// Keeps the state in another place than the hub's own temporary directory.
    #[must_use]
    pub fn state_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.state_dir = Some(dir.into());
        self
    }

    /// Starts it, and waits until it is ready.
    pub fn start(self) -> Hub {
        self.try_start().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts it; tells why it is not ready if it ends before.
    pub fn try_start(self) -> Result<Hub, NotStarted> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut hub = Hub {
            builder: self,
            dir,
            contract: Contract::new(),
            port: 0,
            child: None,
        };
        hub.launch()?;
        Ok(hub)
    }
}

impl Hub {
    /// A hub with the defaults, on a port and in a directory of its own.
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// A hub to be configured.
    pub fn builder() -> HubBuilder {
        HubBuilder::default()
    }

    /// Over TCP, with the token.
    pub fn client(&self) -> Client {
        Client::tcp(self.port, Some(&self.token()), &self.contract)
    }

    /// Over TCP, without a token.
    pub fn stranger(&self) -> Client {
        Client::tcp(self.port, None, &self.contract)
    }

    /// Over the Unix socket.
    pub fn unix(&self) -> Client {
        Client::unix(&self.socket(), &self.contract)
    }

    /// A bare TCP connection.
    pub fn raw(&self) -> Raw {
        Raw::connect(self.port, &self.token(), &self.contract)
    }

    /// The contract, which knows what was exercised.
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// The port; it stays the same over restarts.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The state directory.
    pub fn state_dir(&self) -> PathBuf {
        let own = || self.dir.path().join("state");
        self.builder.state_dir.clone().unwrap_or_else(own)
    }

    /// The Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.state_dir().join("hub.sock")
    }

    /// The token's text.
    pub fn token(&self) -> String {
        let text = std::fs::read_to_string(self.state_dir().join("token")).expect("a token");
        text.trim_end().to_owned()
    }

    /// Everything it has logged, over restarts.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// A directory that is removed with the hub.
    pub fn scratch(&self) -> &Path {
        self.dir.path()
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the hub runs").id()
    }

    /// Asks it to end (SIGTERM), and waits until it has.
    pub fn stop(&mut self) -> ExitStatus {
        self.end(Signal::TERM)
    }

    /// Kills it (SIGKILL), and waits until it is gone.
    pub fn kill_9(&mut self) -> ExitStatus {
        self.end(Signal::KILL)
    }

    /// Starts it again after it ended.
    pub fn start_again(&mut self) {
        self.launch().unwrap_or_else(|error| panic!("{error}"));
    }

    /// Starts it again; tells why it is not ready if it ends before.
    pub fn try_start_again(&mut self) -> Result<(), NotStarted> {
        self.launch()
    }

    /// Ends it orderly, and starts it again.
    pub fn restart(&mut self) {
        self.stop();
        self.start_again();
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("stderr")
    }

    fn end(&mut self, signal: Signal) -> ExitStatus {
        let mut child = self.child.take().expect("the hub runs");
        let _ = kill_process(Pid::from_child(&child), signal);
        child.wait().expect("a child can be waited for")
    }

    fn launch(&mut self) -> Result<(), NotStarted> {
        assert!(self.child.is_none(), "the hub runs already");
        raise_open_files();
        let stderr = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.log_path())
            .expect("a file for the log");
        let mut child = self
            .command()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("hubd can be started");
        match ready_port(&mut child) {
            Some(port) => {
                self.port = port;
                self.child = Some(child);
                Ok(())
            }
            None => Err(NotStarted {
                status: child.wait().expect("a child can be waited for"),
                stderr: self.log(),
            }),
        }
    }

    fn command(&self) -> Command {
        let mut words = self.builder.under.clone();
        words.push(binary("hubd").into());
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .arg("--listen")
            .arg(format!("127.0.0.1:{}", self.port))
            .arg("--state-dir")
            .arg(self.state_dir())
            .args(&self.builder.args)
            // Nothing of the person who runs the tests may decide how they end.
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .envs(self.builder.envs.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill_9();
        }
        if std::thread::panicking() {
            eprintln!("--- what hubd logged:\n{}", self.log());
        }
    }
}

/// Lets this test have as many connections as it may: some systems begin with fewer than a thousand readers need.
fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

/// The port of the line that says that the hub is ready; `None` if it ends before.
fn ready_port(child: &mut Child) -> Option<u16> {
    let stdout = child.stdout.take().expect("stdout is a pipe");
    let (found, line) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(stdout).read_line(&mut line);
        let _ = found.send(line);
    });
    let line = line.recv_timeout(DEADLINE).unwrap_or_else(|_| {
        let _ = child.kill();
        panic!("hubd neither got ready nor ended")
    });
    line.trim_end()
        .strip_prefix("hubd listening on http://127.0.0.1:")?
        .parse()
        .ok()
}
