//! The settings of forwards: who may read them, and where their secrets do not appear.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use hub_harness::{Ntfy, binary};
use serde_json::json;

use super::{Forwarding, builder, config, phone};

#[test]
fn a_file_that_others_can_read_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let hub = builder(dir.path(), &phone("https://ntfy.example", "token='s3cret'"));
    let path = dir.path().join("config.toml");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let error = hub.try_start().unwrap_err().to_string();
    assert!(error.contains("chmod 600"), "{error}");
    assert!(!error.contains("s3cret"), "{error}");
}

#[test]
fn a_token_file_must_exist_and_be_private() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    let text = phone(
        "https://ntfy.example",
        &format!("token_file='{}'", file.display()),
    );
    let error = builder(dir.path(), &text)
        .try_start()
        .unwrap_err()
        .to_string();
    assert!(error.contains("'phone': token_file: "), "{error}");
    std::fs::write(&file, "s3cret\n").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let error = builder(dir.path(), &text)
        .try_start()
        .unwrap_err()
        .to_string();
    assert!(error.contains("open to other users"), "{error}");
    assert!(!error.contains("s3cret"), "{error}");
}

#[test]
fn a_flag_cannot_set_a_forward_and_a_broken_line_is_not_shown() {
    let dir = tempfile::tempdir().unwrap();
    let hub = builder(dir.path(), "").set("forward=[{name='a'}]");
    let error = hub.try_start().unwrap_err().to_string();
    assert!(error.contains("--set: forward: "), "{error}");
    let hub = builder(dir.path(), "[[forward]]\ntoken='s3cret");
    let error = hub.try_start().unwrap_err().to_string();
    assert!(error.contains("line 2: "), "{error}");
    assert!(!error.contains("s3cret"), "{error}");
    let error = builder(dir.path(), "[forward]\nname='a'")
        .try_start()
        .unwrap_err()
        .to_string();
    assert!(error.contains("[[forward]]"), "{error}");
}

#[test]
fn the_printed_configuration_has_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let lines = "token='s3cret1'\nbuttons=true\nreply_topic='s3cret2'\nafter='5m'";
    let path = config(
        dir.path(),
        &phone("https://s3cret0.example", lines).replace("'phone'\n", "'s3cret3'\n"),
    );
    let mut hubd = Command::new(binary("hubd"));
    let printed = hubd
        .arg("--print-config")
        .arg("--config")
        .arg(&path)
        .output()
        .unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    let line = printed
        .lines()
        .find(|it| it.starts_with("forward"))
        .unwrap();
    assert!(line.contains(r#"after = "5m""#), "{line}");
    assert!(line.contains(r#"token = "(redacted)""#), "{line}");
    for secret in ["s3cret0", "s3cret1", "s3cret2"] {
        assert!(!printed.contains(secret), "{printed}");
    }
}

#[tokio::test]
async fn no_secret_is_logged() {
    let ntfy = Ntfy::start();
    ntfy.require("tk_s3cret");
    let text = phone(
        &format!("{}/s3cret/path", ntfy.url()),
        "token='tk_s3cret'\nbuttons=true\nreply_topic='s3cret'",
    );
    let dir = tempfile::tempdir().unwrap();
    let hub = builder(dir.path(), &text).set("log.level=trace").start();
    let client = hub.client();
    client.publish(json!({ "msg": "a", "type": "error" })).await;
    ntfy.until_posts("/s3cret/path/", 1);
    let it = Forwarding {
        hub,
        client,
        ntfy,
        _dir: dir,
    };
    let info = it.info().await;
    it.client.read("/hub").await;
    for shown in [it.hub.log(), info.to_string()] {
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}
