//! The hub from outside: a real hubd, real sockets, and every response validated against the contract.

use hub_harness::{Client, Hub};
use serde_json::Value;

mod agents;
mod bad_requests;
mod budget;
mod claims;
mod claude_sessions;
#[cfg(target_os = "linux")]
mod codex;
mod contract;
mod conversation;
mod dashboard;
mod delivery;
mod events;
mod forward;
mod guard;
mod held_hooks;
mod history;
mod hooks;
mod identity;
mod limits;
mod mcp;
mod needs;
mod needs_of_agents;
mod phones;
mod preferences;
mod questions;
mod redelivery;
mod rules;
mod same_file;
mod secrets;
mod sessions;
mod stats;
mod status_files;
mod timeline;
mod two_answers;
mod webpush;
mod why;

/// A hub without a disk, and a client with its token.
fn memory_hub() -> (Hub, Client) {
    hub_with(&[])
}

/// Like [`memory_hub`], with settings.
fn hub_with(settings: &[&str]) -> (Hub, Client) {
    let builder = Hub::builder().memory();
    let hub = settings.iter().fold(builder, |it, setting| it.set(setting));
    let hub = hub.start();
    let client = hub.client();
    (hub, client)
}

/// A hub with a disk, and a client with its token.
fn disk_hub() -> (Hub, Client) {
    let hub = Hub::start();
    let client = hub.client();
    (hub, client)
}

/// Asserts that `actual` has the fields of `expected`; it may have more.
#[track_caller]
#[allow(clippy::needless_pass_by_value)] // shorter calls
fn assert_fields(actual: &Value, expected: Value) {
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(&actual[name], value, "{name} of {actual}");
    }
}

/// A size in `/proc/PID/status`, in KiB.
#[cfg(target_os = "linux")]
fn status_kib(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    number
        .and_then(|number| number.parse().ok())
        .expect("a size")
}
