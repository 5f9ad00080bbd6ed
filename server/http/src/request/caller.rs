//! Whether a person or an agent makes a request. The request's own claims do not count, only what the hub observes.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::request::Parts;
use hub_engine::Hub;
use hub_protocol::{InboxName, Process};

use crate::error::{ApiError, Code};
use crate::login::DashboardSession;
pub(crate) use crate::peer::CallerKind;
use crate::peer::Peer;

mod ancestors;
mod processes;
mod terminal;

pub use ancestors::{Ancestors, Lineage};
#[cfg(target_os = "linux")]
pub(crate) use processes::is_beside_us;
pub(crate) use terminal::group as group_of;

/// The caller of a request: its dashboard session and its peer process, as the guard and the socket report them.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    dashboard: bool,
    pid: Option<u32>,
    /// The kind that another hub of the cluster determined.
    known: Option<CallerKind>,
}

impl Caller {
    /// Reads the caller from a request's extensions.
    pub fn of(extensions: &Extensions) -> Self {
        let mut caller = Self {
            dashboard: extensions.get::<DashboardSession>().is_some(),
            ..Self::unknown()
        };
        match extensions.get::<Peer>() {
            Some(Peer::Unix { pid }) => caller.pid = *pid,
            Some(Peer::Relayed { dashboard, kind }) => {
                (caller.dashboard, caller.known) = (*dashboard, Some(*kind));
            }
            Some(Peer::Tcp { .. }) | None => {}
        }
        caller
    }

    /// A caller that nothing is known about, and so no person.
    pub(crate) fn unknown() -> Self {
        Self {
            dashboard: false,
            pid: None,
            known: None,
        }
    }

    /// Whether the caller is a session of the dashboard.
    pub fn is_dashboard(self) -> bool {
        self.dashboard
    }

    /// Whether [`Self::kind`] can find that it is an agent, which costs a look at its processes.
    pub(crate) fn may_be_agent(self) -> bool {
        !self.dashboard && self.known.map_or(self.pid.is_some(), CallerKind::is_agents)
    }

    /// Determines the kind of caller.
    pub async fn kind(self, hub: &Hub) -> Result<CallerKind, ApiError> {
        if self.dashboard {
            return Ok(CallerKind::Person);
        }
        if let Some(known) = self.known {
            return Ok(known);
        }
        let Some(pid) = self.pid else {
            return Ok(CallerKind::Unknown);
        };
        let mut agents = agents(hub)?;
        let so_far = hub.read(|_, waiters| waiters.read().agents_so_far().clone())?;
        // On a blocking thread, because reading the environment of a process may wait for that process.
        let programs = Arc::clone(hub.programs());
        agents.extend(programs.first());
        let inspection = tokio::task::spawn_blocking(move || {
            if programs.include(pid) {
                return CallerKind::Agent;
            }
            processes::inspect(pid, &agents, &so_far)
        });
        Ok(inspection.await.unwrap_or(CallerKind::Unknown))
    }

    /// The process that connected to the Unix socket of this machine's hub, with its ancestors; `None` for a program that
    /// forwards the requests of another machine.
    pub async fn lineage(self) -> Option<Lineage> {
        let pid = self.pid?;
        let found = tokio::task::spawn_blocking(move || {
            let is_relay = processes::is_relay(pid);
            (!is_relay).then(|| Ancestors::of(pid).lineage()).flatten()
        });
        found.await.ok().flatten()
    }

    /// Refuses everyone but a person.
    pub(crate) async fn demand_person(self, hub: &Hub) -> Result<(), ApiError> {
        match self.kind(hub).await? {
            CallerKind::Person => Ok(()),
            CallerKind::AgentsChild | CallerKind::Agent | CallerKind::Unknown => {
                Err(Code::NeedsPerson.into())
            }
        }
    }

    /// Refuses agents: what they may not do for the person, but a script with the token may.
    pub(crate) async fn refuse_agents(self, hub: &Hub) -> Result<(), ApiError> {
        if self.kind(hub).await?.is_agents() {
            return Err(Code::NeedsPerson.into());
        }
        Ok(())
    }

    /// Refuses agents as readers of the person's inbox: what they read, the person would not get.
    pub(crate) async fn may_read_as(self, hub: &Hub, inbox: &InboxName) -> Result<(), ApiError> {
        match inbox.as_str() {
            InboxName::PERSON => self.refuse_agents(hub).await,
            _ => Ok(()),
        }
    }

    /// Determines the kind of caller; refuses an agent that uses the person's name.
    pub(crate) async fn identify_as(
        self,
        hub: &Hub,
        mut names: impl Iterator<Item = &InboxName>,
    ) -> Result<CallerKind, ApiError> {
        let kind = self.kind(hub).await?;
        let persons = names.any(|name| name.as_str() == InboxName::PERSON);
        if persons && kind != CallerKind::Person {
            return Err(ApiError::new(
                Code::NotYours,
                "only a person speaks as 'person': give the session's own name",
            ));
        }
        Ok(kind)
    }

    /// Determines the kind of caller that relays what the person typed in a dialog of its client. Only `hubctl mcp` does
    /// that, as an agent's own child: a model's command can call neither itself so, nor the hub from another program.
    pub(crate) async fn identify_dialog(self, hub: &Hub) -> Result<CallerKind, ApiError> {
        let kind = self.kind(hub).await?;
        let pid = self.pid;
        let relays = move || pid.is_some_and(processes::is_mcp_server);
        let relays = tokio::task::spawn_blocking(relays).await.unwrap_or(false);
        match kind {
            CallerKind::Person => Ok(kind),
            CallerKind::AgentsChild if relays => Ok(kind),
            CallerKind::AgentsChild | CallerKind::Agent | CallerKind::Unknown => {
                Err(ApiError::new(
                    Code::NotYours,
                    "only an MCP server of a session with hooks can relay an answer from a dialog",
                ))
            }
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions))
    }
}

/// The processes of agents: those that sessions have now, and every one that the kernel confirmed since the hub started,
/// so that a session that names another process or ends does not free its commands.
fn agents(hub: &Hub) -> Result<Vec<Process>, ApiError> {
    Ok(hub.read(|state, waiters| {
        let known = state.sessions.iter(None);
        let mut all = waiters.read().agents().to_vec();
        all.extend(known.flat_map(|(_, _, it)| it.processes().cloned()));
        all
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_socket_and_other_hubs_tell_of_agents() {
        let over_tcp = Caller::unknown();
        let over_the_socket = Caller {
            pid: Some(1),
            ..over_tcp
        };
        let relayed = |kind| Caller {
            known: Some(kind),
            ..over_the_socket
        };
        let in_the_dashboard = Caller {
            dashboard: true,
            ..over_the_socket
        };
        assert!(!over_tcp.may_be_agent());
        assert!(over_the_socket.may_be_agent());
        assert!(relayed(CallerKind::AgentsChild).may_be_agent());
        assert!(!relayed(CallerKind::Person).may_be_agent());
        assert!(!in_the_dashboard.may_be_agent());
    }
}
