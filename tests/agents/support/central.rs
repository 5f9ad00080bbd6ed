//! A hub that everything on a desk finds where it looks for one, with the hooks that a person installs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hub_harness::{Client, Hub, HubBuilder, encoded, until};
use serde_json::{Value, json};

use super::Desk;

/// A hub, and the desk's project as a git repository that its sessions work in.
pub(crate) struct Central<'a> {
    desk: &'a Desk,
    /// The hub.
    pub(crate) hub: Hub,
    runtime: tokio::runtime::Runtime,
}

impl<'a> Central<'a> {
    /// A hub as it is by default.
    pub(crate) fn new(desk: &'a Desk) -> Self {
        Self::with(desk, Hub::builder())
    }

    /// A hub as `builder` says.
    pub(crate) fn with(desk: &'a Desk, builder: HubBuilder) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let hub = builder
            .state_dir(desk.home().join(".local/state/hub"))
            .start();
        let central = Self { desk, hub, runtime };
        central.git(&["init", "--quiet", "--initial-branch=main"]);
        central.git(&["commit", "--quiet", "--allow-empty", "--message=first"]);
        central
    }

    /// Installs Claude Code's hooks as a person does, and asks whether they are.
    pub(crate) fn install(&self, more: &[&str]) {
        self.hubctl(&[&["hooks", "install", "claude"], more].concat());
        let status = self.hubctl(&["hooks", "status", "claude"]);
        let user = status.lines().find(|line| line.contains(" user "));
        assert!(
            user.is_some_and(|it| it.contains(" installed ")),
            "{status}"
        );
    }

    /// Directories of worktrees of the project, each on a branch of its name; all of it is trusted.
    pub(crate) fn worktrees<const N: usize>(&self, names: [&str; N]) -> [PathBuf; N] {
        let dirs = names.map(|name| {
            let dir = self.desk.path(name);
            let path = dir.display().to_string();
            self.git(&["worktree", "add", "--quiet", "-b", name, &path]);
            dir
        });
        let mut trusted: Vec<&Path> = dirs.iter().map(PathBuf::as_path).collect();
        let project = self.desk.project();
        trusted.push(&project);
        self.desk.trust(&trusted);
        dirs
    }

    /// Runs hubctl in the project's directory to its end; what it printed.
    pub(crate) fn hubctl(&self, args: &[&str]) -> String {
        let hubctl = Path::new(env!("CARGO_BIN_EXE_hubctl"));
        self.desk.run(hubctl, args, &[])
    }

    /// The project's name.
    pub(crate) fn project(&self) -> String {
        self.desk.project().display().to_string()
    }

    /// Publishes a notification in the project; its number.
    pub(crate) fn post(&self, mut post: Value) -> u64 {
        post["project"] = json!(self.project());
        self.runtime.block_on(self.client().notify(post))
    }

    /// Publishes a message to an inbox; its number.
    pub(crate) fn tell(&self, to: &str, from: &str, msg: &str) -> u64 {
        self.post(json!({"from": from, "to": to, "type": "message", "msg": msg}))
    }

    /// What a GET in the project answers.
    pub(crate) fn get(&self, path: &str) -> Value {
        let path = format!("{path}?project={}", encoded(&self.project()));
        let answer = self.runtime.block_on(self.client().get(&path).send());
        answer.expect(200).json()
    }

    /// Waits until the session of this name is known; what is known of it.
    pub(crate) fn session(&self, name: &str) -> Value {
        until(&format!("session {name} is known"), || {
            self.find_session(name)
        })
    }

    fn find_session(&self, name: &str) -> Option<Value> {
        let all = self.get("/sessions");
        let all = all["sessions"].as_array().expect("sessions");
        all.iter().find(|it| it["name"] == name).cloned()
    }

    /// Waits until somebody waits at an inbox in this way; the process.
    pub(crate) fn waiter(&self, inbox: &str, way: &str) -> i32 {
        let inbox = match self.find_session(inbox) {
            Some(session) => session["id"].as_str().expect("an id").to_owned(),
            None => inbox.to_owned(),
        };
        until(&format!("somebody waits at {inbox} ({way})"), || {
            let holder = self.holder(&inbox).filter(|it| it["way"] == way)?;
            let name = holder["as"].as_str()?;
            let (_, process) = name.rsplit_once(':')?;
            process.split('-').next()?.parse().ok()
        })
    }

    fn holder(&self, inbox: &str) -> Option<Value> {
        let all = self.get("/inboxes");
        let all = all["inboxes"].as_array().expect("inboxes");
        let found = all.iter().find(|it| it["name"] == inbox)?;
        found.get("waiter").cloned()
    }

    /// Waits until something with this text is said; its number.
    pub(crate) fn said(&self, text: &str) -> u64 {
        until(&format!("{text:?} is said"), || {
            self.find_said(text).first().copied()
        })
    }

    fn find_said(&self, text: &str) -> Vec<u64> {
        let all = self.get("/notifications");
        let all = all["notifications"].as_array().expect("notifications");
        let says = |it: &&Value| it["msg"].as_str().is_some_and(|msg| msg.contains(text));
        let found = all.iter().filter(says);
        found
            .map(|it| it["id"].as_u64().expect("a number"))
            .collect()
    }

    /// Waits until so many things with this text are said; their numbers, newest first.
    pub(crate) fn all_said(&self, text: &str, count: usize) -> Vec<u64> {
        until(&format!("{text:?} is said {count} times"), || {
            let found = self.find_said(text);
            (found.len() == count).then_some(found)
        })
    }

    /// Waits until the session of this name goes by another id as well.
    pub(crate) fn alias(&self, name: &str) {
        until(&format!("session {name} has an alias"), || {
            let session = self.find_session(name)?;
            let aliases = session["aliases"].as_array()?;
            (!aliases.is_empty()).then_some(())
        });
    }

    /// What became of a notification so far, step by step.
    pub(crate) fn trace(&self, id: u64) -> Vec<Value> {
        let answer = self.runtime.block_on(
            self.client()
                .get(&format!("/notifications/{id}/trace"))
                .send(),
        );
        let trace = answer.expect(200).json();
        trace["steps"].as_array().expect("steps").clone()
    }

    /// Waits until one of its steps is in this state.
    pub(crate) fn step(&self, id: u64, state: &str) -> Value {
        until(&format!("{id} is {state}"), || {
            let mut steps = self.trace(id);
            steps.retain(|step| step["state"] == state);
            steps.pop()
        })
    }

    fn client(&self) -> Client {
        self.hub.unix()
    }

    fn git(&self, args: &[&str]) {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=tester",
                "-c",
                "user.email=tester@localhost",
            ])
            .args(args)
            .current_dir(self.desk.project())
            .env_clear()
            .envs(self.desk.env())
            .output()
            .expect("git starts: install it");
        assert!(output.status.success(), "{output:?}");
    }
}

/// Sends a signal to a process of this test.
pub(crate) fn signal(process: i32, name: &str) {
    let kill = Command::new("kill")
        .args([format!("-{name}"), process.to_string()])
        .status();
    assert!(kill.expect("kill starts").success());
}

/// The one in the middle.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
