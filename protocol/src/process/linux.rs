//! Processes as `proc(5)` shows them.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::PathBuf;

use rustix::time::{ClockId, clock_gettime};

use super::{RunState, Stat, Terminal};
use crate::Timestamp;

/// At most this many bytes of an environment are read.
const MAX_ENVIRONMENT: u64 = 4 << 20;

/// `USER_HZ`, whose value is part of Linux's ABI.
const MILLIS_PER_TICK: i64 = 10;

pub(super) fn stat(pid: u32) -> Option<Stat> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses a line of `/proc/PID/stat`. The name may contain spaces and parentheses, and ends at the last `)`; field 3
/// follows.
fn parse(stat: &str) -> Option<Stat> {
    let (before, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace();
    let state = match fields.next()? {
        "T" | "t" => RunState::Stopped,
        "Z" | "X" => RunState::Ended,
        _ => RunState::Running,
    };
    let (parent, group, session) = (fields.next()?, fields.next()?, fields.next()?);
    let (device, foreground) = (fields.next()?, fields.next()?);
    // The kernel prints the device as a signed number, and -1 for no foreground.
    let device = device.parse::<i32>().ok()?.cast_unsigned();
    let foreground = foreground.parse().ok();
    Some(Stat {
        name: before.split_once('(')?.1.to_owned(),
        state,
        parent: parent.parse().ok()?,
        group: group.parse().ok()?,
        session: session.parse().ok()?,
        terminal: (device != 0).then_some(Terminal { device, foreground }),
        started: Some(fields.nth(13)?.parse().ok()?),
    })
}

/// The name of a terminal, by the number of its device as `proc_pid_stat(5)` encodes it.
pub(super) fn terminal_name(device: u32) -> String {
    let major = (device >> 8) & 0xfff;
    let minor = (device & 0xff) | ((device >> 12) & 0xf_ff00);
    match major {
        // `UNIX98_PTY_SLAVE_MAJOR` and the seven after it.
        136..=143 => format!("pts/{}", (major - 136) * 256 + minor),
        4 => format!("tty{minor}"),
        _ => format!("terminal {major}:{minor}"),
    }
}

/// The identity of the machine's boot, as in [`super::Process::boot_id`].
pub fn boot_id() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// The time of a process's start, from [`super::Process::started`] of this boot.
pub fn started_at(started: u64) -> Option<Timestamp> {
    let ticks = i64::try_from(started).ok()?;
    let up = clock_gettime(ClockId::Boottime);
    let up = up.tv_sec.checked_mul(1000)? + up.tv_nsec / 1_000_000;
    Some(Timestamp::now().plus_millis(ticks.checked_mul(MILLIS_PER_TICK)? - up))
}

/// The variables that the process `pid` was started with, as `NAME=value` with a NUL after each; `None` if the system does
/// not show them. The read may wait for the process.
pub fn environment(pid: u32) -> Option<Vec<u8>> {
    let file = File::open(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = Vec::new();
    let read = file.take(MAX_ENVIRONMENT).read_to_end(&mut variables);
    read.ok().map(|_| variables)
}

/// The arguments of the process `pid`, the program's name first; empty if the system does not show them.
pub fn command_line(pid: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line);
    line.split_terminator('\0').map(str::to_owned).collect()
}

/// The file of the program that the process `pid` runs.
pub fn program(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// Whether the standard input of the process `pid` is a terminal; `None` if the system does not show it.
pub fn reads_terminal(pid: u32) -> Option<bool> {
    let input = fs::read_link(format!("/proc/{pid}/fd/0")).ok()?;
    Some(input.starts_with("/dev/pts") || input.to_string_lossy().starts_with("/dev/tty"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_spaces_and_parentheses_is_parsed() {
        let stat = "7 (a b) (c) T 3 7 9 34816 7 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0 0 184467 0";
        let terminal = Terminal {
            device: 34816,
            foreground: Some(7),
        };
        let expected = Stat {
            name: "a b) (c".into(),
            state: RunState::Stopped,
            parent: 3,
            group: 7,
            session: 9,
            terminal: Some(terminal),
            started: Some(4711),
        };
        assert_eq!(parse(stat), Some(expected));
        assert_eq!(terminal.name(), "pts/0");
        assert_eq!(terminal_name(0x0401), "tty1");
        let without = stat.replace("34816 7", "0 -1");
        assert_eq!(parse(&without).unwrap().terminal, None);
    }
}
