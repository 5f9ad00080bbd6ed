//! The process that a waiter waits for: when it ends, nobody is left to wake.
//!
//! That is the agent's process where its variable names it, else the parent. It is the parent *process* that counts:
//! `PR_SET_PDEATHSIG` would fire when the thread that started us ends.

use std::time::Duration;

use rustix::process::{Pid, getppid, test_kill_process};

use crate::env::Env;
use crate::process;

/// The variables in which agents tell their own process id.
const AGENT_VARIABLES: [&str; 1] = ["CLAUDE_PID"];

/// A process to watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watched {
    /// A process named by the environment.
    Agent(Pid),
    /// Whoever started us.
    Parent(Pid),
}

/// Returns when the agent's process, or else the parent, is gone; never if there was none when this began: a waiter
/// detached by `setsid -f`, or by a shell that has already ended, belongs to nobody.
pub(crate) async fn ended(env: &Env) {
    match watched(env) {
        Some(watched) => gone(watched).await,
        None => std::future::pending().await,
    }
}

fn watched(env: &Env) -> Option<Watched> {
    let agent = AGENT_VARIABLES.iter().find_map(|name| {
        let pid = env
            .var(name)?
            .to_str()?
            .parse()
            .ok()
            .and_then(Pid::from_raw)?;
        // A stale variable (an old tmux server keeps its environment) names nobody.
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
        // One that has ended meanwhile has left its number to nobody, or to somebody else.
        if getppid() == Some(parent) {
            return (!launched).then_some(parent);
        }
    }
}

/// Whether the process is a `setsid`, which ends as soon as it has started us: that may be after we have looked.
fn is_launcher(pid: Pid) -> bool {
    process::name(pid.as_raw_pid().cast_unsigned()).is_some_and(|name| name == "setsid")
}

fn is_alive(pid: Pid) -> bool {
    // Not permitted means that it lives, and is somebody else's.
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
    // It may have ended, and its number be another's, before the descriptor was there.
    if is_over(watched) {
        return;
    }
    // Its successor is unsafe code, for the sake of descriptors that close early; an owned one stays open.
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

/// For systems without pidfd: a look a second.
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
        // `cat` ends when its stdin does.
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
    fn the_agents_own_process_goes_before_the_parent() {
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
    async fn the_end_of_the_agent_is_seen() {
        let mut agent = sleeper();
        let env = env(agent.id());
        let seen = tokio::spawn(async move { ended(&env).await });
        tokio::task::yield_now().await;
        agent.kill().unwrap();
        agent.wait().unwrap();
        seen.await.unwrap();
    }
}
