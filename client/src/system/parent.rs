//! The process that a waiter belongs to: when it ends, there is no session left to wake.
//!
//! This is the agent's process if its variable names it, else the parent process. It is not the parent thread, at whose
//! end `PR_SET_PDEATHSIG` would fire.

use std::time::Duration;

use hub_agents::Agent;
use hub_protocol::process::Stat;
use rustix::process::{Pid, getppid, test_kill_process};

use crate::system::env::Env;

/// A process to watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watched {
    /// A process named by the environment.
    Agent(Pid),
    /// The process that started this one.
    Parent(Pid),
}

/// Returns when the agent's process, or else the parent, has ended. Never returns if there was none at the start: a
/// waiter that was detached by `setsid -f`, or by a shell that has ended, belongs to no process.
pub(crate) async fn ended(env: &Env) {
    match watched(env) {
        Some(watched) => gone(watched).await,
        None => std::future::pending().await,
    }
}

fn watched(env: &Env) -> Option<Watched> {
    let mut variables = Agent::ALL
        .into_iter()
        .filter_map(|it| it.facts().process_variable);
    let agent = variables.find_map(|name| {
        let pid = env
            .var(name)?
            .to_str()?
            .parse()
            .ok()
            .and_then(Pid::from_raw)?;
        // A stale variable may name a process that has ended: an old tmux server keeps its environment.
        is_alive(pid).then_some(pid)
    });
    match agent {
        Some(pid) => Some(Watched::Agent(pid)),
        None => parent().map(Watched::Parent),
    }
}

fn parent() -> Option<Pid> {
    loop {
        let parent = getppid()?;
        let launched = is_launcher(parent);
        // If the parent has ended meanwhile, its number is free or belongs to another process.
        if getppid() == Some(parent) {
            return (!launched).then_some(parent);
        }
    }
}

/// Whether the process is a `setsid`. It ends as soon as it has started this process, perhaps only after this check.
fn is_launcher(pid: Pid) -> bool {
    Stat::of(pid.as_raw_pid().cast_unsigned()).is_some_and(|it| it.name == "setsid")
}

fn is_alive(pid: Pid) -> bool {
    // "Not permitted" means that the process lives and belongs to another user.
    !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

fn is_over(watched: Watched) -> bool {
    match watched {
        Watched::Agent(pid) => !is_alive(pid),
        Watched::Parent(pid) => getppid() != Some(pid),
    }
}

#[cfg(target_os = "linux")]
async fn gone(watched: Watched) {
    use rustix::process::{PidfdFlags, pidfd_open};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    let (Watched::Agent(pid) | Watched::Parent(pid)) = watched;
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
        return poll(watched).await;
    };
    // The process may have ended, and its number been reused, before the descriptor was open.
    if is_over(watched) {
        return;
    }
    // The function that replaces this one is unsafe, because descriptors may be closed early; an owned one stays open.
    #[allow(deprecated)]
    let end = AsyncFd::with_interest(pidfd, Interest::READABLE);
    match end {
        Ok(pidfd) => drop(pidfd.readable().await),
        Err(_) => poll(watched).await,
    }
}

#[cfg(not(target_os = "linux"))]
async fn gone(watched: Watched) {
    poll(watched).await;
}

/// Checks once a second, for systems without pidfd.
async fn poll(watched: Watched) {
    while !is_over(watched) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    fn sleeper() -> Child {
        // `cat` ends when its stdin is closed.
        Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn env(pid: u32) -> Env {
        Env::of(Path::new("/"), &[("CLAUDE_PID", &pid.to_string())])
    }

    #[test]
    fn the_agents_own_process_takes_precedence_over_the_parent() {
        let mut agent = sleeper();
        let found = watched(&env(agent.id()));
        assert_eq!(
            found,
            Pid::from_raw(agent.id().cast_signed()).map(Watched::Agent)
        );
        agent.kill().unwrap();
        agent.wait().unwrap();
        assert_eq!(watched(&env(agent.id())), getppid().map(Watched::Parent));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_end_of_the_agents_process_is_noticed() {
        let mut agent = sleeper();
        let env = env(agent.id());
        let seen = tokio::spawn(async move { ended(&env).await });
        tokio::task::yield_now().await;
        agent.kill().unwrap();
        agent.wait().unwrap();
        seen.await.unwrap();
    }
}
