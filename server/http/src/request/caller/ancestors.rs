//! A process and its ancestors, as the kernel shows them.

use hub_protocol::Process;
use hub_protocol::process::{Stat, boot_id};
use serde::{Deserialize, Serialize};

/// Limit for the walk up the process tree; no process has this many ancestors.
const MAX_DEPTH: usize = 1024;

/// A process and its ancestors, the nearest first.
#[derive(Debug)]
pub struct Ancestors {
    line: Vec<(u32, Stat)>,
    /// Whether the line ends at a process without a parent, so that none is missing.
    is_whole: bool,
}

impl Ancestors {
    /// The ancestors of the process `pid`, itself first.
    pub(crate) fn of(pid: u32) -> Self {
        let mut line = Vec::new();
        let mut next = pid;
        while next != 0 && line.len() < MAX_DEPTH {
            let Some(stat) = Stat::of(next) else {
                break;
            };
            let parent = stat.parent;
            line.push((next, stat));
            next = parent;
        }
        let is_whole = next == 0;
        Self { line, is_whole }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(u32, Stat)> {
        self.line.iter()
    }

    pub(super) fn has(&self, pid: u32) -> bool {
        self.line.iter().any(|(it, _)| *it == pid)
    }

    /// The process itself.
    pub(crate) fn first(&self) -> Option<&(u32, Stat)> {
        self.line.first()
    }

    /// The nearest of `processes`: how many steps it is above the process, and its place in the list.
    pub(crate) fn nearest(&self, processes: &[Process]) -> Option<(usize, usize)> {
        let boot_id = boot_id()?;
        let place = |(pid, stat): &(u32, Stat)| {
            // On macOS a process of another user does not show its start.
            let is_it = |it: &Process| {
                it.pid == *pid
                    && stat.started.is_none_or(|at| it.started == Some(at))
                    && it.boot_id.as_ref().is_none_or(|it| *it == boot_id)
            };
            processes.iter().position(is_it)
        };
        let mut places = self.line.iter().map(place).enumerate();
        places.find_map(|(depth, place)| Some((depth, place?)))
    }

    /// The line as another hub needs it, which cannot see these processes.
    pub(super) fn lineage(&self) -> Option<Lineage> {
        let own = numbers(self.line.first()?.0)?;
        let boot_id = Some(boot_id()?);
        let link = |(pid, stat): &(u32, Stat)| {
            // A namespace that is as deep, on the way up, is the same one. What adopts orphans is nobody's own process.
            let numbers = numbers(*pid).filter(|it| it.len() == own.len());
            let number = numbers.and_then(|it| it.last().copied());
            let process = Process {
                pid: *pid,
                started: Some(stat.started?),
                boot_id: boot_id.clone(),
            };
            Some((number.filter(|_| !is_reaper(*pid, stat)), process))
        };
        Some(Lineage(self.line.iter().filter_map(link).collect()))
    }
}

/// A process and its ancestors, each with the number by which the process itself calls it: in a PID namespace that is another
/// number than outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage(Vec<(Option<u32>, Process)>);

impl Lineage {
    /// The ancestor that the process calls `number`; none above the nearest of these `agents`, so that an agent does not make
    /// one of the person's own programs its session's.
    pub(crate) fn named(&self, number: u32, agents: &[Process]) -> Option<&Process> {
        let agent = { &self.0 }.iter().position(|(_, it)| agents.contains(it));
        let own = self.0.iter().take(agent.map_or(usize::MAX, |it| it + 1));
        let mut found = own.filter(|(it, _)| *it == Some(number));
        found.next().map(|(_, process)| process)
    }

    /// Whether the process is `other` or below it.
    pub(crate) fn has(&self, other: &Process) -> bool {
        self.0.iter().any(|(_, it)| it == other)
    }

    /// Whether `other` is a process of the same boot of the same machine.
    pub(crate) fn is_beside(&self, other: &Process) -> bool {
        let own = self.0.first().and_then(|(_, it)| it.boot_id.as_ref());
        own.is_some() && own == other.boot_id.as_ref()
    }
}

/// Whether a process adopts orphans, as init and the service manager of a user do.
pub(super) fn is_reaper(pid: u32, stat: &Stat) -> bool {
    pid <= 1 || stat.name == "systemd" || stat.name == "launchd"
}

/// Whether a process has a PID namespace of its own, so that its environment and its ancestors are not all seen from here.
pub(super) fn is_in_a_namespace(pid: u32) -> bool {
    numbers(pid).is_none_or(|it| it.len() > 1)
}

/// The number of a process in each PID namespace that it is in, the hub's own first.
#[cfg(target_os = "linux")]
fn numbers(pid: u32) -> Option<Vec<u32>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|it| it.strip_prefix("NSpid:"))?;
    line.split_whitespace().map(|it| it.parse().ok()).collect()
}

#[cfg(not(target_os = "linux"))]
fn numbers(pid: u32) -> Option<Vec<u32>> {
    Some(vec![pid])
}
