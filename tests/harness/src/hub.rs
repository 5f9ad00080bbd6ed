//! A real hubd, started and ended by its process id.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;

use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process, setrlimit};
use tempfile::TempDir;

use crate::{Client, Contract, DEADLINE, Port, Raw};

/// A running hub with its own directory; killed when dropped.
#[derive(Debug)]
pub struct Hub {
    builder: HubBuilder,
    dir: TempDir,
    contract: Contract,
    port: Port,
    child: Option<Child>,
}

/// The arguments, environment and directory of a hub.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct HubBuilder {
    args: Vec<OsString>,
    envs: Vec<(OsString, OsString)>,
    under: Vec<OsString>,
    state_dir: Option<PathBuf>,
}

/// A hub that exited before it was ready.
#[derive(Debug)]
pub struct NotStarted {
    /// The exit status.
    pub status: ExitStatus,
    /// Its output on stderr.
    pub stderr: String,
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hubd ended with {}: {}", self.status, self.stderr)
    }
}

/// Returns the path of this build's binary `name`, next to the test's binary.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let mut paths = test.ancestors().skip(1).take(3).map(|dir| dir.join(name));
    let found = paths.find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{name} is not built: run cargo build --bin {name}"))
}

impl HubBuilder {
    /// Keeps the log in memory.
    pub fn memory(self) -> Self {
        self.set("journal=memory")
    }

    /// Changes a setting, `KEY=VALUE`.
    pub fn set(self, setting: &str) -> Self {
        self.arg("--set").arg(setting)
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().into());
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let variable = (name.as_ref().into(), value.as_ref().into());
        self.envs.push(variable);
        self
    }

    /// Runs hubd as the last arguments of another command, which must become hubd (`exec`) or pass signals on.
    pub fn under(mut self, command: &[&str]) -> Self {
        self.under = command.iter().map(OsString::from).collect();
        self
    }

    /// Keeps the state in another place than the hub's own temporary directory.
    pub fn state_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.state_dir = Some(dir.into());
        self
    }

    /// Starts the hub, and waits until it is ready.
    pub fn start(self) -> Hub {
        self.try_start().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts the hub; returns an error with its stderr if it exits before it is ready.
    pub fn try_start(self) -> Result<Hub, NotStarted> {
        let mut hub = Hub {
            builder: self,
            dir: tempfile::tempdir().expect("a temporary directory"),
            contract: Contract::new(),
            port: Port::new(),
            child: None,
        };
        hub.launch()?;
        Ok(hub)
    }
}

impl Hub {
    /// Starts a hub with the defaults, on a free port and in a directory of its own.
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Returns a builder.
    pub fn builder() -> HubBuilder {
        HubBuilder::default()
    }

    /// Returns a client over TCP with the token.
    pub fn client(&self) -> Client {
        Client::tcp(self.port(), Some(&self.token()), &self.contract)
    }

    /// Returns a client over TCP without a token.
    pub fn stranger(&self) -> Client {
        Client::tcp(self.port(), None, &self.contract)
    }

    /// Returns a client over TCP with a person's session of the dashboard.
    pub async fn person(&self) -> Client {
        let made = self.unix().post("/login/code").await.expect(201);
        let code = serde_json::json!({ "code": made.json()["code"] });
        let login = self.stranger().post_json("/login", code).await;
        let session = login.expect(200).json();
        self.session(session["token"].as_str().expect("a token"))
    }

    /// Returns a client over TCP with the token of a session of the dashboard.
    pub fn session(&self, token: &str) -> Client {
        Client::tcp(self.port(), Some(token), &self.contract)
    }

    /// Returns a client over the Unix socket.
    pub fn unix(&self) -> Client {
        Client::unix(&self.socket(), &self.contract)
    }

    /// Opens a bare TCP connection.
    pub fn raw(&self) -> Raw {
        Raw::connect(self.port(), &self.token(), &self.contract)
    }

    /// Returns the contract, with the operations exercised so far.
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Returns the port, which stays the same over restarts.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Returns `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port())
    }

    /// Returns the state directory.
    pub fn state_dir(&self) -> PathBuf {
        let own = || self.dir.path().join("state");
        self.builder.state_dir.clone().unwrap_or_else(own)
    }

    /// Returns the path of the Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.state_dir().join("hub.sock")
    }

    /// Returns the token's text.
    pub fn token(&self) -> String {
        let text = std::fs::read_to_string(self.state_dir().join("token")).expect("a token");
        text.trim_end().to_owned()
    }

    /// Returns everything that the hub has logged, over restarts.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Returns a directory that is removed with the hub.
    pub fn scratch(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the hub runs").id()
    }

    /// Sends SIGTERM, and waits for the exit.
    pub fn stop(&mut self) -> ExitStatus {
        self.end(Signal::TERM)
    }

    /// Sends SIGKILL, and waits for the exit.
    pub fn kill_9(&mut self) -> ExitStatus {
        self.end(Signal::KILL)
    }

    /// Starts the hub again after its exit.
    pub fn start_again(&mut self) {
        self.launch().unwrap_or_else(|error| panic!("{error}"));
    }

    /// Starts the hub again; returns an error with its stderr if it exits before it is ready.
    pub fn try_start_again(&mut self) -> Result<(), NotStarted> {
        self.launch()
    }

    /// Stops the hub with SIGTERM, and starts it again.
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
        let mut log = File::options();
        let log = log.append(true).create(true).open(self.log_path());
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(log.expect("a file for the log"));
        let mut child = command.spawn().expect("hubd can be started");
        if is_ready(&mut child) {
            self.child = Some(child);
            return Ok(());
        }
        Err(NotStarted {
            status: child.wait().expect("a child can be waited for"),
            stderr: self.log(),
        })
    }

    fn command(&self) -> Command {
        let mut words = self.builder.under.clone();
        words.push(binary("hubd").into());
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .arg("--listen")
            .arg(format!("127.0.0.1:{}", self.port()))
            .arg("--state-dir")
            .arg(self.state_dir())
            .args(&self.builder.args)
            // The environment of the person who runs the tests must not change their result.
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

/// Raises the soft limit of open files, which some systems set too low for a thousand readers.
fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Waits for the line that reports the hub as ready; false if the hub exits before.
fn is_ready(child: &mut Child) -> bool {
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
    line.starts_with("hubd listening on ")
}
