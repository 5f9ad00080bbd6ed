//! Names of sessions, and the project of a directory.

use hub_harness::{Client, Hub, encoded};
use serde_json::{Value, json};

use crate::memory_hub;

/// Publishes a body from a directory; returns the response.
async fn from_dir(client: &Client, dir: &std::path::Path, body: &'static str) -> Value {
    let dir = encoded(dir.to_str().expect("UTF-8"));
    let said = client.post(&format!("/notify?cwd={dir}")).body(body);
    said.await.expect(201).json()
}

#[tokio::test]
async fn no_session_takes_a_reserved_name() {
    let (_hub, client) = memory_hub();
    for name in ["person", "primary", "all", "unknown", "hub"] {
        let path = format!("/sessions/{name}");
        let put = client.put_json(&path, json!({})).await;
        assert_eq!(put.expect(422).code(), "invalid", "{name}");
        let start = json!({ "hook_event_name": "SessionStart", "session_id": name, "cwd": "/" });
        let hook = client.post_json("/hooks/claude", &start).await;
        assert_eq!(hook.expect(422).code(), "invalid", "{name}");
    }
    let all = client.read("/sessions?all=true").await;
    assert_eq!(all["sessions"], json!([]));
}

#[tokio::test]
async fn the_title_of_a_claude_session_becomes_its_name() {
    let (_hub, client) = memory_hub();
    for (event, title, name) in [
        ("SessionStart", None, "f8-w"),
        ("UserPromptSubmit", Some("Login form"), "Login-form"),
        ("UserPromptSubmit", None, "Login-form"),
    ] {
        let event = json!({ "hook_event_name": event, "prompt": "go", "session_title": title });
        client.hook("name=f8-w", "0b1c-7d", event).await;
        assert_eq!(client.session("0b1c-7d").await["name"], name);
    }
    for name in ["f8-w", "Login-form"] {
        let post = json!({ "to": name, "type": "message", "msg": "hi" });
        let inbox = client.publish(post).await["inboxes"][0].clone();
        let expected = (&json!("0b1c-7d"), &json!("Login-form"));
        assert_eq!((&inbox["name"], &inbox["session"]), expected);
    }
}

#[tokio::test]
async fn a_title_without_ascii_letters_leaves_the_name_to_the_branch() {
    let (_hub, client) = memory_hub();
    for (id, query, title, name) in [
        ("s-1", "name=fix-login", "修复登录问题 2", "fix-login"),
        ("s-2", "name=fix-login", "Исправить вход", "fix-login-2"),
        ("s-3", "", "ログイン", "s-3"),
        ("s-4", "name=main", "Fix: ログイン, now", "Fix-now"),
    ] {
        let start = json!({ "hook_event_name": "SessionStart", "session_title": title });
        client.hook(query, id, start).await;
        let prompt = json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go", "session_title": title });
        client.hook(query, id, prompt).await;
        let session = client.session(id).await;
        assert_eq!(
            (&session["name"], &session["title"]),
            (&json!(name), &json!(title))
        );
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
        let said = from_dir(&client, &dir, body).await;
        assert_eq!(said["project"], project, "{dir:?}");
    }
    for bad in ["src", "/nowhere/at/all", "%00"] {
        let said = client.post(&format!("/notify?cwd={bad}")).body("x");
        assert_eq!(said.await.expect(422).code(), "invalid", "{bad}");
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
        let said = from_dir(&hub.client(), &dir, "x").await;
        assert_eq!(said["project"], project);
    }
}
