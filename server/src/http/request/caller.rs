//! Whether a person or an agent makes a request. The request's own claims do not count, only what the hub observes.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::request::Parts;
use hub_protocol::{InboxName, Process};

use crate::http::error::{ApiError, Code};
use crate::http::login::DashboardSession;
pub(crate) use crate::http::peer::CallerKind;
use crate::http::peer::Peer;
use crate::hub::Hub;

/// The caller of a request: its dashboard session and its peer process, as the guard and the socket report them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    dashboard: bool,
    pid: Option<u32>,
    /// The kind that another hub of the cluster determined.
    known: Option<CallerKind>,
}

impl Caller {
    /// Reads the caller from a request's extensions.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let mut caller = Self {
            dashboard: extensions.get::<DashboardSession>().is_some(),
            pid: None,
            known: None,
        };
        match extensions.get::<Peer>() {
            Some(Peer::Unix { pid }) => caller.pid = *pid,
            Some(Peer::Cluster { dashboard, kind }) => {
                (caller.dashboard, caller.known) = (*dashboard, Some(*kind));
            }
            Some(Peer::Tcp { .. }) | None => {}
        }
        caller
    }

    /// Whether the caller is a session of the dashboard.
    pub(crate) fn is_dashboard(self) -> bool {
        self.dashboard
    }

    /// Determines the kind of caller.
    pub(crate) async fn kind(self, hub: &Hub) -> Result<CallerKind, ApiError> {
        if self.dashboard {
            return Ok(CallerKind::Person);
        }
        if let Some(known) = self.known {
            return Ok(known);
        }
        let Some(pid) = self.pid else {
            return Ok(CallerKind::Unknown);
        };
        let agents = hub.read(|state, _| {
            let alive = state.sessions(None).filter(|(_, _, it)| it.is_alive());
            alive
                .filter_map(|(_, _, it)| it.info()?.process.clone())
                .collect::<Vec<_>>()
        })?;
        // On a blocking thread, because reading the environment of a process may wait for that process.
        let inspection = tokio::task::spawn_blocking(move || processes::inspect(pid, &agents));
        Ok(inspection.await.unwrap_or(CallerKind::Unknown))
    }

    /// Determines the kind of caller; refuses an agent that uses the person's name.
    pub(crate) async fn identify_as(
        self,
        hub: &Hub,
        mut names: impl Iterator<Item = &InboxName>,
    ) -> Result<CallerKind, ApiError> {
        let kind = self.kind(hub).await?;
        let persons = names.any(|name| name.as_str() == InboxName::PERSON);
        if persons && matches!(kind, CallerKind::Agent | CallerKind::AgentsChild) {
            return Err(ApiError::new(
                Code::NotYours,
                "an agent cannot speak as 'person': give the session's own name",
            ));
        }
        Ok(kind)
    }

    /// Determines the kind of caller that relays what the person typed in a dialog of its client; refuses the commands
    /// of an agent.
    pub(crate) async fn identify_dialog(self, hub: &Hub) -> Result<CallerKind, ApiError> {
        match self.kind(hub).await? {
            CallerKind::Agent => Err(ApiError::new(
                Code::NotYours,
                "only an MCP server of a session with hooks can relay an answer from a dialog",
            )),
            kind => Ok(kind),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions))
    }
}

#[cfg(target_os = "linux")]
mod processes {
    use std::fs::{self, File};
    use std::io::Read as _;

    use super::{CallerKind, Process};
    use crate::core::stat::Stat;
    use crate::http::request::desktop_unit::is_desktops_service;

    /// Variables that only agents set for the commands they run.
    const AGENT_VARIABLES: [&str; 11] = [
        "CLAUDECODE",
        "CLAUDE_CODE_SESSION_ID",
        "CODEX_THREAD_ID",
        "CODEX_SANDBOX",
        "GEMINI_CLI",
        "GEMINI_SESSION_ID",
        "OPENCODE",
        "CURSOR_AGENT",
        "COPILOT_CLI",
        "QWEN_CODE",
        "PI_CODING_AGENT",
    ];

    /// Limit for the walk up the process tree; no process has this many ancestors.
    const MAX_DEPTH: usize = 1024;

    /// At most this many bytes of an environment are read.
    const MAX_ENVIRONMENT: u64 = 4 << 20;

    /// Inspects process `pid`: an agent if it or an ancestor is one of `agents`, or if its environment has an agent's
    /// variable.
    pub(crate) fn inspect(pid: u32, agents: &[Process]) -> CallerKind {
        if is_relay(pid) {
            return CallerKind::Unknown;
        }
        match (by_ancestors(pid, agents), has_agents_environment(pid)) {
            (Some(CallerKind::AgentsChild), _) => CallerKind::AgentsChild,
            (Some(CallerKind::Agent), _) | (_, Some(true)) => CallerKind::Agent,
            (Some(CallerKind::Person), Some(false))
                if is_detached(pid, agents) && !is_desktop(pid) =>
            {
                CallerKind::Unknown
            }
            (Some(kind), Some(false)) => kind,
            _ => CallerKind::Unknown,
        }
    }

    /// Whether a process forwards the requests of another machine, whose processes cannot be seen here.
    fn is_relay(pid: u32) -> bool {
        let program = fs::read_link(format!("/proc/{pid}/exe"));
        program.is_ok_and(|it| it.file_name().is_some_and(|name| name == "ssh"))
    }

    /// The kind of process by its nearest ancestor among `agents`; `None` if a process on the way cannot be seen.
    fn by_ancestors(pid: u32, agents: &[Process]) -> Option<CallerKind> {
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let boot_id = boot_id.trim();
        let mut next = pid;
        for depth in 0..MAX_DEPTH {
            let Stat {
                parent, started, ..
            } = Stat::of(next)?;
            let is_it = |it: &Process| {
                it.pid == next
                    && it.started == Some(started)
                    && it.boot_id.as_deref().is_none_or(|it| it == boot_id)
            };
            if agents.iter().any(is_it) {
                return Some(match depth {
                    1 => CallerKind::AgentsChild,
                    _ => CallerKind::Agent,
                });
            }
            if parent == 0 {
                return Some(CallerKind::Person);
            }
            next = parent;
        }
        None
    }

    /// Whether a process lost its ancestors since an agent started, so that an agent may have been among them: it has no
    /// terminal, or an agent's, and it or the first process of its session is a child of init or of its stand-in.
    ///
    /// A command can leave its agent by `setsid` or by a double fork. It cannot get a terminal in this way, only open a
    /// new one.
    fn is_detached(pid: u32, agents: &[Process]) -> bool {
        let Some(Stat {
            session, terminal, ..
        }) = Stat::of(pid)
        else {
            return true;
        };
        let stats = || agents.iter().filter_map(|it| Stat::of(it.pid));
        if terminal != 0 && stats().all(|it| it.terminal != terminal) {
            return false;
        }
        let mut first = pid;
        let top = loop {
            let Some(it) = Stat::of(first) else {
                return true;
            };
            match Stat::of(it.parent).filter(|above| above.session == session) {
                Some(_) if first != session => first = it.parent,
                _ => break it,
            }
        };
        let first_agent = agents.iter().filter_map(|it| it.started).min();
        let is_younger = first_agent.is_some_and(|agent| top.started >= agent);
        is_younger && (first != session || is_reaper(top.parent))
    }

    /// Whether a process is `hub-desktop` as a service of the user's systemd, which passes on what the person clicks.
    fn is_desktop(pid: u32) -> bool {
        let uid = rustix::process::getuid().as_raw();
        Stat::of(pid).is_some_and(|it| is_desktops_service(pid, it.parent, uid))
    }

    /// Whether a process adopts orphans, as init and the service manager of a user do.
    fn is_reaper(pid: u32) -> bool {
        let name = fs::read_to_string(format!("/proc/{pid}/comm"));
        pid <= 1 || name.is_ok_and(|it| it.trim() == "systemd")
    }

    fn has_agents_environment(pid: u32) -> Option<bool> {
        let file = File::open(format!("/proc/{pid}/environ")).ok()?;
        let mut text = Vec::new();
        file.take(MAX_ENVIRONMENT).read_to_end(&mut text).ok()?;
        let name = |variable: &[u8]| {
            variable
                .split(|byte| *byte == b'=')
                .next()
                .map(<[u8]>::to_vec)
        };
        let mut names = text.split(|byte| *byte == 0).filter_map(name);
        Some(names.any(|name| AGENT_VARIABLES.iter().any(|it| it.as_bytes() == name)))
    }

    #[cfg(test)]
    mod tests {
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
                started: Stat::of(pid).map(|it| it.started + later),
                boot_id: None,
            }
        }

        #[test]
        fn an_agents_process_is_known_by_its_ancestors_or_its_environment() {
            let (mut plain, mut claude) = (child(None), child(Some("CLAUDECODE")));
            let me = std::process::id();
            // Until the child has executed its program, its environment is its parent's.
            let environment = format!("/proc/{}/environ", plain.id());
            until(|| fs::read(&environment).unwrap() == b"");
            assert_eq!(inspect(plain.id(), &[]), CallerKind::Person);
            let child = inspect(plain.id(), &[process(me, 0)]);
            assert_eq!(child, CallerKind::AgentsChild);
            let own = process(plain.id(), 0);
            assert_eq!(inspect(plain.id(), &[own]), CallerKind::Agent);
            let other = process(me, 1);
            // A reused number.
            assert_eq!(inspect(plain.id(), &[other]), CallerKind::Person);
            until(|| inspect(claude.id(), &[]) == CallerKind::Agent);
            for child in [&mut plain, &mut claude] {
                child.kill().unwrap();
                child.wait().unwrap();
            }
            assert_eq!(inspect(plain.id(), &[]), CallerKind::Unknown, "it is over");
        }
    }
}

/// The stand-in for systems that do not show a process's ancestors.
#[cfg(not(target_os = "linux"))]
mod processes {
    use super::{CallerKind, Process};

    pub(crate) fn inspect(_: u32, _: &[Process]) -> CallerKind {
        CallerKind::Unknown
    }
}
