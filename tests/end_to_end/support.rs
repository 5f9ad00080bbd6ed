//! A hub of its own for each test, and hubctl calls that know no other.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A state directory, a working directory outside of git, and perhaps a hub.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    hub: Option<RunningHub>,
}

struct RunningHub {
    process: Child,
    url: String,
}

impl Place {
    /// Without a hub.
    pub(crate) fn new() -> Self {
        let place = Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            hub: None,
        };
        std::fs::create_dir(place.path("work")).expect("a working directory");
        place
    }

    /// With a hub.
    pub(crate) fn with_hub() -> Self {
        let mut place = Self::new();
        place.start();
        place
    }

    /// A path in the temporary directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir
            .path()
            .canonicalize()
            .expect("a real path")
            .join(name)
    }

    /// A copy of the file `from`, to be run as `name`.
    ///
    /// Another process writes it: a test beside this one may start a child at any instant, which for a moment holds
    /// open whatever this process does, and what somebody may write can't be run (`ETXTBSY`).
    pub(crate) fn install(&self, from: &Path, name: &str) -> PathBuf {
        let to = self.path(name);
        let install = Command::new("install").arg(from).arg(&to).status();
        assert!(install.expect("coreutils").success(), "{}", to.display());
        to
    }

    /// The hub's state directory.
    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// The hub's URL.
    pub(crate) fn url(&self) -> &str {
        &self.hub.as_ref().expect("a hub").url
    }

    /// Starts the hub; it is ready when this returns.
    pub(crate) fn start(&mut self) {
        let mut process = clean(Command::new(hubd()))
            .args(["--listen", "127.0.0.1:0", "--state-dir"])
            .arg(self.state())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("hubd starts");
        let stdout = process.stdout.take().expect("a pipe");
        let mut line = String::new();
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("hubd's line");
        let url = line
            .trim()
            .strip_prefix("hubd listening on ")
            .expect("hubd is ready")
            .to_owned();
        self.hub = Some(RunningHub { process, url });
    }

    /// Kills the hub, as a power cut would.
    pub(crate) fn kill(&mut self) {
        let mut hub = self.hub.take().expect("a hub");
        hub.process.kill().expect("a living hub");
        hub.process.wait().expect("its end");
    }

    /// A call of hubctl, in the working directory.
    pub(crate) fn hubctl(&self, args: &[&str]) -> Call {
        self.program(hubctl()).args(args)
    }

    /// A shell command, with hubctl on PATH.
    pub(crate) fn sh(&self, script: &str) -> Call {
        let bin = hubctl().parent().expect("a directory").to_owned();
        let path = format!(
            "{}:{}",
            bin.display(),
            std::env::var("PATH").unwrap_or_default()
        );
        self.program(Path::new("sh"))
            .args(&["-c", script])
            .env("PATH", &path)
    }

    fn program(&self, program: &Path) -> Call {
        let mut command = clean(Command::new(program));
        command.current_dir(self.path("work"));
        command.env("HUB_STATE_DIR", self.state());
        command.env("HOME", self.path("."));
        command.env("GIT_CONFIG_SYSTEM", "/dev/null");
        Call {
            command,
            stdin: None,
        }
    }

    /// Starts a waiter and returns once the hub has it.
    pub(crate) fn waiter(&self, call: Call) -> Running {
        let before = self.waiters();
        let waiter = call.spawn();
        until("a waiter is there", || self.waiters() != before);
        waiter
    }

    /// Who waits, anywhere.
    pub(crate) fn waiters(&self) -> Vec<String> {
        let all = self
            .hubctl(&["inboxes", "--all-projects", "--json"])
            .run()
            .json();
        let inboxes = all["inboxes"].as_array().expect("inboxes");
        inboxes
            .iter()
            .filter_map(|it| it["waiter"]["as"].as_str().map(str::to_owned))
            .collect()
    }

    /// Makes a session of the project `default` known, with what `info` says of it.
    pub(crate) fn register(&self, session: &str, info: &Value) {
        let body = info.to_string();
        let mut hub = UnixStream::connect(self.state().join("hub.sock")).expect("a hub");
        let head = format!(
            "PUT /sessions/{session} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        hub.write_all((head + &body).as_bytes())
            .expect("it is read");
        let mut answer = String::new();
        hub.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
    }

    /// The session `name` of the project `default`.
    pub(crate) fn session(&self, name: &str) -> Value {
        self.hubctl(&["look", name, "--project", "default", "--json"])
            .run()
            .json()["session"]
            .clone()
    }

    /// The inbox `name` of the project `default`.
    pub(crate) fn inbox(&self, name: &str) -> Value {
        let all = self
            .hubctl(&["inboxes", "--project", "default", "--json"])
            .run()
            .json();
        let inboxes = all["inboxes"].as_array().expect("inboxes");
        inboxes
            .iter()
            .find(|it| it["name"] == name)
            .cloned()
            .unwrap_or_default()
    }

    /// The texts of everything stored, oldest first.
    pub(crate) fn said(&self) -> Vec<String> {
        let history = self.hubctl(&["history", "--json", "--after", "0"]).run();
        let lines = history.stdout.lines().map(json);
        lines
            .map(|it| it["msg"].as_str().expect("msg").to_owned())
            .collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(mut hub) = self.hub.take() {
            let _ = hub.process.kill();
            let _ = hub.process.wait();
        }
    }
}

/// A command before it runs.
pub(crate) struct Call {
    command: Command,
    stdin: Option<Vec<u8>>,
}

impl Call {
    /// With these arguments too.
    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    /// With this variable.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// In this directory.
    pub(crate) fn within(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// With this on stdin.
    pub(crate) fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(text.into());
        self
    }

    /// Runs to its end.
    pub(crate) fn run(self) -> Done {
        self.spawn().end()
    }

    /// Starts, with a pipe at each end.
    pub(crate) fn spawn(mut self) -> Running {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        if let Some(text) = self.stdin {
            let mut stdin = child.stdin.take().expect("a pipe");
            stdin.write_all(&text).expect("stdin is read");
        }
        Running(Some(child))
    }
}

/// A command that runs; killed when dropped.
pub(crate) struct Running(Option<Child>);

impl Running {
    /// Its process.
    pub(crate) fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it runs")
    }

    /// The read end of its stdout.
    pub(crate) fn stdout(&mut self) -> BufReader<ChildStdout> {
        BufReader::new(self.child().stdout.take().expect("a pipe"))
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Done {
        let child = self.0.take().expect("it runs");
        Done::new(&child.wait_with_output().expect("its end"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Done {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it said.
    pub stderr: String,
}

impl Done {
    fn new(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout.clone()).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr.clone()).expect("UTF-8"),
        }
    }

    /// The same, if it went well.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Its stdout, one JSON value.
    pub(crate) fn json(self) -> Value {
        json(&self.ok().stdout)
    }

    /// Its stdout, one JSON value a line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(json).collect()
    }

    /// The texts of the notifications that it printed.
    pub(crate) fn messages(&self) -> Vec<String> {
        let texts = self
            .lines()
            .into_iter()
            .map(|it| it["msg"].as_str().map(str::to_owned));
        texts.map(|msg| msg.expect("msg")).collect()
    }
}

/// A JSON value.
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Waits until `reached`; fails after a time that nothing here takes.
pub(crate) fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !reached() {
        assert!(Instant::now() < give_up, "still waiting until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn hubctl() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_hubctl"))
}

/// The server that was built beside.
fn hubd() -> PathBuf {
    let hubd = hubctl().with_file_name("hubd");
    assert!(
        hubd.exists(),
        "{} is missing: run `cargo build` first",
        hubd.display()
    );
    hubd
}

/// Without what the surroundings of the test say about agents, hubs and git.
fn clean(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let speaks = ["HUB_", "CLAUDE", "CODEX_", "GEMINI_", "GIT_", "XDG_"];
        if speaks.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name.as_ref());
        }
    }
    command
}
