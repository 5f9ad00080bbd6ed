//! A hub, and the agent of the test in a project of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use hub_harness::{Client, Hub, Marker, Program, binary, encoded, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// The hub and its surroundings. Dropping it ends every process that it started.
pub(crate) struct Scene {
    pub(crate) hub: Hub,
    runtime: tokio::runtime::Runtime,
    marker: Marker,
    dir: tempfile::TempDir,
}

impl Scene {
    /// Starts a hub without wake limits.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("home")).expect("a directory");
        let builder = Hub::builder().set("wake.per_sender_per_minute=1000");
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        Self {
            hub: builder.start(),
            runtime: runtime.enable_all().build().expect("a runtime"),
            marker: Marker::new(dir.path()),
            dir,
        }
    }

    /// A path in the directory of the test.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("a path").join(name)
    }

    /// The command that starts the agent of the test.
    pub(crate) fn agent(more: &[&str]) -> Vec<String> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/acp/agent.mjs");
        let words = ["node", script].into_iter().chain(more.iter().copied());
        words.map(str::to_owned).collect()
    }

    /// Starts `hubctl acp` with these arguments.
    pub(crate) fn acp(&self, args: &[&str], agent: &[String]) -> Program {
        let mut command = self.hubctl();
        command.arg("acp").args(args).args(agent);
        Program::start(command)
    }

    /// Starts the agent of the test with the hub as its client.
    pub(crate) fn run(&self, more: &[&str]) -> Program {
        let program = self.acp(&["run", "--name", "fig", "--"], &Self::agent(more));
        program.until("hub-acp: node is session fig");
        program
    }

    /// A `hubctl` in the surroundings of the test.
    pub(crate) fn hubctl(&self) -> Command {
        let mut command = Command::new(binary("hubctl"));
        let (name, value) = self.marker.env();
        command.env_clear().env(name, value);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("HOME", self.path("home"))
            .env("HUB_PROJECT", "acp");
        command.env("HUB_STATE_DIR", self.hub.state_dir());
        command
            .env("AGENT_LOG", self.path("log"))
            .env("AGENT_PID", self.path("pid"));
        command.current_dir(self.dir.path());
        command
    }

    /// Runs `hubctl` to its end; returns its stdout.
    pub(crate) fn hubctl_prints(&self, args: &[&str]) -> String {
        let output = self.hubctl().args(args).output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The lines that the agent got, as JSON.
    pub(crate) fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("log")).unwrap_or_default();
        text.lines()
            .map(|it| serde_json::from_str(it).expect("JSON"))
            .collect()
    }

    /// Waits until the agent has got a message for which this is true; returns it.
    pub(crate) fn got(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        until(&format!("the agent gets {what}"), || {
            self.log().into_iter().find(&is_it)
        })
    }

    /// The session of the agent.
    pub(crate) fn session(&self) -> Value {
        until("the session is known", || self.find_session(|_| true))
    }

    /// Sends a signal to the process that runs the session.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = self.session()["process"]["pid"].as_i64().expect("a number");
        send(pid, signal);
    }

    /// Sends a signal to the hub.
    pub(crate) fn signal_hub(&self, signal: Signal) {
        send(self.hub.pid().into(), signal);
    }

    /// Waits until the session has this state.
    pub(crate) fn state(&self, state: &str) {
        until(&format!("the session is {state}"), || {
            self.find_session(|it| it["state"] == state)
        });
    }

    fn find_session(&self, is_it: impl Fn(&Value) -> bool) -> Option<Value> {
        let all = self.get("/sessions?project=acp&all=true");
        let all = all["sessions"].as_array()?.clone();
        assert!(all.len() < 2, "{all:?}");
        all.into_iter().find(is_it)
    }

    /// Waits for the only need of the session that asks; returns all of it.
    pub(crate) fn need(&self) -> Value {
        let need = until("it needs the person", || {
            let needs = self.get("/needs")["needs"].as_array()?.clone();
            let kinds = ["permission", "form", "plan", "question"].map(Value::from);
            let asks = |it: &Value| {
                kinds.contains(&it["kind"]) && it["settled"].is_null() && it["session"].is_string()
            };
            let mut asks = needs.into_iter().filter(asks);
            let need = asks.next()?;
            assert!(asks.next().is_none(), "one need at a time");
            Some(need)
        });
        self.get(&format!("/needs/{}", need["id"].as_str().expect("an id")))
    }

    /// Waits until nothing asks the person.
    pub(crate) fn until_nothing_asks(&self) {
        until("nothing asks", || {
            let questions = self.get("/questions?project=acp");
            questions["questions"].as_array()?.is_empty().then_some(())
        });
    }

    /// Answers a need as a person on the dashboard.
    pub(crate) fn answer(&self, need: &Value, answer: &Value) {
        let path = format!("/needs/{}/answer", need["id"].as_str().expect("an id"));
        self.runtime.block_on(async {
            let person = self.hub.person().await;
            person.post_json(&path, answer).await.expect(201);
        });
    }

    /// Sends the session a message; returns its id.
    pub(crate) fn notify(&self, msg: &str) -> u64 {
        let to = self.session()["id"].clone();
        let post =
            json!({"project": "acp", "from": "tester", "to": to, "type": "message", "msg": msg});
        self.runtime.block_on(self.client().notify(post))
    }

    /// Lets a session ask the person.
    pub(crate) fn asks(&self, session: &str, msg: &str) {
        let post = json!({
            "project": "acp", "from": session, "to": "person", "type": "question", "msg": msg,
        });
        self.runtime.block_on(self.client().notify(post));
    }

    /// Waits until a notification is acknowledged.
    pub(crate) fn acked(&self, id: u64) {
        until("it is acknowledged", || {
            let trace = self.get(&format!("/notifications/{id}/trace"));
            let steps = trace["steps"].as_array()?;
            steps.iter().any(|it| it["state"] == "acked").then_some(())
        });
    }

    /// Polls for the session from another process than its own; returns the code of the refusal.
    pub(crate) fn refused_waiter(&self, way: &str) -> String {
        let id = self.session()["id"].as_str().expect("an id").to_owned();
        let query = format!("project=acp&session={id}&way={way}&as=module:{id}&timeout=0");
        let client = self.client();
        let asked = async { client.get(&format!("/wait?{query}")).await.code() };
        self.runtime.block_on(asked)
    }

    /// Waits until a waiter of this way is at the session's inbox.
    pub(crate) fn waiter(&self, way: &str) {
        until("it can be woken", || {
            self.find_session(|it| it["waiter"]["way"] == way)
        });
    }

    /// The texts of the notifications of the project, the newest first.
    pub(crate) fn published(&self) -> Vec<String> {
        let page = self.get("/notifications?project=acp");
        let all = page["notifications"].as_array().expect("a list");
        all.iter()
            .map(|it| it["msg"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Waits for a notification that contains this text.
    pub(crate) fn says(&self, text: &str) {
        self.all_say(text, 1);
    }

    /// Waits for this number of notifications that contain this text.
    pub(crate) fn all_say(&self, text: &str, count: usize) {
        until(&format!("{text:?} is said {count} times"), || {
            let published = self.published();
            let said = published.iter().filter(|it| it.contains(text));
            (said.count() >= count).then_some(())
        });
    }

    /// Reports an event of the agent's own hooks; returns the answer.
    pub(crate) fn hook(&self, agent: &str, payload: &Value) -> Value {
        let path = format!("/hooks/{agent}?project=acp");
        self.runtime.block_on(async {
            let answer = self.client().post_json(&path, payload).await;
            serde_json::from_slice(&answer.body).unwrap_or_default()
        })
    }

    /// Whether a process of the test runs with this text in its command line.
    pub(crate) fn runs(&self, text: &str) -> bool {
        self.marker
            .processes()
            .iter()
            .any(|it| it.command.contains(text))
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.runtime.block_on(self.client().read(path))
    }

    fn client(&self) -> Client {
        self.hub.unix()
    }
}

fn send(pid: i64, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a pid"), signal).expect("it runs");
}

/// The path of a session of the project.
pub(crate) fn session_path(id: &str) -> String {
    format!("/sessions/{}?project=acp", encoded(id))
}

/// Whether a file exists.
pub(crate) fn exists(path: &Path) -> Option<()> {
    path.exists().then_some(())
}
