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
        let other = json!({ "hook_event_name": "SessionStart", "session_id": "other", "cwd": "/" });
        for (query, start) in [
            ("", &start),
            ("?session=other", &start),
            (&format!("?session={name}"), &other),
        ] {
            let hook = client
                .post_json(&format!("/hooks/claude{query}"), start)
                .await;
            assert_eq!(hook.expect(422).code(), "invalid", "{name}{query}");
        }
        let wait = client.get(&format!("/wait?session={name}&timeout=0")).await;
        assert_eq!(wait.expect(422).code(), "invalid", "{name}");
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

#[tokio::test]
async fn a_directory_of_another_machine_is_not_taken_for_the_hubs_own() {
    use std::os::unix::fs::MetadataExt;
    let (hub, client) = memory_hub();
    let top = std::fs::canonicalize(hub.scratch()).expect("a real path");
    let app = top.join("app");
    repository(
        &app,
        "[remote \"origin\"]\n\turl = git@example.org:shop/app.git\n",
    );
    let meta = std::fs::metadata(&app).expect("a directory");
    let path = format!("/directory?cwd={}", encoded(app.to_str().expect("UTF-8")));
    let own = format!("{path}&id={}-{}", meta.dev(), meta.ino());
    let expected = json!({ "project": app, "source": "main_worktree", "main": true, "branch": "main",
        "repository": "https://example.org/shop/app" });
    assert_eq!(client.read(&own).await, expected);
    let other = client.get(&format!("{path}&id=1-{}", meta.ino())).await;
    assert_eq!(other.expect(422).code(), "invalid");
}

#[tokio::test]
async fn a_directory_that_is_gone_keeps_the_project_of_the_session_that_ran_there() {
    let (hub, client) = memory_hub();
    let gone = hub.scratch().join("gone");
    let start = json!({ "hook_event_name": "SessionStart", "cwd": gone });
    client.hook("project=shop", "s1", start).await;
    let gone = encoded(gone.to_str().expect("UTF-8"));
    let expected = json!({ "project": "shop", "source": "session" });
    for query in [
        format!("cwd={gone}"),
        "cwd=/elsewhere/too&session=s1".to_owned(),
        "session=s1".to_owned(),
    ] {
        let found = client.read(&format!("/directory?{query}")).await;
        assert_eq!(found, expected, "{query}");
    }
    let said = client.post(&format!("/notify?cwd={gone}")).body("x").await;
    assert_eq!(said.expect(201).json()["project"], "shop");
    let unknown = client.get("/directory?cwd=/elsewhere/too&session=s2").await;
    assert_eq!(unknown.expect(422).code(), "invalid");
}

#[tokio::test]
async fn a_project_that_git_cannot_tell_is_refused_with_the_reason() {
    let (hub, client) = memory_hub();
    let app = std::fs::canonicalize(hub.scratch()).expect("a real path");
    let app = app.join("app");
    for (config, reason) in [
        ("[core\n", "git: bad config line 1"),
        (
            "[hub]\n\tproject = \"a\\tb\"\n",
            "git config hub.project: invalid project",
        ),
    ] {
        repository(&app, config);
        let path = format!("/directory?cwd={}", encoded(app.to_str().expect("UTF-8")));
        let refused = client.get(&path).await.expect(422);
        let detail = refused.json()["detail"].to_string();
        assert!(detail.contains(reason), "{detail}");
    }
}
