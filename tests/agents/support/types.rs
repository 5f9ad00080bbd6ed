//! Checks hook payloads and replies against the vendor's own types.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::installed;

/// Panics unless Claude Code's types allow `reply` as the answer of a hook on `event`.
pub(crate) fn assert_valid_reply(event: &str, reply: &Value) {
    assert_valid_replies(&[(event.to_owned(), reply.clone())]);
}

/// [`assert_valid_reply`] for many replies at once, each with its event.
pub(crate) fn assert_valid_replies(replies: &[(String, Value)]) {
    check(&replies.iter().map(case).collect()).unwrap_or_else(|wrong| panic!("{wrong}"));
}

/// Returns whether [`assert_valid_reply`] would pass.
pub(crate) fn is_valid_reply(event: &str, reply: &Value) -> bool {
    check(&json!([case(&(event.to_owned(), reply.clone()))])).is_ok()
}

fn case((event, reply): &(String, Value)) -> Value {
    json!({"type": "SyncHookJSONOutput", "event": event, "value": reply})
}

/// Panics unless each payload has the hook input type of Claude Code.
pub(crate) fn assert_valid_inputs(payloads: &[Value]) {
    let case = |value: &Value| json!({"type": "HookInput", "event": null, "value": value});
    check(&payloads.iter().map(case).collect())
        .unwrap_or_else(|wrong| panic!("not a payload of Claude Code: {wrong}"));
}

fn check(cases: &Value) -> Result<(), String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/agents/types.mjs");
    let mut node = Command::new("node")
        .arg(script)
        .arg(installed::dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("node starts: install it");
    let mut stdin = node.stdin.take().expect("a pipe");
    let written = stdin.write_all(cases.to_string().as_bytes());
    drop(stdin);
    let output = node.wait_with_output().expect("its end");
    let failed = String::from_utf8_lossy(&output.stderr);
    let checked = failed.is_empty() && written.is_ok();
    assert!(
        checked,
        "the check itself failed; tests/run installs what it needs: {failed}"
    );
    let wrong = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(())
    } else {
        Err(wrong)
    }
}
