//! Session files of Claude Code, written by hand for a process that stands in for it.

use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hub_harness::{Client, Hub, PATIENCE, request, requester};
use serde_json::{Value, json};

/// A hub, and a process whose hooks have registered session `s1`.
struct Fake {
    hub: Hub,
    client: Client,
    process: Child,
    started: String,
    dir: PathBuf,
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Fake {
    async fn start() -> Self {
        let hub = Hub::builder().memory().set("approvals=false").start();
        let config = hub.scratch().join("config");
        let dir = config.join("sessions");
        fs::create_dir_all(&dir).expect("a directory");
        let event = json!({ "hook_event_name": "SessionStart", "session_id": "s1" });
        let start = request(&hub.socket(), "POST", "/hooks/claude?pid=@PID@", &event);
        let process = requester(&[start], &[("CLAUDE_CONFIG_DIR", &config)]);
        let named = hub.client().session("s1").await["process"].clone();
        Self {
            client: hub.client(),
            hub,
            process,
            started: named["started"].to_string(),
            dir,
        }
    }

    async fn hook(&self, name: &str, mut payload: Value) {
        payload["hook_event_name"] = name.into();
        payload["session_id"] = "s1".into();
        let answer = self.client.post_json("/hooks/claude", &payload).await;
        assert!(matches!(answer.status, 200 | 204), "{answer:?}");
    }

    /// The content of the session's file, with a status of this moment.
    fn content(&self, status: &str) -> Value {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("a time");
        let millis = u64::try_from(now.as_millis()).expect("a number");
        json!({
            "pid": self.process.id(), "procStart": self.started, "sessionId": "s1",
            "status": status, "statusUpdatedAt": millis,
        })
    }

    fn write(&self, content: &str) {
        let path = self.dir.join(format!("{}.json", self.process.id()));
        fs::write(path, content).expect("a session file");
    }

    fn says(&self, status: &str) {
        self.write(&self.content(status).to_string());
    }

    fn waits_for(&self, what: &str) {
        let mut content = self.content("waiting");
        content["waitingFor"] = what.into();
        self.write(&content.to_string());
    }

    /// Waits until the session is in this state.
    async fn until(&self, state: &str) {
        let begin = Instant::now();
        loop {
            let session = self.client.read("/sessions/s1").await;
            if session["state"] == state {
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "{session}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Asserts that the session stays in this state for longer than any delay of the bridge.
    async fn stays(&self, state: &str) {
        tokio::time::sleep(Duration::from_millis(3500)).await;
        let session = self.client.read("/sessions/s1").await;
        assert_eq!(session["state"], state, "{session}");
    }

    async fn open_questions(&self) -> usize {
        let all = self.client.read("/questions").await;
        all["questions"].as_array().expect("questions").len()
    }

    async fn prompt(&self) {
        self.hook("UserPromptSubmit", json!({ "prompt": "go" }))
            .await;
        self.says("busy");
    }
}

#[tokio::test]
async fn escape_ends_a_turn_also_while_a_shell_runs() {
    let fake = Fake::start().await;
    for idle in ["idle", "shell"] {
        fake.prompt().await;
        fake.until("working").await;
        fake.says(idle);
        fake.until("waiting").await;
    }
    let all = fake.client.read("/notifications?types=waiting").await;
    let last = &all["notifications"][0];
    assert_eq!(last["msg"], "Agent claude was interrupted");
}

#[tokio::test]
async fn a_dialog_without_a_hook_is_a_question_until_it_is_answered() {
    let fake = Fake::start().await;
    fake.prompt().await;
    for (shown, after, state) in [
        ("permission prompt", "busy", "working"),
        ("input needed", "busy", "working"),
        ("dialog open", "busy", "working"),
        ("permission prompt", "idle", "waiting"),
    ] {
        fake.waits_for(shown);
        fake.until("blocked").await;
        assert_eq!(fake.open_questions().await, 1, "{shown}");
        fake.says(after);
        fake.until(state).await;
        assert_eq!(fake.open_questions().await, 0, "{shown}");
    }
    // A dialog that the person opens between two turns is none of an agent's.
    fake.waits_for("dialog open");
    fake.stays("waiting").await;
    fake.waits_for("input needed");
    fake.until("blocked").await;
}

#[tokio::test]
async fn a_hook_reports_a_dialog_first_and_the_file_does_not_repeat_it() {
    let fake = Fake::start().await;
    fake.prompt().await;
    let input = json!({ "tool_name": "Bash", "tool_input": { "command": "make" } });
    fake.hook("PermissionRequest", input).await;
    fake.waits_for("permission prompt");
    fake.stays("blocked").await;
    let all = fake.client.read("/notifications?types=approval").await;
    let all = all["notifications"].as_array().expect("a list");
    assert_eq!(all.len(), 1, "{all:?}");
    // A hook wins over a file that is older.
    let old = fake.content("busy");
    tokio::time::sleep(Duration::from_millis(5)).await;
    fake.hook("PreToolUse", json!({ "tool_name": "AskUserQuestion" }))
        .await;
    fake.write(&old.to_string());
    fake.stays("blocked").await;
}

#[tokio::test]
async fn only_the_file_of_a_known_session_and_its_own_process_counts() {
    let fake = Fake::start().await;
    fake.prompt().await;
    fake.until("working").await;
    let mut others = Vec::new();
    for (field, value) in [
        ("sessionId", json!("another")),
        ("procStart", json!("1")),
        ("pid", json!(1)),
        ("status", json!("asleep")),
        ("status", json!(7)),
    ] {
        let mut content = fake.content("idle");
        content[field] = value;
        others.push(content.to_string());
    }
    others.push("{".into());
    for other in others {
        fake.write(&other);
        fake.stays("working").await;
    }
    let log = fake.hub.log();
    assert_eq!(log.matches("a session file is ignored").count(), 1, "{log}");
    // A file of a process whose session no hook has reported.
    let mut unknown = fake.content("waiting");
    (unknown["pid"], unknown["waitingFor"]) = (json!(std::process::id()), json!("input needed"));
    unknown["sessionId"] = json!("s2");
    let path = fake.dir.join(format!("{}.json", std::process::id()));
    fs::write(path, unknown.to_string()).expect("a file");
    fake.says("idle");
    fake.until("waiting").await;
    let all = fake.client.read("/sessions").await;
    assert_eq!(all["sessions"].as_array().map(Vec::len), Some(1), "{all}");
    assert_eq!(fake.open_questions().await, 0);
}

#[tokio::test]
async fn a_killed_session_ends_whatever_its_file_says() {
    let mut fake = Fake::start().await;
    fake.prompt().await;
    fake.waits_for("input needed");
    fake.until("blocked").await;
    fake.process.kill().expect("kill");
    fake.process.wait().expect("reap");
    let begin = Instant::now();
    loop {
        let session = fake.client.read("/sessions/s1").await;
        if session["gone"] == true {
            break;
        }
        assert!(begin.elapsed() < PATIENCE, "{session}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(fake.open_questions().await, 0);
    fake.says("idle");
    tokio::time::sleep(Duration::from_millis(500)).await;
    let session = fake.client.read("/sessions/s1").await;
    assert_eq!(session["gone"], true, "{session}");
}
