//! This process, and those that it belongs to.

use hub_protocol::Process;
use hub_protocol::process::{Stat, boot_id, environment};
use rustix::process::getppid;

use crate::system::env::Env;

/// The process of the agent whose hook this process is: the one that `variable` names, or else the one that started the
/// hook.
pub(crate) fn agent(env: &Env, variable: Option<&str>) -> Option<Process> {
    let named = variable.and_then(|name| {
        let pid: u32 = env.var(name)?.to_str()?.parse().ok()?;
        // A stale variable may name a process that has ended: an old tmux server keeps its environment.
        Some((pid, Stat::of(pid)?))
    });
    let (pid, stat) = named.or_else(starter)?;
    Some(Process {
        pid,
        started: stat.started,
        boot_id: boot_id(),
    })
}

/// The ancestors of this process, the nearest first, without process 1.
pub(crate) fn ancestors() -> Vec<Process> {
    let boot_id = boot_id();
    let mut found = Vec::new();
    let mut next = parent();
    while let Some(pid) = next.filter(|pid| *pid > 1) {
        let Some(stat) = Stat::of(pid) else { break };
        found.push(Process {
            pid,
            started: stat.started,
            boot_id: boot_id.clone(),
        });
        next = Some(stat.parent);
    }
    found
}

fn parent() -> Option<u32> {
    getppid().map(|pid| pid.as_raw_pid().cast_unsigned())
}

/// Whether the process `pid` was started with the variable `name` set to `value`; `None` if the system does not tell.
pub(crate) fn was_started_with(pid: &str, name: &str, value: &str) -> Option<bool> {
    let variables = environment(pid.parse().ok()?)?;
    let wanted = format!("{name}={value}");
    let mut variables = variables.split(|byte| *byte == 0);
    Some(variables.any(|variable| variable == wanted.as_bytes()))
}

/// This machine's name.
pub(crate) fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// Programs that run another one and end with it: an agent runs its hooks by a shell, and people put more around them, against
/// hangs or for an environment.
const LAUNCHERS: [&str; 30] = [
    // Shells
    "sh",
    "bash",
    "dash",
    "zsh",
    "fish",
    "ash",
    "ksh",
    "mksh",
    "csh",
    "tcsh",
    "nu",
    "pwsh",
    "elvish",
    "xonsh",
    // Limits and surroundings
    "timeout",
    "nice",
    "ionice",
    "chrt",
    "env",
    "setsid",
    "nohup",
    "stdbuf",
    "flock",
    "time",
    "strace",
    // Environments
    "direnv",
    "mise",
    "nix-shell",
    "sudo",
    "doas",
];

/// The nearest ancestor that is not a launcher.
pub(crate) fn starter_pid() -> Option<u32> {
    starter().map(|(pid, _)| pid)
}

/// The nearest ancestor that is not a launcher, which ends with the hook.
fn starter() -> Option<(u32, Stat)> {
    let mut pid = parent()?;
    loop {
        let stat = Stat::of(pid)?;
        if !LAUNCHERS.contains(&stat.name.as_str()) {
            return Some((pid, stat));
        }
        pid = stat.parent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_variable_names_the_agent_and_a_stale_one_is_ignored() {
        let me = std::process::id();
        let named = |pid: &str| agent(&Env::of(Path::new("/"), &[("PID", pid)]), Some("PID"));
        assert_eq!(named(&me.to_string()), Some(Process::running(me)));
        assert_ne!(named("4194305").map(|found| found.pid), Some(4_194_305));
    }
}
