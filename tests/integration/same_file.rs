//! Alerts about files that two sessions edit.

use std::path::{Path, PathBuf};
use std::process::Command;

use hub_harness::{Client, PATIENCE};
use serde_json::{Value, json};

use crate::{disk_hub, hub_with, memory_hub};

/// A repository with two worktrees, `main` and `side`.
struct Repository(tempfile::TempDir);

impl Repository {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let git = |dir: &Path, args: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]);
            git.env("GIT_CONFIG_GLOBAL", "/dev/null");
            let done = git.args(args).current_dir(dir).output().expect("git runs");
            assert!(done.status.success(), "git {args:?}: {done:?}");
        };
        git(dir.path(), &["init", "-q", "main"]);
        let main = dir.path().join("main");
        git(&main, &["commit", "-q", "--allow-empty", "-m", "one"]);
        git(&main, &["worktree", "add", "-q", "../side"]);
        for worktree in ["main", "side"] {
            let src = dir.path().join(worktree).join("src");
            std::fs::create_dir(src).expect("a directory");
        }
        Self(dir)
    }

    fn path(&self, path: &str) -> PathBuf {
        let root = std::fs::canonicalize(self.0.path());
        root.expect("it exists").join(path)
    }

    /// Reports that a session's tool has edited a file.
    async fn edit(&self, client: &Client, session: &str, path: &str) -> Value {
        let edit = json!({
            "hook_event_name": "PostToolUse", "tool_name": "Edit",
            "tool_input": { "file_path": self.path(path) },
        });
        client.hook("", session, edit).await
    }
}

/// The alerts so far, newest first.
async fn alerts(client: &Client) -> Value {
    let said = client.read("/notifications?from=hub&types=message").await;
    said["notifications"].clone()
}

/// Waits until there are this many alerts.
async fn until_alerts(client: &Client, count: usize) -> Value {
    let all = async {
        loop {
            let found = alerts(client).await;
            if found.as_array().expect("a list").len() >= count {
                return found;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, all).await.expect("alerts")
}

/// The sessions that were alerted, by name.
fn receivers(alerts: &Value) -> Vec<&str> {
    let all = alerts.as_array().expect("a list").iter();
    let mut names: Vec<&str> = all.filter_map(|it| it["to"].as_str()).collect();
    names.sort_unstable();
    names
}

/// Lets two other sessions edit one file, and returns all alerts once both are alerted: the hub has worked since.
async fn settle(repository: &Repository, client: &Client, count: usize) -> Value {
    repository.edit(client, "x1", "main/last").await;
    repository.edit(client, "x2", "main/last").await;
    until_alerts(client, count + 2).await
}

#[tokio::test]
async fn both_sessions_are_alerted_once_also_across_worktrees() {
    let (repository, (_hub, client)) = (Repository::new(), memory_hub());
    repository.edit(&client, "w1", "main/src/a.rs").await;
    repository.edit(&client, "w2", "side/src/b.rs").await;
    repository.edit(&client, "w2", "side/src/a.rs").await;
    let told = until_alerts(&client, 2).await;
    let mut pairs: Vec<(&str, &str)> = told
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| {
            (
                it["to"].as_str().expect("a name"),
                it["msg"].as_str().expect("a text"),
            )
        })
        .collect();
    pairs.sort_unstable();
    let side = format!(
        "session w2 also edited src/a.rs just now, in worktree {}",
        repository.path("side").display()
    );
    let main = format!(
        "session w1 also edited src/a.rs just now, in worktree {}",
        repository.path("main").display()
    );
    assert_eq!(pairs, [("w1", &*side), ("w2", &*main)]);
    for (session, path) in [("w1", "main"), ("w2", "side"), ("w1", "main")] {
        repository
            .edit(&client, session, &format!("{path}/src/a.rs"))
            .await;
    }
    let all = settle(&repository, &client, 2).await;
    assert_eq!(
        all.as_array().expect("a list").len(),
        4,
        "never twice: {all}"
    );
}

#[tokio::test]
async fn an_alert_rides_along_with_the_next_hook() {
    let (repository, (_hub, client)) = (Repository::new(), memory_hub());
    repository.edit(&client, "w1", "main/src/a.rs").await;
    repository.edit(&client, "w2", "main/src/a.rs").await;
    let told = until_alerts(&client, 2).await;
    for it in told.as_array().expect("a list") {
        let why = client.read(&format!("/why/{}", it["id"])).await;
        assert_eq!(why["reason"], "rides_along", "{why}");
        assert!(
            why["summary"].to_string().contains("edited the same file"),
            "{why}"
        );
    }
    let told = client
        .hook("", "w1", json!({ "hook_event_name": "PostToolUse" }))
        .await;
    let told = told.to_string();
    assert!(
        told.contains("also edited src/a.rs just now, in the same worktree"),
        "{told}"
    );
}

#[tokio::test]
async fn no_alert_is_sent_about_other_files_reads_ended_sessions_or_if_it_is_turned_off() {
    let (repository, (_hub, client)) = (Repository::new(), memory_hub());
    repository.edit(&client, "w1", "main/src/a.rs").await;
    let read = json!({
        "hook_event_name": "PostToolUse", "tool_name": "Read",
        "tool_input": { "file_path": repository.path("main/src/a.rs") },
    });
    client.hook("", "w2", read).await;
    repository.edit(&client, "w2", "main/a.rs").await;
    let end = json!({ "hook_event_name": "SessionEnd", "reason": "exit" });
    client.hook("", "w1", end).await;
    repository.edit(&client, "w3", "main/src/a.rs").await;
    let all = settle(&repository, &client, 0).await;
    assert_eq!(receivers(&all), ["x1", "x2"], "{all}");

    let (_hub, off) = hub_with(&["same_file_alerts=false"]);
    repository.edit(&off, "w1", "main/src/a.rs").await;
    repository.edit(&off, "w2", "main/src/a.rs").await;
    repository.edit(&off, "w1", "main/src/a.rs").await;
    assert_eq!(alerts(&off).await, json!([]));
}

#[tokio::test]
async fn an_edit_that_concerns_nobody_writes_nothing_and_a_restart_repeats_no_alert() {
    let (repository, (mut hub, client)) = (Repository::new(), disk_hub());
    repository.edit(&client, "w1", "main/src/a.rs").await;
    let head = client.head().await;
    repository.edit(&client, "w1", "main/src/a.rs").await;
    repository.edit(&client, "w1", "main/src/b.rs").await;
    assert_eq!(client.head().await, head);
    repository.edit(&client, "w2", "main/src/a.rs").await;
    until_alerts(&client, 2).await;
    hub.restart();
    for session in ["w1", "w2", "w1"] {
        repository.edit(&client, session, "main/src/a.rs").await;
    }
    let all = settle(&repository, &client, 2).await;
    assert_eq!(
        all.as_array().expect("a list").len(),
        4,
        "never twice: {all}"
    );
}

/// A payload that the real agent sent, with the project's directory in place of the recorded one.
fn recorded(repository: &Repository, agent: &str, name: &str) -> Value {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/hooks");
    let text = std::fs::read_to_string(root.join(agent).join(format!("{name}.json")));
    let main = repository.path("main").display().to_string();
    let text = text.expect("a fixture").replace("/src/project", &main);
    serde_json::from_str(&text).expect("JSON")
}

#[tokio::test]
async fn recorded_edits_of_opencode_pi_and_copilot_alert_both_sessions() {
    for (agent, name, event) in [
        ("opencode", "tool.execute.after.1", ""),
        ("opencode", "tool.execute.after.2", ""),
        ("pi", "tool.execute.after", ""),
        ("copilot", "postToolUse", "postToolUse"),
    ] {
        let (repository, (_hub, client)) = (Repository::new(), memory_hub());
        repository.edit(&client, "w1", "main/a.txt").await;
        let mut payload = recorded(&repository, agent, name);
        if !event.is_empty() {
            // `hubctl hook copilot --event postToolUse` adds it.
            payload["hookEventName"] = json!(event);
        }
        let path = format!("/hooks/{agent}");
        client.post_json(&path, &payload).await;
        let told = until_alerts(&client, 2).await;
        let text = told.to_string();
        assert!(
            text.contains("session w1 also edited a.txt just now"),
            "{agent} {name}: {text}"
        );
    }
}

#[tokio::test]
async fn reads_failures_and_other_shapes_of_these_agents_alert_nobody() {
    let (repository, (_hub, client)) = (Repository::new(), memory_hub());
    repository.edit(&client, "w1", "main/a.txt").await;
    let file = repository.path("main/a.txt");
    let opencode = |tool: &str, input: Value| json!({ "hook_event_name": "tool.execute.after", "session_id": "w2", "tool_name": tool, "tool_input": input });
    let copilot = |tool: &str, args: Value, result: &str| json!({ "hookEventName": "postToolUse", "sessionId": "w3", "toolName": tool, "toolArgs": args, "toolResult": { "resultType": result } });
    for (agent, payload) in [
        ("opencode", opencode("read", json!({ "filePath": file }))),
        ("opencode", opencode("write", json!({ "filePath": 1 }))),
        ("pi", opencode("write", json!("x"))),
        (
            "copilot",
            copilot("view", json!({ "path": file }), "success"),
        ),
        (
            "copilot",
            copilot("edit", json!({ "path": file }), "failure"),
        ),
        ("copilot", copilot("edit", json!("{"), "success")),
    ] {
        client.post_json(&format!("/hooks/{agent}"), &payload).await;
    }
    let all = settle(&repository, &client, 0).await;
    assert_eq!(receivers(&all), ["x1", "x2"], "{all}");
    // The arguments may be a text with JSON, and a patch names several files.
    let args = json!({ "path": file }).to_string();
    let edit = copilot("edit", json!(args), "success");
    client.post_json("/hooks/copilot", &edit).await;
    until_alerts(&client, 4).await;
    let patch = format!("*** Add File: other\n*** Update File: {}", file.display());
    let patch = opencode("patch", json!({ "patchText": patch }));
    client.post_json("/hooks/opencode", &patch).await;
    until_alerts(&client, 6).await;
}
