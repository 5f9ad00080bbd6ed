//! A hub with the installed hooks, found by every program of a sandbox at the default place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use hub_harness::{Client, Events, Hub, HubBuilder, encoded, until};
use serde_json::{Value, json};

use super::Sandbox;

/// A limit that these tests never reach. All senders that are not sessions share one count, so the default would make
/// some tests wait a minute.
pub(crate) const NO_LIMIT: &str = "wake.per_sender_per_minute=1000";

/// A hub without wake limits, for series of wakes.
pub(crate) fn no_limits() -> HubBuilder {
    Hub::builder().set(NO_LIMIT).set("wake.per_hour=100000")
}

/// A hub with Claude Code's hooks, in a sandbox whose project is a git repository.
pub(crate) struct InstalledHub {
    /// The process. It ends before the sandbox is removed.
    pub(crate) server: Hub,
    runtime: tokio::runtime::Runtime,
    sandbox: Sandbox,
}

impl std::ops::Deref for InstalledHub {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl InstalledHub {
    /// Starts a hub with default settings.
    pub(crate) fn new() -> Self {
        Self::with(Hub::builder())
    }

    /// Starts the hub that `builder` configures.
    pub(crate) fn with(builder: HubBuilder) -> Self {
        Self::install(builder, &[])
    }

    /// Starts the hub, and installs Claude Code's hooks as a person does, with these arguments. Checks
    /// `hubctl hooks status`.
    pub(crate) fn install(builder: HubBuilder, more: &[&str]) -> Self {
        let hub = Self::without_hooks(builder);
        hub.hubctl(&[&["hooks", "install", "claude"], more].concat());
        let status = hub.hubctl(&["hooks", "status", "claude"]);
        let installed = |line: &str| line.contains(" user ") && line.contains(" installed ");
        assert!(status.lines().any(installed), "{status}");
        hub
    }

    /// Starts the hub that `builder` configures, without hooks in the settings of an agent.
    pub(crate) fn without_hooks(builder: HubBuilder) -> Self {
        let sandbox = Sandbox::new();
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().expect("a runtime");
        let state = sandbox.home().join(".local/state/hub");
        let hub = Self {
            server: builder.state_dir(state).start(),
            runtime,
            sandbox,
        };
        hub.git(&["init", "--quiet", "--initial-branch=main"]);
        hub.git(&["commit", "--quiet", "--allow-empty", "--message=first"]);
        hub
    }

    /// Writes the plugin for Claude Code; returns the directory that Claude Code loads.
    pub(crate) fn plugin(&self) -> String {
        let marketplace = self.sandbox.path("plugin").display().to_string();
        self.hubctl(&["hooks", "print", "--plugin", &marketplace]);
        format!("{marketplace}/plugins/hub")
    }

    /// Creates worktrees of the project, each on a branch of its name, trusts all of them, and returns their
    /// directories.
    pub(crate) fn worktrees<const N: usize>(&self, names: [&str; N]) -> [PathBuf; N] {
        let dirs = names.map(|name| {
            let dir = self.sandbox.path(name);
            let path = dir.display().to_string();
            self.git(&["worktree", "add", "--quiet", "-b", name, &path]);
            dir
        });
        let project = self.sandbox.project();
        let trusted = dirs.iter().chain([&project]).map(PathBuf::as_path);
        self.sandbox.trust(&trusted.collect::<Vec<_>>());
        dirs
    }

    /// Runs hubctl in the project's directory; returns its stdout. Panics unless it exits 0.
    pub(crate) fn hubctl(&self, args: &[&str]) -> String {
        let hubctl = Path::new(env!("CARGO_BIN_EXE_hubctl"));
        self.sandbox.run(hubctl, args, &[])
    }

    /// Runs hubctl as [`InstalledHub::hubctl`] does, with any exit code.
    pub(crate) fn try_hubctl(&self, args: &[&str]) -> Output {
        let hubctl = Path::new(env!("CARGO_BIN_EXE_hubctl"));
        self.sandbox.output(&self.project(), hubctl, args, &[])
    }

    /// Runs hubctl, which must refuse; returns its stderr.
    pub(crate) fn refused(&self, args: &[&str]) -> String {
        let output = self.try_hubctl(args);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Waits until the named session is in this state.
    pub(crate) fn state(&self, name: &str, state: &str) {
        let is_so = || (self.find_session(name)?["state"] == state).then_some(());
        until(&format!("session {name} is {state}"), is_so);
    }

    /// Returns the open questions.
    pub(crate) fn open_questions(&self) -> Vec<Value> {
        self.list("questions")
    }

    /// Returns the project's list of this name.
    fn list(&self, name: &str) -> Vec<Value> {
        let mut all = self.get(&format!("/{name}"));
        serde_json::from_value(all[name].take()).expect("a list")
    }

    /// Waits for the only open question, and returns it.
    pub(crate) fn question(&self) -> Value {
        until("a question is open", || {
            let mut open = self.open_questions();
            assert!(open.len() < 2, "{open:?}");
            open.pop()
        })
    }

    /// Returns the project's name.
    pub(crate) fn project_name(&self) -> String {
        self.sandbox.project().display().to_string()
    }

    /// Publishes a notification in the project; returns its id.
    pub(crate) fn post(&self, mut post: Value) -> u64 {
        post["project"] = json!(self.project_name());
        self.runtime.block_on(self.client().notify(post))
    }

    /// Publishes a message to an inbox; returns its id.
    pub(crate) fn send(&self, to: &str, from: &str, msg: &str) -> u64 {
        self.post(json!({"from": from, "to": to, "type": "message", "msg": msg}))
    }

    /// Publishes messages at once; returns their ids.
    pub(crate) fn send_all(&self, to: &str, from: &str, msgs: &[String]) -> Vec<u64> {
        let project = self.project_name();
        let all: Vec<Value> = msgs
            .iter()
            .map(|msg| json!({"project": project, "from": from, "to": to, "type": "message", "msg": msg}))
            .collect();
        let stored = self.runtime.block_on(self.client().publish(json!(all)));
        serde_json::from_value(stored["ids"].clone()).expect("ids")
    }

    /// Returns the JSON of a GET in the project.
    pub(crate) fn get(&self, path: &str) -> Value {
        let path = format!("{path}?project={}", encoded(&self.project_name()));
        self.runtime.block_on(self.client().read(&path))
    }

    /// Waits until a session of this name is registered; returns the session.
    pub(crate) fn session(&self, name: &str) -> Value {
        let what = format!("session {name} is known");
        until(&what, || self.find_session(name))
    }

    /// Whether a session of this name is registered.
    pub(crate) fn find(&self, name: &str) -> Option<()> {
        self.find_session(name).map(drop)
    }

    /// Changes properties of the session of this name.
    pub(crate) fn put_session(&self, name: &str, info: &Value) {
        let id = self.session(name)["id"].clone();
        let id = id.as_str().expect("an id");
        let path = format!("/sessions/{id}?project={}", encoded(&self.project_name()));
        self.runtime.block_on(async {
            self.client().put_json(&path, info).await.expect(200);
        });
    }

    fn find_session(&self, name: &str) -> Option<Value> {
        { self.list("sessions") }
            .into_iter()
            .find(|it| it["name"] == name)
    }

    /// Waits until an inbox has a waiter of this kind; returns the waiter's process id.
    pub(crate) fn waiter(&self, inbox: &str, way: &str) -> i32 {
        until(&format!("somebody waits at {inbox} ({way})"), || {
            let session = self.find_session(inbox);
            let id = session.as_ref().and_then(|it| it["id"].as_str());
            let holder = self.holder(id.unwrap_or(inbox));
            let holder = holder.filter(|it| it["way"] == way)?;
            let name = holder["as"].as_str()?;
            let (_, process) = name.rsplit_once(':')?;
            process.split('-').next()?.parse().ok()
        })
    }

    /// Waits until an inbox has a waiter of this kind.
    pub(crate) fn waiter_way(&self, inbox: &str, way: &str) {
        until(&format!("{inbox} has a waiter ({way})"), || {
            self.holder(inbox).filter(|it| it["way"] == way).map(drop)
        });
    }

    /// Waits until the live session of this name waits at its own inbox; returns the session's id.
    pub(crate) fn waiting_at(&self, name: &str) -> Value {
        until(&format!("live session {name} waits"), || {
            let session = self.find_session(name)?;
            let id = session["id"].as_str()?;
            let holder = self.holder(id)?;
            (holder["way"] == "rewake" && session["state"] != "ended").then(|| id.into())
        })
    }

    fn holder(&self, inbox: &str) -> Option<Value> {
        self.inbox(inbox)?.get("waiter").cloned()
    }

    /// Returns the inbox of this name.
    pub(crate) fn inbox(&self, name: &str) -> Option<Value> {
        let mut all = self.list("inboxes").into_iter();
        all.find(|it| it["name"] == name)
    }

    /// Waits for a notification with this text; returns its id.
    pub(crate) fn published(&self, text: &str) -> u64 {
        let found = || self.find_published(text).first().copied();
        until(&format!("{text:?} is said"), found)
    }

    /// Returns the notifications with this text, newest first.
    pub(crate) fn find_published(&self, text: &str) -> Vec<u64> {
        let mut found = self.list("notifications");
        found.retain(|it| it["msg"].as_str().is_some_and(|msg| msg.contains(text)));
        found.iter().filter_map(|it| it["id"].as_u64()).collect()
    }

    /// Waits for `count` notifications with this text; returns their ids, newest first.
    pub(crate) fn all_published(&self, text: &str, count: usize) -> Vec<u64> {
        let all = || {
            let found = self.find_published(text);
            (found.len() == count).then_some(found)
        };
        hub_harness::within(hub_harness::PATIENCE, all).unwrap_or_else(|| {
            let said = self.hubctl(&["history"]);
            panic!("still waiting until {text:?} is said {count} times:\n{said}")
        })
    }

    /// Waits until the named session has an alias.
    pub(crate) fn alias(&self, name: &str) {
        let aliases = || self.find_session(name)?["aliases"].as_array().cloned();
        let has_one = || aliases().filter(|it| !it.is_empty());
        until(&format!("session {name} has an alias"), has_one);
    }

    /// Returns the trace of a notification: its deliveries, each with its steps.
    pub(crate) fn trace(&self, id: u64) -> Vec<Value> {
        let path = format!("/notifications/{id}/trace");
        let mut trace = self.runtime.block_on(self.client().read(&path));
        serde_json::from_value(trace["steps"].take()).expect("steps")
    }

    /// Waits until one of the notification's deliveries is in this state, and returns it.
    pub(crate) fn step(&self, id: u64, state: &str) -> Value {
        until(&format!("{id} is {state}"), || {
            let mut steps = self.trace(id);
            steps.retain(|step| step["state"] == state);
            steps.pop()
        })
    }

    /// Opens the event stream of a dashboard.
    pub(crate) fn dashboard(&self) -> Events {
        self.runtime.block_on(async {
            let person = self.server.person().await;
            person.events("").await
        })
    }

    /// Opens the stream of the waiters.
    pub(crate) fn presence(&self) -> Events {
        let client = self.client();
        self.runtime.block_on(client.events("?kinds=presence"))
    }

    /// Reads the stream until an inbox has lost its waiter and has one again; returns the inboxes that had one meanwhile and
    /// have none now. The hub's own waiters, which it has for every idle session, do not count.
    pub(crate) fn waited_in_vain(&self, presence: &mut Events, inbox: &str) -> BTreeSet<String> {
        let (mut all, mut was_lost) = (BTreeSet::new(), false);
        loop {
            let event = self.runtime.block_on(presence.next_of("presence"));
            let now = waiting_inboxes(&event.data);
            let waits = now.contains(inbox);
            if waits && was_lost {
                return &all - &now;
            }
            was_lost |= !waits;
            all.extend(now);
        }
    }

    fn client(&self) -> Client {
        self.server.unix()
    }

    fn git(&self, args: &[&str]) {
        let person = [
            "-c",
            "user.name=tester",
            "-c",
            "user.email=tester@localhost",
        ];
        self.run(Path::new("git"), &[&person, args].concat(), &[]);
    }
}

/// The inboxes that have a waiter, other than one of the hub itself.
fn waiting_inboxes(presence: &Value) -> BTreeSet<String> {
    let waiters = presence["waiters"].as_array().expect("a list");
    let own = ["file_changed", "socket", "app_server"].map(Value::from);
    let others = waiters.iter();
    let others = others.filter(|it| !own.contains(&it["waiter"]["way"]));
    let inbox = |it: &Value| it["inbox"].as_str().expect("a name").to_owned();
    others.map(inbox).collect()
}

/// Sends a signal to a process of this test.
pub(crate) fn signal(process: i32, name: &str) {
    let args = [format!("-{name}"), process.to_string()];
    let kill = Command::new("kill").args(args).status();
    assert!(kill.expect("kill starts").success());
}

/// Returns the median.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
