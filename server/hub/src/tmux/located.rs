//! A session's process as the system shows it: its ancestors, and the tmux server that it was started in.

use hub_protocol::Process;
use hub_protocol::process::{Stat, boot_id, environment};

/// Limit for the walk up the process tree; no process has this many ancestors.
const MAX_DEPTH: usize = 1024;

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
        let boot = boot_id()?;
        let is_other = |it: &String| *it != boot;
        if process.boot_id.as_ref().is_some_and(is_other) {
            return None;
        }
        let variables = environment(process.pid)?;
        let socket = socket_in(&String::from_utf8_lossy(&variables))?;
        // The number may have been reused by another process; then these are not the session's variables.
        let started = Stat::of(process.pid)?.started?;
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
        let Some((terminal, pane)) = own.terminal.zip(first.terminal) else {
            return false;
        };
        let is_same = own.started == Some(self.started);
        is_same && terminal.device == pane.device && terminal.foreground == Some(own.group)
    }
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
