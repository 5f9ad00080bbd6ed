//! Processes of this machine. Linux shows them in `/proc`, macOS by system calls; other systems are not supported.
//!
//! A process of another user shows less on macOS: neither its start nor its terminal. A process that the system does not
//! show is `None` here, and the callers then trust it with nothing.

use serde::{Deserialize, Serialize};

#[cfg_attr(target_os = "linux", path = "process/linux.rs")]
#[cfg_attr(target_os = "macos", path = "process/macos.rs")]
mod system;

#[cfg(any(target_os = "macos", test))]
mod arguments;

pub use system::{boot_id, command_line, environment, program, reads_terminal, started_at};

/// A process on a machine. The system reuses a process number; together with its start and the boot it is unique.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The process number.
    pub pid: u32,
    /// When the process started. On Linux in clock ticks since boot, field 22 of `proc_pid_stat(5)`; on macOS in
    /// microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// The machine's boot: on Linux `/proc/sys/kernel/random/boot_id`, on macOS `kern.bootsessionuuid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
}

impl Process {
    /// The identity of the running process `pid`.
    pub fn running(pid: u32) -> Self {
        Self {
            pid,
            started: started(pid),
            boot_id: boot_id(),
        }
    }
}

/// The time since the machine started, in microseconds; it includes suspension.
pub fn uptime_micros() -> u64 {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    // On macOS this clock runs while the machine sleeps.
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    (time.tv_sec * 1_000_000 + time.tv_nsec / 1000).cast_unsigned()
}

/// What the system shows of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// The name of its program, without a directory and cut to 15 bytes.
    pub name: String,
    /// Whether it runs.
    pub state: RunState,
    /// Its parent; 0 if it has none.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Its session (`setsid(2)`).
    pub session: u32,
    /// Its terminal.
    pub terminal: Option<Terminal>,
    /// When it started, as in [`Process::started`].
    pub started: Option<u64>,
}

/// Whether a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// It runs or sleeps.
    Running,
    /// It is stopped (SIGSTOP, Ctrl-Z, a debugger).
    Stopped,
    /// It has ended, and its parent has not read its status yet.
    Ended,
}

/// The terminal of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// The number of its device.
    pub device: u32,
    /// The process group in its foreground.
    pub foreground: Option<u32>,
}

impl Terminal {
    /// Its name, such as `pts/3`.
    pub fn name(self) -> String {
        system::terminal_name(self.device)
    }
}

impl Stat {
    /// The process `pid`; `None` if there is none, or the system does not show it.
    pub fn of(pid: u32) -> Option<Self> {
        system::stat(pid)
    }
}

/// When the process `pid` started, as in [`Process::started`]; `None` if it has ended.
pub fn started(pid: u32) -> Option<u64> {
    let stat = Stat::of(pid).filter(|it| it.state != RunState::Ended);
    stat.and_then(|it| it.started)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_shows_its_parent_its_group_and_its_start() {
        let mut cat = Command::new("cat");
        let mut cat = cat.stdin(Stdio::piped()).process_group(0).spawn().unwrap();
        let (child, own) = (Stat::of(cat.id()), Stat::of(std::process::id()));
        cat.kill().unwrap();
        cat.wait().unwrap();
        let (child, own) = (child.unwrap(), own.unwrap());
        assert_eq!(child.parent, std::process::id());
        assert_eq!(child.group, cat.id());
        // A container shows a session that began outside of it as 0.
        assert_eq!(child.session, own.session);
        assert_eq!(own.state, RunState::Running);
        assert!(child.started >= own.started);
    }

    #[test]
    fn a_process_that_started_now_did_so_in_the_last_minute() {
        let mut cat = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let at = started(cat.id()).and_then(started_at).unwrap();
        cat.kill().unwrap();
        cat.wait().unwrap();
        assert_eq!(started(cat.id()), None, "it has ended");
        let age = crate::Timestamp::now().as_millis() - at.as_millis();
        assert!((-1000..60_000).contains(&age), "{age} ms");
    }

    #[test]
    fn a_process_shows_its_arguments_and_its_environment() {
        let own = std::process::id();
        let arguments: Vec<String> = std::env::args().collect();
        assert_eq!(command_line(own), arguments);
        assert_eq!(program(own), std::env::current_exe().ok());
        let path = format!("PATH={}", std::env::var("PATH").unwrap());
        let variables = environment(own).unwrap();
        let mut variables = variables.split(|it| *it == 0);
        assert!(variables.any(|it| it == path.as_bytes()));
    }

    #[test]
    fn a_pipe_is_no_terminal() {
        let mut cat = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let reads = reads_terminal(cat.id());
        cat.kill().unwrap();
        cat.wait().unwrap();
        assert_eq!(reads, Some(false));
        assert_eq!(reads_terminal(cat.id()), None, "it has ended");
    }

    #[test]
    fn the_boot_has_an_identity() {
        assert_eq!(boot_id().map(|id| id.len()), Some(36));
    }
}
