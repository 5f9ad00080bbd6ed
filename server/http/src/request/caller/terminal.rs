//! The owner of a process's terminal. A command can leave its agent by `setsid` or by a double fork, and then open a terminal of
//! its own: by `script`, by `tmux new-session -d`, by `systemd-run --pty`.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hub_protocol::process::{Stat, environment};

use super::ancestors::{Ancestors, is_reaper};

/// How long tmux may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether the terminal of `caller` may have been opened by an agent: its first process lost what opened it, or what opened
/// it is an orphan in an agent's control group and shows it to nobody.
pub(super) fn is_doubtful(
    caller: &Ancestors,
    is_agents: impl Fn(&str) -> bool,
    is_person: impl Fn(u32) -> bool,
) -> bool {
    let Some((pid, own)) = caller.first() else {
        return true;
    };
    let mut above = caller
        .iter()
        .skip_while(|(_, it)| it.session == own.session);
    match above.next() {
        Some((opener, stat)) if !is_reaper(*opener, stat) => {
            let is_beside = group(*opener).is_some_and(|it| is_agents(&it));
            is_beside && !clients(*pid, caller).into_iter().any(is_person)
        }
        _ => true,
    }
}

/// The control group of a process, which an orphan keeps. A program that the desktop starts gets one of its own.
#[cfg(target_os = "linux")]
pub(crate) fn group(pid: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let unified = text.lines().find_map(|it| it.strip_prefix("0::"))?;
    Some(unified.to_owned())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn group(_: u32) -> Option<String> {
    None
}

/// The clients that show the tmux session of a process, if its tmux server is one of its ancestors.
fn clients(pid: u32, caller: &Ancestors) -> Vec<u32> {
    let variables = environment(pid).unwrap_or_default();
    let variables = String::from_utf8_lossy(&variables);
    let value = variables
        .split('\0')
        .find_map(|it| it.strip_prefix("TMUX="));
    let mut parts = value.unwrap_or_default().rsplitn(3, ',').skip(1);
    let (Some(server), Some(socket)) = (parts.next(), parts.next()) else {
        return Vec::new();
    };
    // A tmux client carries out what its server tells it, so no other program may be asked.
    let is_server =
        |(pid, stat): &(u32, Stat)| pid.to_string() == server && stat.name.starts_with("tmux");
    if !caller.iter().any(is_server) {
        return Vec::new();
    }
    let mut tmux = Command::new("tmux");
    tmux.args(["-S", socket, "list-clients", "-F", "#{client_pid}"]);
    let text = output(&mut tmux).unwrap_or_default();
    text.lines().filter_map(|it| it.parse().ok()).collect()
}

/// The output of a program that ends in time. Its server may be stopped.
fn output(command: &mut Command) -> Option<String> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let give_up = Instant::now() + PATIENCE;
    while child.try_wait().ok()?.is_none() {
        if Instant::now() > give_up {
            child.kill().ok()?;
            child.wait().ok()?;
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    std::io::read_to_string(child.stdout.take()?).ok()
}
