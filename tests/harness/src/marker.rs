//! Finds every process that a test has started, including those whose parent has exited.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// The environment variable with the mark.
const NAME: &str = "HUB_TEST_MARK";

/// A mark in the environment, which children inherit. Dropping it kills the processes that still have the mark.
///
/// Linux only: elsewhere no process is found.
#[derive(Debug)]
pub struct Marker(String);

/// A process with the mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// The process id.
    pub pid: i32,
    /// The command line.
    pub command: String,
}

impl Marker {
    /// Creates a unique mark: `dir` is a temporary directory of the test.
    pub fn new(dir: &Path) -> Self {
        Self(format!("{NAME}={}", dir.display()))
    }

    /// Returns name and value of the variable.
    pub fn env(&self) -> (&str, &str) {
        self.0.split_once('=').expect("NAME=value")
    }

    /// Returns the processes with the mark. A zombie has no environment, so it is not among them.
    pub fn processes(&self) -> Vec<Marked> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| self.marked(&entry.path()))
            .collect()
    }

    fn marked(&self, process: &Path) -> Option<Marked> {
        let pid = process.file_name()?.to_str()?.parse().ok()?;
        let environ = std::fs::read(process.join("environ")).ok()?;
        let mut variables = environ.split(|&byte| byte == 0);
        variables.find(|&variable| variable == self.0.as_bytes())?;
        let command = std::fs::read(process.join("cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        Some(Marked { pid, command })
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        for process in self.processes() {
            if let Some(pid) = Pid::from_raw(process.pid) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}
