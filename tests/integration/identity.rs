//! Names of sessions, and the project of a directory.

use hub_harness::{Client, Hub};
use serde_json::{Value, json};

use crate::memory_hub;

async fn sessions(client: &Client) -> Vec<Value> {
    let list = client.get("/sessions?all=true").send().await;
    list.expect(200).json()["sessions"]
        .as_array()
        .expect("a list")
        .clone()
}

#[tokio::test]
async fn no_session_takes_a_reserved_name() {
    let (_hub, client) = memory_hub();
    for name in ["person", "primary", "all", "unknown", "hub"] {
        let put = client.put(&format!("/sessions/{name}")).json(&json!({}));
        assert_eq!(put.send().await.expect(422).code(), "invalid", "{name}");
        let start = json!({ "hook_event_name": "SessionStart", "session_id": name, "cwd": "/" });
        let hook = client.post_json("/hooks/claude", &start).await;
        assert_eq!(hook.expect(422).code(), "invalid", "{name}");
    }
    assert!(sessions(&client).await.is_empty());
}

#[tokio::test]
async fn the_title_of_a_claude_session_becomes_its_name() {
    let (_hub, client) = memory_hub();
    let tell = async |event: &str, title: Option<&str>| {
        let payload = json!({
            "hook_event_name": event, "session_id": "0b1c-7d", "cwd": "/r/f8-w", "prompt": "go", "session_title": title,
        });
        let hook = client.post("/hooks/claude?name=f8-w").json(&payload);
        assert!(hook.send().await.status < 300);
        sessions(&client).await[0]["name"].clone()
    };
    assert_eq!(tell("SessionStart", None).await, "f8-w");
    assert_eq!(
        tell("UserPromptSubmit", Some("Login form")).await,
        "Login-form"
    );
    assert_eq!(tell("UserPromptSubmit", None).await, "Login-form");
    for name in ["f8-w", "Login-form"] {
        let touched = client
            .post(&format!("/notify?to={name}&type=message"))
            .body("hi");
        let touched = touched.send().await.expect(201).json();
        assert_eq!(touched["inboxes"][0]["name"], "0b1c-7d", "{name}");
        assert_eq!(touched["inboxes"][0]["session"], "Login-form");
    }
}

/// Creates the files of a repository in `dir`, without running git.
fn repository(dir: &std::path::Path, config: &str) {
    for part in ["objects", "refs", "worktrees/side"] {
        std::fs::create_dir_all(dir.join(".git").join(part)).expect("a directory");
    }
    std::fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    std::fs::write(dir.join(".git/config"), config).expect("a file");
}

#[tokio::test]
async fn a_directory_belongs_to_the_project_of_its_repository() {
    let (hub, client) = memory_hub();
    let top = std::fs::canonicalize(hub.scratch()).expect("a real path");
    let (app, side, named) = (top.join("my app"), top.join("side"), top.join("named"));
    repository(&app, "[core]\n\tbare = false\n");
    repository(&named, "[hub]\n\tproject = shop\n");
    for dir in [app.join("src/deep"), side.clone(), top.join("plain")] {
        std::fs::create_dir_all(dir).expect("a directory");
    }
    let git_dir = app.join(".git/worktrees/side");
    let link = format!("gitdir: {}\n", git_dir.display());
    std::fs::write(side.join(".git"), link).expect("a file");
    std::fs::write(git_dir.join("HEAD"), "ref: refs/heads/side\n").expect("a file");
    std::fs::write(git_dir.join("commondir"), "../..\n").expect("a file");
    let main = app.to_str().expect("UTF-8");
    for (dir, body, project) in [
        (app.join("src/deep"), "backup done", main),
        (side, r#"{"msg":"x"}"#, main),
        (named.clone(), "x", "shop"),
        (top.join("plain"), "x", "default"),
        (named, r#"{"msg":"x","project":"given"}"#, "given"),
    ] {
        let dir = hub_harness::encoded(dir.to_str().expect("UTF-8"));
        let said = client.post(&format!("/notify?cwd={dir}")).body(body);
        assert_eq!(
            said.send().await.expect(201).json()["project"],
            project,
            "{dir}"
        );
    }
    for bad in ["src", "/nowhere/at/all", "%00"] {
        let said = client.post(&format!("/notify?cwd={bad}")).body("x");
        assert_eq!(said.send().await.expect(422).code(), "invalid", "{bad}");
    }
}

#[tokio::test]
async fn a_directory_belongs_to_the_project_of_the_persons_git_configuration() {
    let config = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(config.path(), "[hub]\n\tproject = mine\n").expect("a file");
    let hub = Hub::builder()
        .memory()
        .env("GIT_CONFIG_GLOBAL", config.path())
        .start();
    let top = std::fs::canonicalize(hub.scratch()).expect("a real path");
    let (app, named) = (top.join("app"), top.join("named"));
    repository(&app, "[core]\n\tbare = false\n");
    repository(&named, "[hub]\n\tproject = shop\n");
    for (dir, project) in [(app, "mine"), (named, "shop"), (top, "mine")] {
        let dir = hub_harness::encoded(dir.to_str().expect("UTF-8"));
        let said = hub.client().post(&format!("/notify?cwd={dir}")).body("x");
        assert_eq!(said.send().await.expect(201).json()["project"], project);
    }
}
