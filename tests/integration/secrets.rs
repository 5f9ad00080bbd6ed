//! Secrets: the token, the state directory and the log, which no other user may read, write or forge.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use hub_harness::{Hub, encoded, until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{hub_with, memory_hub};

/// The uid of `nobody` on Linux.
const NOBODY: u32 = 65534;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("a file").mode() & 0o7777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("our own");
}

/// Creates a temporary directory that other users may enter, so that only the hub's own directory keeps them out.
fn open_dir() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    chmod(dir.path(), 0o755);
    dir
}

/// Returns whether this process is root, which tests with another user need.
pub(crate) fn is_root() -> bool {
    let root = fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0);
    if !root {
        eprintln!("skipped: only root can become another user");
    }
    root
}

#[tokio::test]
async fn with_any_umask_only_the_owner_can_read() {
    let lax = ["sh", "-c", "umask 000; exec \"$@\"", "sh"];
    let hub = Hub::builder().under(&lax).start();
    hub.client().say("stored").await;
    assert_eq!(mode(&hub.state_dir()), 0o700);
    for file in ["token", "auth.header", "hub.sock", "lock"] {
        assert_eq!(mode(&hub.state_dir().join(file)), 0o600, "{file}");
    }
    assert!(hub.state_dir().join("journal/db").exists());
    demand_closed(&hub.state_dir());
}

/// Panics if other users have any permission on a file below `dir`.
fn demand_closed(dir: &Path) {
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
        if path.is_dir() {
            demand_closed(&path);
        }
    }
}

#[tokio::test]
async fn another_user_who_reaches_the_socket_is_refused_all_the_same() {
    if !is_root() {
        return;
    }
    let dir = open_dir();
    let hub = Hub::builder().state_dir(dir.path().join("state")).start();
    // The directory is opened to other users, so that only the check of the peer's uid keeps them out.
    chmod(&hub.state_dir(), 0o755);
    chmod(&hub.socket(), 0o666);
    let socket = hub.socket().display().to_string();
    let health = "http://localhost/healthz";
    let ask = ["curl", "-sf", "--unix-socket", &socket, health];
    let own = Command::new(ask[0]).args(&ask[1..]).output();
    assert!(own.expect("curl").status.success());
    assert!(!as_nobody(&ask), "another user can use the socket");
    assert!(hub.log().contains("refused another user"), "{}", hub.log());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_code_that_another_user_saw_signs_in_nobody_but_its_owner() {
    if !is_root() {
        return;
    }
    // Root may sign in to any hub, so here the hub and its owner are another user.
    let dir = open_dir();
    chmod(dir.path(), 0o777);
    let owner = [
        "setpriv",
        "--reuid=65533",
        "--regid=65533",
        "--clear-groups",
        "--",
    ];
    let builder = Hub::builder().memory().under(&owner);
    let hub = builder.state_dir(dir.path().join("state")).start();
    let socket = hub.socket().display().to_string();
    let ask = [
        "curl",
        "-sf",
        "-X",
        "POST",
        "--unix-socket",
        &socket,
        "http://localhost/login/code",
    ];
    let made = Command::new(owner[0]).args(&owner[1..]).args(ask).output();
    let made: Value = serde_json::from_slice(&made.expect("setpriv").stdout).expect("JSON");
    let code = made["code"].as_str().expect("a code").to_owned();
    let body = json!({ "code": code }).to_string();
    let url = format!("{}/login", hub.url());
    let ask = ["curl", "-s", "--fail-with-body", "-d", &body, &url];
    assert!(!as_nobody(&ask), "another user signed in");
    let challenge = format!("{url}/challenge");
    let challenge = ["curl", "-s", "--fail", "-d", "", &challenge];
    assert!(!as_nobody(&challenge), "another user got a challenge");
    assert!(hub.log().contains("another user"), "{}", hub.log());
    let own = Command::new(owner[0]).args(&owner[1..]).args(ask).output();
    let own = own.expect("setpriv");
    assert!(own.status.success(), "{own:?}");
}

#[tokio::test]
async fn a_path_cannot_inject_a_line_or_a_cursor_movement_into_the_log() {
    let dir = open_dir();
    let state = dir.path().join("a\nforged\u{1b}[2J\u{202e}");
    let hub = Hub::builder().memory().state_dir(&state).start();
    symlink("/etc/passwd", state.join("status/w1")).expect("our own");
    let log = until("the link is ignored", || {
        let log = hub.log();
        log.contains("is ignored").then_some(log)
    });
    assert!(log.contains("a\\nforged\\u001b[2J\\u202e"), "{log}");
    for line in log.lines() {
        assert!(!line.starts_with("forged"), "{log}");
        assert!(!line.chars().any(hub_protocol::is_unprintable), "{log:?}");
    }
}

#[test]
fn a_usage_error_repeats_no_terminal_controls() {
    let refused = Hub::builder()
        .arg("--lis\u{1b}[2J\nhubd: forged")
        .try_start();
    let stderr = refused.expect_err("no such flag").stderr;
    let escaped = stderr.contains("--lis\\u001b[2J\\nhubd: forged");
    let raw = stderr.contains('\u{1b}') || stderr.contains("\nhubd: forged");
    assert!(escaped && !raw, "{stderr:?}");
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
    let curl = format!("curl -sf {}", hub.url());
    let over_socket = format!(
        "curl -sf --unix-socket {} http://localhost/healthz",
        path("hub.sock")
    );
    let words = |command: &str| as_nobody(&command.split(' ').collect::<Vec<_>>());
    assert!(words(&format!("{curl}/healthz")), "the test itself works");
    for command in [
        format!("ls {}", path("")),
        format!("cat {}", path("token")),
        format!("ls {}", path("journal")),
        over_socket,
        format!("{curl}/notifications"),
    ] {
        assert!(!words(&command), "another user can run {command}");
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
async fn a_state_directory_that_another_user_could_have_made_is_refused() {
    let dir = open_dir();
    let link = dir.path().join("link");
    let real = dir.path().join("real");
    fs::create_dir(&real).expect("our own");
    symlink(&real, &link).expect("our own");
    refuses(&link, "symbolic link");
    refuses(&link.join(""), "symbolic link");
    for open in [0o777, 0o770, 0o702] {
        chmod(&real, open);
        refuses(&real, "open to other users");
    }
    chmod(&real, 0o700);
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
async fn a_second_hub_on_the_same_directory_or_port_names_the_first() {
    let (hub, client) = memory_hub();
    let second = Hub::builder().state_dir(hub.state_dir()).try_start();
    let second = second.expect_err("the directory is in use");
    let process = format!("process {}", hub.pid());
    assert!(second.stderr.contains(&process), "{second}");
    let third = Hub::builder().set(&format!("listen={}", hub.port()));
    third.try_start().expect_err("the port is in use");
    client.say("undisturbed").await;
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
        let answer = client.get(path).await;
        assert!(!answer.text().contains(&token), "{path}");
    }
    client.get(&format!("/{token}")).await.expect(404);
    assert!(!hub.log().contains(&token), "{}", hub.log());
    if cfg!(target_os = "linux") {
        for of in ["cmdline", "environ"] {
            let text = fs::read(format!("/proc/{}/{of}", hub.pid())).expect("our own process");
            assert!(!String::from_utf8_lossy(&text).contains(&token), "{of}");
        }
    }
}

#[tokio::test]
async fn no_text_can_inject_a_line_into_the_log() {
    let fake = "\n{\"level\":\"ERROR\",\"message\":\"fake\"}\n\u{1b}[31m";
    let (hub, client) = hub_with(&["log.level=trace", "log.format=json"]);
    for post in [
        json!({ "msg": fake }),
        json!({ "msg": "x", "from": fake }),
        json!({ "msg": "x", "title": fake }),
    ] {
        client.post_json("/notify", &post).await;
    }
    let keyed = client.post("/notify").header("idempotency-key", "a key");
    keyed.body(fake).await;
    let encoded = encoded(fake);
    let unknown = format!("/{encoded}?since={encoded}");
    client.get(&unknown).await.expect(404);
    let inbox = format!("/inboxes/{encoded}");
    client.delete(&inbox).await.expect(422);
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
