//! A separate hub for each test, and hubctl calls that find only that hub.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use hub_protocol::{InboxInfo, Inboxes, Notification, Session};
use rustix::process::{Pid, Signal, kill_process};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Longer than any command of a test runs.
const FOREVER: Duration = Duration::from_secs(120);

/// A state directory, a working directory outside of git, and optionally a hub.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    hub: Option<RunningHub>,
    /// The hub's settings, as `KEY=VALUE`.
    settings: Vec<String>,
}

struct RunningHub {
    process: Child,
    url: String,
}

impl Place {
    /// Creates a place without a hub.
    pub(crate) fn new() -> Self {
        let place = Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            hub: None,
            settings: Vec::new(),
        };
        std::fs::create_dir(place.path("work")).expect("a working directory");
        // The same mode as after a hub's first start.
        let mut private = std::fs::DirBuilder::new();
        let made =
            std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700).create(place.state());
        made.expect("a state directory");
        place
    }

    /// Creates a place with a hub.
    pub(crate) fn with_hub() -> Self {
        let mut place = Self::new();
        place.start();
        place
    }

    /// Creates a place with a hub that has these settings (`KEY=VALUE`), also after a restart.
    pub(crate) fn with_settings(settings: &[&str]) -> Self {
        let mut place = Self::new();
        place.settings = settings.iter().map(|&it| it.to_owned()).collect();
        place.start();
        place
    }

    /// Returns a path in the temporary directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir
            .path()
            .canonicalize()
            .expect("a real path")
            .join(name)
    }

    /// Copies the file `from` so that it can be run as `name`; returns its path.
    ///
    /// Another process writes the copy. A test in another thread may fork at any moment, and its child briefly inherits
    /// this process's open files; a file that is open for writing cannot be executed (`ETXTBSY`).
    pub(crate) fn install(&self, from: &Path, name: &str) -> PathBuf {
        let to = self.path(name);
        let install = Command::new("install").arg(from).arg(&to).status();
        assert!(install.expect("coreutils").success(), "{}", to.display());
        to
    }

    /// Returns the hub's state directory.
    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Returns the hub's URL.
    pub(crate) fn url(&self) -> &str {
        &self.hub.as_ref().expect("a hub").url
    }

    /// Starts the hub, and waits until it is ready.
    pub(crate) fn start(&mut self) {
        let mut process = clean(Command::new(hubd()))
            .args(["--listen", "127.0.0.1:0", "--state-dir"])
            .arg(self.state())
            .args(self.settings.iter().flat_map(|it| ["--set", it]))
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

    /// Kills the hub with SIGKILL.
    pub(crate) fn kill(&mut self) {
        let mut hub = self.hub.take().expect("a hub");
        hub.process.kill().expect("a living hub");
        hub.process.wait().expect("its end");
    }

    /// Returns a call of hubctl in the working directory.
    pub(crate) fn hubctl(&self, args: &[&str]) -> Call {
        self.program(hubctl()).args(args)
    }

    /// Returns a call of a shell script with hubctl on PATH.
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

    /// Starts a waiter, and waits until the hub has registered it.
    pub(crate) fn waiter(&self, call: Call) -> Running {
        let before = self.waiters();
        let waiter = call.spawn();
        until("a waiter is there", || self.waiters() != before);
        waiter
    }

    /// Returns the names of all waiters, in any inbox.
    pub(crate) fn waiters(&self) -> Vec<String> {
        let all = self.inboxes("--all-projects").into_iter();
        all.filter_map(|it| it.waiter?.name).collect()
    }

    /// Registers a session of the project `default` with the fields of `info`.
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

    /// Returns the session `name` of the project `default`.
    pub(crate) fn session(&self, name: &str) -> Session {
        let look = self.hubctl(&["look", name, "--project", "default", "--json"]);
        serde_json::from_value(look.run().json()["session"].take()).expect("a session")
    }

    /// Returns the inbox `name` of the project `default`.
    pub(crate) fn inbox(&self, name: &str) -> InboxInfo {
        let all = self.inboxes("--project=default").into_iter();
        let inbox = { all }.find(|it| it.name.as_str() == name);
        inbox.unwrap_or_else(|| panic!("no inbox {name}"))
    }

    /// Returns the inboxes that the option `of` selects.
    pub(crate) fn inboxes(&self, of: &str) -> Vec<InboxInfo> {
        let answer = self.hubctl(&["inboxes", of, "--json"]).run().ok();
        read::<Inboxes>(&answer.stdout).inboxes
    }

    /// Returns the texts of all stored notifications, oldest first.
    pub(crate) fn said(&self) -> Vec<String> {
        let history = self.hubctl(&["history", "--json", "--after", "0"]).run();
        let lines = history.stdout.lines().map(read::<Notification>);
        lines.map(|it| it.msg).collect()
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
    /// Adds arguments.
    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets the working directory.
    pub(crate) fn within(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Sets the content of stdin.
    pub(crate) fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(text.into());
        self
    }

    /// Runs the command to its end.
    pub(crate) fn run(self) -> Done {
        self.spawn().end()
    }

    /// Starts the command, with pipes for stdin, stdout and stderr.
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
            // A program that refuses its arguments may end before it reads.
            if let Err(error) = stdin.write_all(&text) {
                assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{error}");
            }
        }
        Running(Some(child))
    }
}

/// A running command; killed when dropped.
pub(crate) struct Running(Option<Child>);

impl Running {
    /// Returns the process.
    pub(crate) fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it runs")
    }

    /// Returns a reader of its stdout.
    pub(crate) fn stdout(&mut self) -> BufReader<ChildStdout> {
        BufReader::new(self.child().stdout.take().expect("a pipe"))
    }

    /// Waits for its end; panics with its output if it runs longer than [`FOREVER`].
    pub(crate) fn end(mut self) -> Done {
        let child = self.0.take().expect("it runs");
        let pid = Pid::from_child(&child);
        let (ended, end) = mpsc::channel();
        std::thread::spawn(move || ended.send(child.wait_with_output()));
        let output = end.recv_timeout(FOREVER).unwrap_or_else(|_| {
            let _ = kill_process(pid, Signal::KILL);
            // The output is missing if a child of the command keeps the pipes open.
            let output = end.recv_timeout(Duration::from_secs(5));
            panic!("it did not end within {FOREVER:?}: {output:?}")
        });
        Done::new(&output.expect("its end"))
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

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Done {
    /// The exit code; `None` if a signal ended the command.
    pub code: Option<i32>,
    /// The output on stdout.
    pub stdout: String,
    /// The output on stderr.
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

    /// Returns the result; panics unless the exit code is 0.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Parses stdout as one JSON value.
    pub(crate) fn json(self) -> Value {
        json(&self.ok().stdout)
    }

    /// Parses stdout as one JSON value per line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(json).collect()
    }

    /// Returns the texts of the printed notifications, framed or not.
    pub(crate) fn messages(&self) -> Vec<String> {
        let lines = self.stdout.lines().filter(|it| it.starts_with('{'));
        // A long notification is shown in part.
        let texts = lines.map(|it| json(it)["msg"].as_str().map(str::to_owned));
        texts.map(|msg| msg.expect("msg")).collect()
    }
}

/// Parses a JSON value.
pub(crate) fn json(text: &str) -> Value {
    read(text)
}

/// Parses an answer of the hub.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Polls until `reached` returns true; panics after a timeout far above the usual duration.
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

/// Returns the path of the hubd of this build.
fn hubd() -> PathBuf {
    let hubd = hubctl().with_file_name("hubd");
    assert!(
        hubd.exists(),
        "{} is missing: run `cargo build` first",
        hubd.display()
    );
    hubd
}

/// Removes variables about agents, hubs and git from the command's environment.
fn clean(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let speaks = [
            "HUB_", "CLAUDE", "CODEX_", "GEMINI_", "OPENCODE", "CURSOR_", "COPILOT_", "GIT_",
            "XDG_",
        ];
        if speaks.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name.as_ref());
        }
    }
    command
}
