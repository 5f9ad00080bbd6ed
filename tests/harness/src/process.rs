//! Processes as sessions name them.

use serde_json::{Value, json};

/// Returns `pid`, `started` and `boot_id` of a process of this machine.
pub fn process(pid: u32) -> Value {
    let read = |path: &str| std::fs::read_to_string(path).expect("a file of /proc");
    let stat = read(&format!("/proc/{pid}/stat"));
    let fields = stat.rsplit_once(')').expect("a name").1;
    let started = fields.split_whitespace().nth(19).expect("a field");
    let started: u64 = started.parse().expect("a number");
    let boot = read("/proc/sys/kernel/random/boot_id");
    json!({ "pid": pid, "started": started, "boot_id": boot.trim() })
}
