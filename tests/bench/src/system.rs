//! Facts about a process from the operating system.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Resource, getrlimit, setrlimit};

/// How long a quiet process uses less than a hundredth of a processor. The hub puts work off for up to a second.
const QUIET: Duration = Duration::from_millis(1200);
/// The longest wait for a process to become quiet.
const LONGEST_REST: Duration = Duration::from_secs(15);

/// Raises the limit of open files to the hard limit, for this process and its children.
pub(crate) fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Some systems refuse an unlimited maximum; then the rows with thousands of readers fail with a clear error.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Resident memory in KiB.
pub(crate) fn resident_kib(pid: u32) -> Result<f64> {
    if cfg!(target_os = "linux") {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let value = line.and_then(|line| line.split_whitespace().next());
        return Ok(value.context("no VmRSS")?.parse()?);
    }
    let pid = pid.to_string();
    let output = Command::new("ps")
        .args(["-o", "rss=", "-p", &pid])
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}

/// Returns the processor time of all living threads; `None` where the system does not report it exactly.
pub(crate) fn processor_time(pid: u32) -> Option<Duration> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let nanos = tasks.flatten().map(|task| -> Option<u64> {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse().ok()
    });
    nanos.sum::<Option<u64>>().map(Duration::from_nanos)
}

/// Waits until a process is quiet, but not forever.
pub(crate) fn rest(pid: u32) {
    let start = Instant::now();
    while start.elapsed() < LONGEST_REST {
        let before = processor_time(pid);
        std::thread::sleep(QUIET);
        let spent = before.and_then(|before| processor_time(pid)?.checked_sub(before));
        if spent.is_none_or(|spent| spent < QUIET / 100) {
            return;
        }
    }
}

/// The full path of a program on PATH.
pub(crate) fn program(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
        .with_context(|| format!("no {name} on PATH"))
}
