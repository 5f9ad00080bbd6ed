//! A process as `/proc` shows it. Other systems do not have this file, and show no process.

use std::fs;

/// A process in `proc_pid_stat(5)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Its parent; 0 if it has none.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Its session (`setsid(2)`).
    pub session: u32,
    /// The number of its terminal's device; 0 if it has none.
    pub terminal: i64,
    /// The process group in the foreground of its terminal; -1 if it has none.
    pub foreground: i64,
    /// When it started, in clock ticks since boot.
    pub started: u64,
}

impl Stat {
    /// Reads fields 4 to 8 and 22. The second field is a name in parentheses that may contain any character.
    pub fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        Some(Self {
            parent: fields.nth(1)?.parse().ok()?,
            group: fields.next()?.parse().ok()?,
            session: fields.next()?.parse().ok()?,
            terminal: fields.next()?.parse().ok()?,
            foreground: fields.next()?.parse().ok()?,
            started: fields.nth(13)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_shows_its_parent_its_group_and_its_start() {
        let own = Stat::of(std::process::id()).unwrap();
        let group = rustix::process::getpgrp().as_raw_nonzero().get();
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        let number = |it: i32| u32::try_from(it).unwrap();
        assert_eq!((own.parent, own.group), (number(parent), number(group)));
        assert!(own.started >= Stat::of(own.parent).unwrap().started);
    }
}
