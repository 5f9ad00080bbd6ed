//! A separate hub for each test, and hubctl calls that find only that hub.

use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hub_protocol::{InboxInfo, Inboxes, Notification, Question, Questions, Session};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub(crate) use crate::call::{Call, Done, Running, first_line, json, read};

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
        place.dir("work");
        // The same mode as after a hub's first start.
        let private = std::fs::DirBuilder::new().mode(0o700).create(place.state());
        private.expect("a state directory");
        place
    }

    /// Creates a place with a hub that reads this configuration file.
    pub(crate) fn with_config(text: &str) -> Self {
        let mut place = Self::new();
        place.write("config.toml", text);
        place.chmod("config.toml", 0o600);
        place.start();
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

    /// Creates a directory in the temporary directory, with those above it; returns its path.
    pub(crate) fn dir(&self, name: &str) -> PathBuf {
        std::fs::create_dir_all(self.path(name)).expect("a directory");
        self.path(name)
    }

    /// Writes a file in the temporary directory, and creates the directories above it.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// Returns the text of a file in the temporary directory; empty if there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Returns whether a file or a directory exists in the temporary directory.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Counts the files in a directory of the temporary directory.
    pub(crate) fn files(&self, dir: &str) -> usize {
        let entries = std::fs::read_dir(self.path(dir)).into_iter().flatten();
        let files = entries.flatten().filter(|it| it.path().is_file());
        files.count()
    }

    /// Sets the mode of a file in the temporary directory.
    pub(crate) fn chmod(&self, name: &str, mode: u32) {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.path(name), mode).expect("our own file");
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
        let config = self.path("config.toml");
        let config = config.exists().then(|| ["--config".into(), config]);
        let mut process = clean(Command::new(hubd()))
            .args(config.into_iter().flatten())
            .args(["--listen", "127.0.0.1:0", "--state-dir"])
            .arg(self.state())
            .args(self.settings.iter().flat_map(|it| ["--set", it]))
            .env("HOME", self.path("."))
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("hubd starts");
        let line = first_line(process.stdout.take().expect("a pipe"));
        let url = line.strip_prefix("hubd listening on ");
        let url = url.expect("hubd is ready").to_owned();
        self.hub = Some(RunningHub { process, url });
    }

    /// Kills the hub with SIGKILL.
    pub(crate) fn kill(&mut self) {
        let mut hub = self.hub.take().expect("a hub");
        hub.process.kill().expect("a living hub");
        hub.process.wait().expect("its end");
    }

    /// Ends the hub with SIGTERM.
    pub(crate) fn stop(&mut self) {
        let mut hub = self.hub.take().expect("a hub");
        let _ = kill_process(Pid::from_child(&hub.process), Signal::TERM);
        hub.process.wait().expect("its end");
    }

    /// Stops the hub's process, or lets it go on.
    pub(crate) fn pause(&self, pause: bool) {
        let hub = self.hub.as_ref().expect("a hub");
        hub_harness::pause(hub.process.id(), pause);
    }

    /// Kills the hub, and starts it again.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.start();
    }

    /// Returns a call of hubctl in the working directory. The line is split as a shell does; only single quotes group.
    pub(crate) fn hubctl(&self, line: impl AsRef<str>) -> Call {
        let line = line.as_ref();
        as_claude(self.program(hubctl()).line(line), line)
    }

    /// Returns a call of hubctl by a session.
    pub(crate) fn by(&self, session: &str, line: impl AsRef<str>) -> Call {
        self.hubctl(line).env("HUB_SESSION", session)
    }

    /// Runs hubctl, which must succeed.
    pub(crate) fn ctl(&self, line: impl AsRef<str>) -> Done {
        self.hubctl(line).ok()
    }

    /// Runs hubctl, which must succeed and print one JSON value.
    pub(crate) fn json(&self, line: impl AsRef<str>) -> Value {
        self.hubctl(line).json()
    }

    /// Returns a call of a shell script with hubctl on PATH.
    pub(crate) fn sh(&self, script: &str) -> Call {
        let bin = hubctl().parent().expect("a directory").to_owned();
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", bin.display());
        let sh = self.program(Path::new("sh"));
        as_claude(sh.args(&["-c", script]).env("PATH", path), script)
    }

    fn program(&self, program: &Path) -> Call {
        let mut command = clean(Command::new(program));
        command.current_dir(self.path("work"));
        command.env("HUB_STATE_DIR", self.state());
        command.env("HOME", self.path("."));
        command.env("GIT_CONFIG_SYSTEM", "/dev/null");
        Call::new(command)
    }

    /// Starts a waiter of hubctl, and waits until the hub has registered it.
    pub(crate) fn waiter(&self, line: &str) -> Running {
        self.registered(self.hubctl(line))
    }

    /// Starts a waiter, and waits until the hub has registered it.
    pub(crate) fn registered(&self, call: Call) -> Running {
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
        let hub = UnixStream::connect(self.state().join("hub.sock")).expect("a hub");
        let asked = format!("PUT /sessions/{session}");
        let (status, answer) = exchange(hub, &asked, "localhost", &info.to_string());
        assert!(status.starts_with("20"), "{answer}");
    }

    /// Registers sessions of the project `default` without any fields.
    pub(crate) fn sessions(&self, names: &[&str]) {
        for name in names {
            self.register(name, &Value::Object(serde_json::Map::new()));
        }
    }

    /// Returns the open questions of the project `default`.
    pub(crate) fn questions(&self) -> Vec<Question> {
        read::<Questions>(&self.ctl("questions --project default --json").stdout).questions
    }

    /// Returns the session `name` of the project `default`.
    pub(crate) fn session(&self, name: &str) -> Session {
        let mut look = self.json(format!("look {name} --project default --json"));
        serde_json::from_value(look["session"].take()).expect("a session")
    }

    /// Returns the inbox `name` of the project `default`.
    pub(crate) fn inbox(&self, name: &str) -> InboxInfo {
        let all = self.inboxes("--project=default").into_iter();
        let inbox = { all }.find(|it| it.name.as_str() == name);
        inbox.unwrap_or_else(|| panic!("no inbox {name}"))
    }

    /// Returns the inboxes that the option `of` selects.
    pub(crate) fn inboxes(&self, of: &str) -> Vec<InboxInfo> {
        read::<Inboxes>(&self.ctl(format!("inboxes {of} --json")).stdout).inboxes
    }

    /// Returns the texts of all stored notifications, oldest first.
    pub(crate) fn said(&self) -> Vec<String> {
        self.history("").into_iter().map(|it| it.msg).collect()
    }

    /// Returns the stored notifications that the options `of` select, oldest first.
    pub(crate) fn history(&self, of: &str) -> Vec<Notification> {
        let history = self.ctl(format!("history --json --after 0 {of}"));
        history.stdout.lines().map(read).collect()
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

/// Sends one request, such as `PUT /sessions/w1`; returns status and body of the response.
pub(crate) fn exchange(
    mut hub: impl Read + Write,
    asked: &str,
    host: &str,
    body: &str,
) -> (String, String) {
    let length = body.len();
    let head = format!("{asked} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    let request = format!("{head}content-length: {length}\r\n\r\n{body}");
    hub.write_all(request.as_bytes()).expect("it is read");
    let mut answer = String::new();
    hub.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
    (head[9..12].to_owned(), body.to_owned())
}

/// Returns the process id of the leader of the session that a process belongs to.
#[cfg(target_os = "linux")]
pub(crate) fn session_of(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let session = fields.split_whitespace().nth(3).expect("a session");
    session.parse().expect("a process")
}

/// Polls until `reached` returns true; panics after a timeout far above the usual duration.
pub(crate) fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !reached() {
        assert!(Instant::now() < give_up, "still waiting until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The call of one of Claude Code's hooks as Claude Code makes it.
fn as_claude(call: Call, line: &str) -> Call {
    let is_hook = ["hook claude", "wait --rewake"]
        .iter()
        .any(|it| line.contains(it));
    if is_hook {
        call.env("CLAUDECODE", "1")
    } else {
        call
    }
}

pub(crate) fn hubctl() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_hubctl"))
}

/// Returns the path of the hubd of this build.
fn hubd() -> PathBuf {
    let hubd = hubctl().with_file_name("hubd");
    assert!(hubd.exists(), "hubd is missing: run `cargo build` first");
    hubd
}

/// Removes variables about agents, hubs and git from the command's environment.
fn clean(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let agents = [
            "CLAUDE", "CODEX_", "GEMINI_", "OPENCODE", "CURSOR_", "COPILOT_",
        ];
        if agents
            .iter()
            .chain(&["HUB_", "GIT_", "XDG_"])
            .any(|prefix| name.starts_with(prefix))
        {
            command.env_remove(name.as_ref());
        }
    }
    command
}
