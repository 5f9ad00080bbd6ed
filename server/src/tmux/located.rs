//! A session's process as `/proc` shows it: its ancestors, and the tmux server that it was started in.

use std::fs::{self, File};
use std::io::Read as _;

use hub_protocol::Process;

use crate::core::stat::Stat;

/// Limit for the walk up the process tree; no process has this many ancestors.
const MAX_DEPTH: usize = 1024;
/// At most this many bytes of an environment are read.
const MAX_ENVIRONMENT: u64 = 4 << 20;

/// A session's process.
pub(super) struct Located {
    /// The socket of the tmux server in which it was started.
    pub(super) socket: String,
    /// The process and its ancestors.
    pub(super) ancestors: Vec<u32>,
    pid: u32,
    started: u64,
}

impl Located {
    /// `None` if the process has ended or cannot be inspected, or was not started in tmux.
    pub(super) fn find(process: &Process) -> Option<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let is_other = |it: &String| it != boot.trim();
        if process.boot_id.as_ref().is_some_and(is_other) {
            return None;
        }
        let socket = socket_in(&environment(process.pid)?)?;
        // The number may have been reused by another process; then these are not the session's variables.
        let started = Stat::of(process.pid)?.started;
        (process.started == Some(started)).then_some(())?;
        let ancestors = ancestors(process.pid);
        Some(Self {
            socket,
            ancestors,
            pid: process.pid,
            started,
        })
    }

    /// Whether it runs in the foreground of the terminal of `first`, the first process of a pane.
    pub(super) fn is_in_foreground_of(&self, first: u32) -> bool {
        let Some((own, first)) = Stat::of(self.pid).zip(Stat::of(first)) else {
            return false;
        };
        let is_same = own.started == self.started;
        let is_there = own.terminal != 0 && own.terminal == first.terminal;
        is_same && is_there && i64::from(own.group) == own.foreground
    }
}

fn environment(pid: u32) -> Option<String> {
    let mut variables = Vec::new();
    let file = File::open(format!("/proc/{pid}/environ")).ok()?;
    let read = file.take(MAX_ENVIRONMENT).read_to_end(&mut variables);
    read.ok()?;
    Some(String::from_utf8_lossy(&variables).into_owned())
}

/// The path in `TMUX`, before the numbers of the server and of its session.
fn socket_in(variables: &str) -> Option<String> {
    let mut all = variables.split('\0');
    let value = all.find_map(|it| it.strip_prefix("TMUX="))?;
    let path = value.rsplitn(3, ',').nth(2)?;
    path.starts_with('/').then(|| path.to_owned())
}

fn ancestors(pid: u32) -> Vec<u32> {
    let parent = |pid: &u32| Stat::of(*pid).map(|it| it.parent);
    let line = std::iter::successors(Some(pid), parent);
    line.take_while(|pid| *pid > 0).take(MAX_DEPTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_socket() {
        let socket = |text: &str| socket_in(text);
        let found = socket("A=b\0TMUX=/tmp/a,b/default,41,0\0C=d\0");
        assert_eq!(found.as_deref(), Some("/tmp/a,b/default"));
        for text in ["", "TMUX=\0", "TMUX=default,41,0\0", "XTMUX=/t,4,0\0"] {
            assert_eq!(socket(text), None, "{text:?}");
        }
    }
}
