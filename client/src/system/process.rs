//! Facts about processes, read from `/proc`.

use hub_protocol::Process;
#[cfg(target_os = "linux")]
use rustix::process::getppid;

use crate::system::env::Env;

/// The fields of `proc_pid_stat(5)` that are used here.
#[cfg(target_os = "linux")]
struct Stat {
    name: String,
    parent: u32,
    /// The start of the process in clock ticks since boot.
    started: u64,
}

#[cfg(target_os = "linux")]
impl Stat {
    fn of(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses a line of `/proc/PID/stat`. The name may contain spaces and parentheses, and ends at the last `)`; field
    /// 3 follows.
    fn parse(stat: &str) -> Option<Self> {
        let (before, after) = stat.rsplit_once(')')?;
        let mut fields = after.split_whitespace();
        Some(Self {
            name: before.split_once('(')?.1.to_owned(),
            parent: fields.nth(1)?.parse().ok()?,
            started: fields.nth(17)?.parse().ok()?,
        })
    }
}

/// When the process `pid` started, in clock ticks since boot; `None` if the system does not tell.
#[cfg(target_os = "linux")]
pub(crate) fn started(pid: u32) -> Option<u64> {
    Stat::of(pid).map(|stat| stat.started)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn started(_pid: u32) -> Option<u64> {
    None
}

/// The identity of this process.
pub(crate) fn this() -> Process {
    let pid = std::process::id();
    Process {
        pid,
        started: started(pid),
        boot_id: boot_id(),
    }
}

/// Whether the process `pid` is stopped (SIGSTOP, Ctrl-Z, a debugger); `false` if the system does not tell.
pub(crate) fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, after)| after);
    state.is_some_and(|state| state.starts_with(['T', 't']))
}

/// The name of the program that the process `pid` runs, if the system tells.
#[cfg(target_os = "linux")]
pub(crate) fn name(pid: u32) -> Option<String> {
    Stat::of(pid).map(|stat| stat.name)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn name(_pid: u32) -> Option<String> {
    None
}

/// The process of the agent whose hook this process is: the one that `variable` names, or else the one that started the
/// hook.
#[cfg(target_os = "linux")]
pub(crate) fn agent(env: &Env, variable: Option<&str>) -> Option<Process> {
    let named = variable.and_then(|name| {
        let pid: u32 = env.var(name)?.to_str()?.parse().ok()?;
        // A stale variable may name a process that has ended: an old tmux server keeps its environment.
        Some((pid, Stat::of(pid)?))
    });
    let (pid, stat) = named.or_else(starter)?;
    Some(Process {
        pid,
        started: Some(stat.started),
        boot_id: boot_id(),
    })
}

/// For systems without `/proc`: the number alone, and only if the agent's own variable gives it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn agent(env: &Env, variable: Option<&str>) -> Option<Process> {
    Some(Process {
        pid: env.var(variable?)?.to_str()?.parse().ok()?,
        started: None,
        boot_id: None,
    })
}

/// The ancestors of this process, the nearest first, without process 1.
#[cfg(target_os = "linux")]
pub(crate) fn ancestors() -> Vec<Process> {
    let boot_id = boot_id();
    let mut found = Vec::new();
    let mut next = getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
    while let Some(pid) = next.filter(|pid| *pid > 1) {
        let Some(stat) = Stat::of(pid) else { break };
        found.push(Process {
            pid,
            started: Some(stat.started),
            boot_id: boot_id.clone(),
        });
        next = Some(stat.parent);
    }
    found
}

/// For systems without `/proc`: no ancestors.
#[cfg(not(target_os = "linux"))]
pub(crate) fn ancestors() -> Vec<Process> {
    Vec::new()
}

/// Whether the process `pid` was started with the variable `name` set to `value`; `None` if the system does not tell.
#[cfg(target_os = "linux")]
pub(crate) fn was_started_with(pid: &str, name: &str, value: &str) -> Option<bool> {
    let pid: u32 = pid.parse().ok()?;
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let wanted = format!("{name}={value}");
    let mut variables = environment.split(|byte| *byte == 0);
    Some(variables.any(|variable| variable == wanted.as_bytes()))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn was_started_with(_pid: &str, _name: &str, _value: &str) -> Option<bool> {
    None
}

#[cfg(target_os = "linux")]
fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

#[cfg(not(target_os = "linux"))]
fn boot_id() -> Option<String> {
    None
}

/// This machine's name.
pub(crate) fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// The nearest ancestor that is not a shell. Agents run their hooks by `sh -c`, and that shell ends with the hook.
#[cfg(target_os = "linux")]
fn starter() -> Option<(u32, Stat)> {
    const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "fish", "ash", "ksh"];
    let mut pid = getppid()?.as_raw_nonzero().get().cast_unsigned();
    loop {
        let stat = Stat::of(pid)?;
        if !SHELLS.contains(&stat.name.as_str()) {
            return Some((pid, stat));
        }
        pid = stat.parent;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_process_name_with_spaces_and_parentheses_is_parsed() {
        let stat = Stat::parse(
            "7 (a b) (c) S 3 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0 0 184467 0",
        );
        let stat = stat.unwrap();
        assert_eq!(
            (stat.name.as_str(), stat.parent, stat.started),
            ("a b) (c", 3, 4711)
        );
    }

    #[test]
    fn the_variable_names_the_agent_and_a_stale_one_is_ignored() {
        let me = std::process::id();
        let named = |pid: &str| agent(&Env::of(Path::new("/"), &[("PID", pid)]), Some("PID"));
        let found = named(&me.to_string()).unwrap();
        assert_eq!((found.pid, found.started), (me, started(me)));
        assert!(found.boot_id.is_some_and(|id| id.len() == 36));
        assert_ne!(named("4194305").map(|found| found.pid), Some(4_194_305));
    }
}
