//! What nobody else may read, write or forge: the token, the state directory, the log.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use hub_harness::{Hub, encoded};
use serde_json::{Value, json};
use tempfile::TempDir;

/// `nobody`, on Linux.
const NOBODY: u32 = 65534;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("a file").mode() & 0o7777
}

/// A temporary directory that others may enter, so that it is the hub's own directory that keeps them out.
fn open_dir() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).expect("our own");
    dir
}

/// Tests with another user need to become one.
fn is_root() -> bool {
    let root = fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0);
    if !root {
        eprintln!("skipped: only root can become another user");
    }
    root
}

#[tokio::test]
async fn whatever_the_umask_only_we_can_read() {
    let lax = ["sh", "-c", "umask 000; exec \"$@\"", "sh"];
    let hub = Hub::builder().under(&lax).start();
    assert_eq!(mode(&hub.state_dir()), 0o700);
    for file in ["token", "auth.header", "hub.sock", "lock"] {
        assert_eq!(mode(&hub.state_dir().join(file)), 0o600, "{file}");
    }
}

#[tokio::test]
async fn another_user_can_neither_connect_nor_read() {
    if !is_root() {
        return;
    }
    let dir = open_dir();
    let hub = Hub::builder().state_dir(dir.path().join("state")).start();
    hub.client().say("secret").await;
    let state = hub.state_dir();
    let path = |name: &str| state.join(name).display().to_string();
    assert!(
        as_nobody(&["curl", "-sf", &format!("{}/healthz", hub.url())]),
        "the test itself works"
    );
    for (what, command) in [
        ("list the directory", vec!["ls", &path("")]),
        ("read the token", vec!["cat", &path("token")]),
        ("read the journal", vec!["ls", &path("journal")]),
        (
            "use the socket",
            vec![
                "curl",
                "-sf",
                "--unix-socket",
                &path("hub.sock"),
                "http://localhost/healthz",
            ],
        ),
        (
            "read without a token",
            vec!["curl", "-sf", &format!("{}/notifications", hub.url())],
        ),
    ] {
        assert!(!as_nobody(&command), "another user can {what}");
    }
}

fn as_nobody(command: &[&str]) -> bool {
    let (user, group) = (format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"));
    let status = Command::new("setpriv")
        .args([&user, &group, "--clear-groups", "--"])
        .args(command)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.expect("setpriv is installed").success()
}

#[tokio::test]
async fn a_state_directory_that_others_could_have_made_is_refused() {
    let dir = open_dir();
    let link = dir.path().join("link");
    let real = dir.path().join("real");
    fs::create_dir(&real).expect("our own");
    symlink(&real, &link).expect("our own");
    refuses(&link, "symbolic link");
    fs::set_permissions(&real, Permissions::from_mode(0o777)).expect("our own");
    refuses(&real, "open to other users");
    fs::set_permissions(&real, Permissions::from_mode(0o700)).expect("our own");
    if is_root() {
        std::os::unix::fs::chown(&real, Some(NOBODY), None).expect("root may");
        refuses(&real, "belongs to user");
    }
}

fn refuses(dir: &Path, why: &str) {
    let refused = Hub::builder().state_dir(dir).try_start();
    let refused = refused.expect_err("the directory is refused");
    assert!(refused.stderr.contains(why), "{refused}");
    assert!(!dir.join("token").exists());
}

#[tokio::test]
async fn a_second_hub_on_the_same_directory_or_port_says_who_is_there() {
    let hub = Hub::builder().memory().start();
    let second = Hub::builder().state_dir(hub.state_dir()).try_start();
    let second = second.expect_err("the directory is in use");
    assert!(
        second.stderr.contains(&format!("process {}", hub.pid())),
        "{second}"
    );
    let third = Hub::builder()
        .arg("--set")
        .arg(format!("listen={}", hub.port()));
    let port = format!("127.0.0.1:{}", hub.port());
    let third = third.try_start().err().map(|error| error.stderr);
    assert!(third.is_some(), "{port}");
    hub.client().say("undisturbed").await;
}

#[tokio::test]
async fn the_token_appears_nowhere_else() {
    let hub = Hub::builder().set("log.level=trace").start();
    let token = hub.token();
    let client = hub.client();
    client.say("hello").await;
    for path in [
        "/nowhere",
        "/notifications/x",
        "/hello?nonce=0011223344556677",
    ] {
        let answer = client.get(path).send().await;
        assert!(!answer.text().contains(&token), "{path}");
    }
    client.get(&format!("/{token}")).send().await.expect(404);
    assert!(!hub.log().contains(&token), "{}", hub.log());
    if cfg!(target_os = "linux") {
        for of in ["cmdline", "environ"] {
            let text = fs::read(format!("/proc/{}/{of}", hub.pid())).expect("our own process");
            assert!(!String::from_utf8_lossy(&text).contains(&token), "{of}");
        }
    }
}

#[tokio::test]
async fn nothing_that_is_said_makes_a_log_line_of_its_own() {
    let fake = "\n{\"level\":\"ERROR\",\"message\":\"fake\"}\n\u{1b}[31m";
    let hub = Hub::builder()
        .set("log.level=trace")
        .set("log.format=json")
        .start();
    let client = hub.client();
    for post in [
        json!({ "msg": fake }),
        json!({ "msg": "x", "from": fake }),
        json!({ "msg": "x", "title": fake }),
    ] {
        client.post("/notify").json(&post).send().await;
    }
    client
        .post("/notify")
        .header("idempotency-key", "a key")
        .body(fake)
        .send()
        .await;
    let encoded = encoded(fake);
    client
        .get(&format!("/{encoded}?since={encoded}"))
        .send()
        .await
        .expect(404);
    client
        .delete(&format!("/inboxes/{encoded}"))
        .send()
        .await
        .expect(422);
    let mut raw = hub.raw();
    raw.send("\u{1b}[31m\r\nfake\r\n\r\n");
    raw.answer();
    let log = hub.log();
    assert!(!log.contains('\u{1b}'), "{log}");
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).expect("every line is one of ours");
        assert_ne!(line["message"], "fake");
        assert!(line["timestamp"].is_string(), "{line}");
    }
}
