//! A hub, a tmux server, and hub-top in one of its terminals.

use std::path::Path;
use std::process::Command;

use hub_harness::{Client, Hub, Pane, Tmux, binary};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// Everything that a test needs. The panes end before the hub.
pub(crate) struct Stage {
    pub(crate) tmux: Tmux,
    pub(crate) hub: Hub,
    pub(crate) client: Client,
    runtime: Runtime,
    dir: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = std::env::var("PATH").unwrap_or_default();
        let tmux = Tmux::new(dir.path(), [("PATH", path.as_str()), ("LANG", "C.UTF-8")]);
        let hub = Hub::start();
        let client = hub.client();
        let runtime = runtime();
        Self {
            tmux,
            hub,
            client,
            runtime,
            dir,
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Waits for a call of the client.
    pub(crate) fn call<T>(&self, call: impl Future<Output = T>) -> T {
        self.runtime.block_on(call)
    }

    /// Publishes a question of the session `from`; returns its id.
    pub(crate) fn ask(&self, from: &str, msg: &str, options: &[&str]) -> u64 {
        let post = json!({ "type": "question", "from": from, "msg": msg, "options": options });
        self.call(self.client.notify(post))
    }

    /// Starts a permission hook of the session `w1`, which returns the hub's reply to the agent.
    pub(crate) fn ask_permission(&self, command: &str) -> std::thread::JoinHandle<Value> {
        self.ask_tool("Bash", &json!({ "command": command }))
    }

    /// Starts a permission hook of the session `w1` for any tool.
    pub(crate) fn ask_tool(&self, tool: &str, input: &Value) -> std::thread::JoinHandle<Value> {
        let event = json!({ "hook_event_name": "PermissionRequest", "tool_name": tool,
            "tool_input": input });
        let client = self.hub.client();
        std::thread::spawn(move || runtime().block_on(client.hook("", "w1", event)))
    }

    /// Starts `hubctl top`, and waits until it shows the hub.
    pub(crate) fn top(&self) -> Pane {
        let socket = self.hub.socket().display().to_string();
        let command = [program("hubctl"), "--socket".into(), socket, "top".into()];
        let pane = self.tmux.start("top", self.dir(), &[], &command);
        pane.until("the hub is shown", |text| {
            text.contains("hub top ·") && !text.contains("connecting")
        });
        pane
    }
}

/// The path of a program of this build.
pub(crate) fn program(name: &str) -> String {
    binary(name).display().to_string()
}

/// Presses a key until the terminal shows its effect: just after the list has moved, keys that decide are ignored.
pub(crate) fn decide(pane: &Pane, key: &str, effect: &str) {
    let shows = |shown: &str| shown.contains(effect);
    pane.press_until(key, &format!("{effect:?} is shown"), shows);
}

/// Sends a signal such as `TERM` to a process.
pub(crate) fn signal(name: &str, pid: u32) {
    let mut kill = Command::new("kill");
    kill.arg(format!("-{name}")).arg(pid.to_string());
    assert!(kill.status().expect("kill").success());
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}
