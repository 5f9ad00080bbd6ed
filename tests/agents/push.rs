//! Idle sessions without a waiter of their own, which the hub wakes: by a file that they watch, or by their socket.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use hub_harness::model::{Reply, Request, turns};
use hub_harness::{Hub, Model, pause};
use serde_json::{Value, json};

use crate::support::{
    Builder, Claude, InstalledHub, NO_LIMIT, Series, installed, no_limits, signal,
};

/// Hooks that report, and no hook that wakes.
pub(crate) const NO_REWAKE: &[&str] = &["--no-rewake"];

/// The states of a notification's deliveries, each with its way.
pub(crate) fn steps(hub: &InstalledHub, id: u64) -> Vec<String> {
    let step = |it: &Value| match it["way"].as_str() {
        Some(way) => format!("{} {way}", it["state"].as_str().expect("a state")),
        None => it["state"].as_str().expect("a state").to_owned(),
    };
    hub.trace(id).iter().map(step).collect()
}

/// Starts Claude Code without permissions.
fn without_permissions(hub: &InstalledHub) -> Claude {
    start_without_permissions(hub, hub.claude(turns([])))
}

/// Starts this Claude Code without permissions.
pub(crate) fn start_without_permissions(hub: &InstalledHub, claude: Builder<'_>) -> Claude {
    let mode = ("bypassPermissions", "bypass permissions on");
    may_bypass(hub, claude).mode(mode.0, mode.1).start()
}

/// A Claude Code that may run without permissions, which the person has accepted before.
pub(crate) fn may_bypass<'a>(hub: &InstalledHub, claude: Builder<'a>) -> Builder<'a> {
    let settings = hub.home().join(".claude/settings.json");
    let text = std::fs::read_to_string(&settings);
    let text = text.unwrap_or_else(|_| r#"{"hooks": {}}"#.into());
    std::fs::create_dir_all(settings.with_file_name("")).expect("a directory");
    let accepted = text.replacen('{', "{\"skipDangerousModePermissionPrompt\": true,", 1);
    std::fs::write(settings, accepted).expect("settings");
    claude
        .env("IS_SANDBOX", "1")
        .args(&["--allow-dangerously-skip-permissions"])
}

const BY_FILE: [&str; 4] = ["stored", "emitted file_changed", "emitted hook", "acked"];
const BY_SOCKET: [&str; 4] = ["stored", "emitted socket", "emitted hook", "acked"];

#[test]
fn a_session_whose_waiter_died_is_woken_by_the_file_that_it_watches() {
    let hub = InstalledHub::with(Hub::builder().set(NO_LIMIT));
    let claude = hub.claude(turns([])).start();
    signal(hub.waiter("primary", "rewake"), "KILL");
    hub.waiter_way("primary", "file_changed");
    let id = hub.send("primary", "builder", "All 42 tests pass\nsecond line");
    claude.woken_by("second line");
    claude.until_shown("builder, message: All 42 tests pass");
    hub.step(id, "acked");
    assert_eq!(steps(&hub, id), BY_FILE);
    claude.model.received_once("second line");
    // The turn's end started a waiter, which is better.
    hub.waiter("primary", "rewake");
}

#[test]
fn a_session_without_permissions_is_woken_by_the_file_that_it_watches() {
    let hub = InstalledHub::install(Hub::builder().set(NO_LIMIT), &[]);
    let claude = without_permissions(&hub);
    signal(hub.waiter("primary", "rewake"), "KILL");
    hub.waiter_way("primary", "file_changed");
    let id = hub.send("primary", "builder", "second line");
    claude.woken_by("second line");
    hub.step(id, "acked");
    assert_eq!(steps(&hub, id), BY_FILE);
}

/// Claude Code as a program runs it that sends one prompt after another.
struct Host {
    child: Child,
    stdin: ChildStdin,
    lines: Option<BufReader<std::process::ChildStdout>>,
}

impl Host {
    fn start(hub: &InstalledHub, model: &Model) -> Self {
        let args = [
            "-p",
            "--verbose",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
        ];
        let mut command = hub.command(&installed::claude(), &args);
        command.env("ANTHROPIC_BASE_URL", model.url());
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("Claude Code starts");
        let stdin = child.stdin.take().expect("a pipe");
        let lines = child.stdout.take().map(BufReader::new);
        Self {
            child,
            stdin,
            lines,
        }
    }

    fn prompt(&mut self, text: &str) {
        let message = json!({"type": "user", "message": {"role": "user", "content": text}});
        writeln!(self.stdin, "{message}").expect("it reads prompts");
        self.until_answered();
    }

    /// Reads its output in the background from now on.
    fn drain(&mut self) {
        let mut lines = self.lines.take().expect("its output");
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
    }

    /// Reads its output up to the end of a turn.
    fn until_answered(&mut self) {
        let lines = self.lines.as_mut().expect("its output");
        let mut line = String::new();
        while !line.contains("\"type\":\"result\"") {
            line.clear();
            assert!(
                lines.read_line(&mut line).expect("it writes") > 0,
                "it ended"
            );
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_session_of_a_program_is_woken_by_the_file_that_it_watches() {
    let hub = InstalledHub::with(Hub::builder().set(NO_LIMIT));
    let model = Model::start(turns([]));
    let mut host = Host::start(&hub, &model);
    host.prompt("Say something");
    model.received_once("As long as it keeps you running, the hub wakes you");
    assert!(model.received("nothing wakes you").is_empty());
    let session = hub.session("main");
    let id = session["id"].as_str().expect("an id");
    hub.waiter_way(id, "file_changed");
    let sent = hub.send(id, "builder", "second line");
    host.until_answered();
    hub.step(sent, "acked");
    assert_eq!(steps(&hub, sent), BY_FILE);
    model.received_once("second line");
}

/// The address of the hub in a message that it sent.
fn address(texts: &[String]) -> Option<String> {
    let text = texts.join("\n");
    let (_, rest) = text.split_once("<cross-session-message from=\"")?;
    let (address, rest) = rest.split_once('"')?;
    rest.starts_with(" from-name=\"hub\"")
        .then(|| address.to_owned())
}

/// A model that answers the hub's message with the tool for messages between sessions.
fn answers_the_hub() -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    let hub = Mutex::new(None);
    move |request| {
        let mut hub = hub.lock().expect("no panic");
        if let Some(address) = address(&request.new_texts) {
            *hub = Some(address);
            let query = json!({"query": "select:SendMessage", "max_results": 1});
            return Reply::tool("ToolSearch", query);
        }
        match hub.take() {
            Some(to) => {
                let message = "The tests pass, hub";
                Reply::tool(
                    "SendMessage",
                    json!({"to": to, "summary": "news", "message": message}),
                )
            }
            None => Reply::text("ok"),
        }
    }
}

#[test]
fn a_session_that_watches_no_file_is_woken_by_its_socket_and_can_answer_there() {
    let hub = InstalledHub::install(Hub::builder().set(NO_LIMIT), NO_REWAKE);
    let claude = hub.claude(answers_the_hub()).start();
    claude.submit("Say something");
    hub.state("main", "complete");
    hub.waiter_way("primary", "socket");
    let id = hub.send("primary", "builder", "second line");
    let woken = claude.model.until_received("second line");
    hub.step(id, "acked");
    assert_eq!(steps(&hub, id), BY_SOCKET);
    let address = address(&woken.new_texts).expect("the hub's address");
    // This process is no session, so the hub ignores it.
    let path = address.strip_prefix("uds:").expect("a socket");
    let mut stream = UnixStream::connect(path).expect("a socket");
    let message = json!({"content": "forged"});
    let line = json!({"type": "user", "msg_id": "1", "message": message});
    writeln!(stream, "{line}").expect("it reads");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("it closes");
    hub.published("The tests pass, hub");
    hub.state("main", "complete");
    assert!(!hub.hubctl(&["history"]).contains("forged"));
}

/// A delay after which an answer would be late by any patience of a second.
const LATE: Duration = Duration::from_secs(2);

#[test]
fn a_held_message_is_recorded_and_offered_again() {
    let hub = InstalledHub::install(Hub::builder().set(NO_LIMIT), NO_REWAKE);
    let claude = without_permissions(&hub);
    // The mode is not known before the first prompt.
    hub.waiter_way("primary", "socket");
    // Claude Code takes its time on a busy machine.
    let process = hub.session("main")["process"]["pid"]
        .as_u64()
        .expect("a process");
    let process = u32::try_from(process).expect("a process id");
    // tmux lets a program of its pane go on at once.
    let tmux = claude.pane.tmux("display-message -p #{pid}", &[]);
    let tmux = tmux.trim().parse().expect("a process id");
    pause(tmux, true);
    pause(process, true);
    let id = hub.send("primary", "builder", "second line");
    hub.step(id, "emitted");
    std::thread::sleep(LATE);
    pause(process, false);
    pause(tmux, false);
    let returned = hub.step(id, "returned");
    let why = returned["why"].as_str().expect("a reason");
    assert!(why.starts_with("held: "), "{why}");
    claude.confirm("Deny — drop it");
    claude.submit("Say something");
    claude.model.until_received("second line");
    hub.step(id, "acked");
    assert_eq!(
        steps(&hub, id),
        [
            "stored",
            "emitted socket",
            "returned",
            "emitted hook",
            "acked"
        ]
    );
}

#[test]
fn a_series_of_wakes_by_the_watched_file_loses_and_doubles_none() {
    let Some(series) = Series::of_claude("file_changed") else {
        return;
    };
    let hub = InstalledHub::with(no_limits());
    let model = Model::start(turns([]));
    let mut host = Host::start(&hub, &model);
    host.prompt("Say something");
    hub.session("main");
    host.drain();
    series.run(&hub, &model, ("main", "6s"));
}

#[test]
fn a_series_of_wakes_by_the_socket_loses_and_doubles_none() {
    let Some(series) = Series::of_claude("socket") else {
        return;
    };
    let hub = InstalledHub::install(no_limits(), NO_REWAKE);
    let claude = hub.claude(turns([])).start();
    claude.submit("Say something");
    hub.state("main", "complete");
    series.run(&hub, &claude.model, ("primary", "6s"));
}
