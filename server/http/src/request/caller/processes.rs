//! The kind of a process, by its ancestors, its environment and its terminal.

use std::fs;
use std::iter;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use hub_agents::Agent;
use hub_core::agents_so_far::AgentsSoFar;
use hub_protocol::process::{Stat, command_line, environment, program, started};

use super::ancestors::{Ancestors, is_in_a_namespace, is_reaper};
use super::{CallerKind, Process, terminal};

/// Variables that only agents set for the commands they run, and the hub for the programs of rules.
fn agent_variables() -> impl Iterator<Item = &'static str> {
    let marks = Agent::ALL.into_iter().flat_map(|it| it.facts().marks);
    let all = marks.copied().chain(Agent::session_variables());
    all.chain(iter::once("HUB_RULE"))
}

/// Programs that start commands which no person watches, as `ssh HOST COMMAND` and a job do. Only a terminal shows one.
const STARTERS: [&str; 9] = [
    "sshd",
    "sshd-session",
    "dropbear",
    "cron",
    "crond",
    "CROND",
    "anacron",
    "fcron",
    "atd",
];

/// Inspects process `pid`: an agent if it or an ancestor is one of `agents`, or if its environment has an agent's
/// variable. In doubt it is unknown. `so_far` is what is known of all agents, also of those that have ended.
pub(super) fn inspect(pid: u32, agents: &[Process], so_far: &AgentsSoFar) -> CallerKind {
    match inspect_to(pid, agents, true) {
        CallerKind::Person if is_left(pid, agents, so_far, true) => CallerKind::Unknown,
        kind => kind,
    }
}

/// As [`inspect`]; `asks` is whether the clients of a multiplexer count, which have none of their own.
fn inspect_to(pid: u32, agents: &[Process], asks: bool) -> CallerKind {
    if is_relay(pid) {
        return CallerKind::Unknown;
    }
    let caller = Ancestors::of(pid);
    match (caller.nearest(agents), has_agents_environment(pid)) {
        (Some((1, _)), _) => CallerKind::AgentsChild,
        (Some(_), _) | (None, Some(true)) => CallerKind::Agent,
        (None, Some(false)) if is_persons(&caller, agents, asks) => CallerKind::Person,
        (None, _) => CallerKind::Unknown,
    }
}

/// Whether a process forwards the requests of another machine, whose processes cannot be seen here.
pub(super) fn is_relay(pid: u32) -> bool {
    program(pid).is_some_and(|it| it.file_name().is_some_and(|name| name == "ssh"))
}

/// Whether a process is `hubctl mcp`, of the hub's own installation.
pub(super) fn is_mcp_server(pid: u32) -> bool {
    let is_mcp = command_line(pid).iter().skip(1).any(|it| it == "mcp");
    is_mcp && program(pid).is_some_and(|it| is_beside_us(&it, "hubctl"))
}

/// Whether a person started a process that is below no agent.
fn is_persons(caller: &Ancestors, agents: &[Process], asks: bool) -> bool {
    let Some((pid, stat)) = caller.first() else {
        return false;
    };
    if !caller.is_whole() || is_in_a_namespace(*pid) {
        return false;
    }
    // A command that a multiplexer runs by itself, as for a key, has no terminal; what runs in its windows has one.
    let is_starter =
        |(_, it): &(u32, Stat)| STARTERS.contains(&it.name.as_str()) || it.name.starts_with("tmux");
    if stat.terminal.is_none() && caller.iter().any(is_starter) {
        return false;
    }
    !may_have_left(caller, agents, asks) || is_desktop(*pid, stat.parent)
}

/// Whether a process lost its ancestors since an agent started, so that an agent may have been among them: the last
/// process on the way up that runs as the hub's user is a child of init or of its stand-in.
fn may_have_left(caller: &Ancestors, agents: &[Process], asks: bool) -> bool {
    let alive: Vec<&Process> = agents.iter().filter(|it| is_alive(it)).collect();
    let own = caller
        .iter()
        .take_while(|(pid, it)| !is_reaper(*pid, it) && is_own(*pid));
    let Some((pid, top)) = own.last() else {
        return true;
    };
    let is_orphan = caller
        .iter()
        .any(|(pid, it)| *pid == top.parent && is_reaper(*pid, it));
    // The shell and the terminal of an agent were there before it.
    let may_have_started =
        |it: &&&Process| it.started <= top.started && !Ancestors::of(it.pid).has(*pid);
    if !is_orphan || !alive.iter().any(|it| may_have_started(&it)) {
        return false;
    }
    let on = |it: &Stat| it.terminal.map(|it| it.device);
    let stats = alive.iter().filter_map(|it| Stat::of(it.pid));
    let terminals: Vec<_> = stats.map(|it| on(&it)).collect();
    let terminal = caller.first().and_then(|(_, it)| on(it));
    if terminal.is_none() || terminals.contains(&terminal) {
        return true;
    }
    let groups: Vec<String> = alive
        .iter()
        .filter_map(|it| terminal::group(it.pid))
        .collect();
    let is_agents = |group: &str| groups.iter().any(|it| it == group);
    let is_person = |pid| asks && inspect_to(pid, agents, false) == CallerKind::Person;
    terminal::is_doubtful(caller, is_agents, is_person)
}

fn is_alive(agent: &Process) -> bool {
    agent.started.is_some() && started(agent.pid) == agent.started
}

/// Whether an agent that has ended may have left a process: it lost its ancestors after the first agent began, and no terminal
/// shows it, or one that was opened so in the control group of an earlier agent. `asks` is as for [`inspect_to`].
fn is_left(pid: u32, agents: &[Process], so_far: &AgentsSoFar, asks: bool) -> bool {
    let caller = Ancestors::of(pid);
    let (Some((first, top)), Some((_, own))) = (orphan(&caller), caller.first()) else {
        return false;
    };
    // tmux and the agent in its first window often start in the same clock tick.
    let was_before = || {
        let mut alive = agents.iter().filter(|it| is_alive(it));
        alive.any(|it| Ancestors::of(it.pid).has(*first))
    };
    let is_after =
        |agent: u64| top.started > Some(agent) || (top.started == Some(agent) && !was_before());
    if !so_far.first.is_some_and(is_after) {
        return false;
    }
    if own.terminal.is_none() {
        return !is_desktop(pid, own.parent);
    }
    let is_agents = |group: &str| so_far.groups.get(group).is_some_and(|it| is_after(*it));
    let is_person = |pid| {
        let kind = || inspect_to(pid, agents, false);
        asks && kind() == CallerKind::Person && !is_left(pid, agents, so_far, false)
    };
    terminal::is_doubtful(&caller, is_agents, is_person)
}

/// The last process on the way up that runs as the hub's user, if it is a child of init or of its stand-in.
fn orphan(caller: &Ancestors) -> Option<&(u32, Stat)> {
    let own = caller
        .iter()
        .take_while(|(pid, it)| !is_reaper(*pid, it) && is_own(*pid));
    let top = own.last()?;
    let is_orphan = |(pid, it): &(u32, Stat)| *pid == top.1.parent && is_reaper(*pid, it);
    caller.iter().any(is_orphan).then_some(top)
}

/// Whether a process runs as the hub's user. An agent starts no others.
#[cfg(target_os = "linux")]
fn is_own(pid: u32) -> bool {
    let owner = fs::metadata(format!("/proc/{pid}")).map(|it| it.uid());
    owner.is_ok_and(|uid| uid == rustix::process::geteuid().as_raw())
}

#[cfg(not(target_os = "linux"))]
fn is_own(pid: u32) -> bool {
    started(pid).is_some()
}

/// Whether a process is `hub-desktop` as a service of the user's systemd, which passes on what the person clicks.
#[cfg(target_os = "linux")]
fn is_desktop(pid: u32, parent: u32) -> bool {
    use crate::request::desktop_unit::is_desktops_service;
    is_desktops_service(pid, parent, rustix::process::getuid().as_raw())
}

#[cfg(not(target_os = "linux"))]
fn is_desktop(_: u32, _: u32) -> bool {
    false
}

/// Whether a running program is the file `name` beside the hub's own.
pub(crate) fn is_beside_us(exe: &Path, name: &str) -> bool {
    let own = std::env::current_exe().ok();
    let beside = own.and_then(|own| fs::metadata(own.with_file_name(name)).ok());
    let running = fs::metadata(exe).ok();
    beside
        .zip(running)
        .is_some_and(|(one, other)| (one.dev(), one.ino()) == (other.dev(), other.ino()))
}

fn has_agents_environment(pid: u32) -> Option<bool> {
    let text = environment(pid)?;
    let name = |variable: &[u8]| {
        variable
            .split(|byte| *byte == b'=')
            .next()
            .map(<[u8]>::to_vec)
    };
    let mut names = text.split(|byte| *byte == 0).filter_map(name);
    Some(names.any(|name| agent_variables().any(|it| it.as_bytes() == name)))
}

// macOS hides the environment of `cat`.
#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// A child process that runs until its stdin is closed.
    fn child(variable: Option<&str>) -> Child {
        let mut cat = Command::new("cat");
        cat.env_clear().stdin(Stdio::piped()).stdout(Stdio::null());
        cat.envs(variable.map(|name| (name, "1")));
        cat.spawn().unwrap()
    }

    fn until(holds: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !holds() {
            assert!(Instant::now() < deadline, "it does not come to be");
            std::thread::yield_now();
        }
    }

    fn process(pid: u32, later: u64) -> Process {
        Process {
            pid,
            started: Stat::of(pid).and_then(|it| Some(it.started? + later)),
            boot_id: None,
        }
    }

    #[test]
    fn an_agents_process_is_known_by_its_ancestors_or_its_environment() {
        let (mut plain, mut claude) = (child(None), child(Some("CLAUDECODE")));
        let (me, none) = (std::process::id(), AgentsSoFar::default());
        // Until the child has executed its program, its environment is its parent's.
        until(|| environment(plain.id()) == Some(Vec::new()));
        assert_eq!(inspect(plain.id(), &[], &none), CallerKind::Person);
        let child = inspect(plain.id(), &[process(me, 0)], &none);
        assert_eq!(child, CallerKind::AgentsChild);
        let own = process(plain.id(), 0);
        assert_eq!(inspect(plain.id(), &[own], &none), CallerKind::Agent);
        let other = process(me, 1);
        // A reused number.
        assert_eq!(inspect(plain.id(), &[other], &none), CallerKind::Person);
        until(|| inspect(claude.id(), &[], &none) == CallerKind::Agent);
        for child in [&mut plain, &mut claude] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(
            inspect(plain.id(), &[], &none),
            CallerKind::Unknown,
            "it is over"
        );
    }

    #[test]
    fn what_started_with_the_first_agent_was_there_before_it_if_that_agent_is_below_it() {
        let script = "exec 3<&0; (cat <&3 & echo $!; cat <&3 & echo $!; wait) &";
        let mut starter = Command::new("sh");
        starter.args(["-c", script]).env_clear();
        starter.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut starter = starter.spawn().unwrap();
        let running = starter.stdin.take();
        let mut lines = BufReader::new(starter.stdout.take().unwrap()).lines();
        let mut pid = || lines.next().unwrap().unwrap().parse::<u32>().unwrap();
        let (caller, agent) = (pid(), pid());
        starter.wait().unwrap();
        until(|| orphan(&Ancestors::of(caller)).is_some_and(|it| it.0 != caller));
        let top = orphan(&Ancestors::of(caller)).unwrap().1.started.unwrap();
        let kind = |agents: &[Process], first: u64| {
            let mut so_far = AgentsSoFar::default();
            so_far.note(Some(first), None);
            inspect(caller, agents, &so_far)
        };
        assert_eq!(kind(&[process(agent, 0)], top), CallerKind::Person);
        assert_eq!(
            kind(&[process(agent, 1)], top),
            CallerKind::Unknown,
            "it has ended"
        );
        assert_eq!(
            kind(&[process(agent, 0)], top - 1),
            CallerKind::Unknown,
            "another began before"
        );
        drop(running);
    }
}
