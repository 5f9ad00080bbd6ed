//! The process and the pane of a session, as far as the kernel confirms them.
//!
//! The hub acts on them: it reads the process's environment and files, ends the session with it, and types into the pane. So
//! a request only selects among the ancestors of the process that made it, and an unconfirmed claim is dropped. Through
//! `ssh`, TCP or another hub, nothing is confirmed.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::request::Parts;
use hub_core::confirmed::Confirmed;
use hub_core::fold::{Session, SessionKey, State};
use hub_engine::Hub;
use hub_protocol::process::{boot_id, started};
use hub_protocol::{InboxName, Process, ProjectName, SessionInfo};

use super::caller::{Caller, Lineage, group_of};
use crate::error::ApiError;

/// The origin of a request: the process that made it, as this machine's kernel shows it, or that of the hub of the cluster
/// that took the request.
#[derive(Debug, Clone)]
pub struct Origin(pub Option<Lineage>);

impl Origin {
    /// Reads the origin from a request's extensions.
    pub(crate) async fn of(extensions: &Extensions) -> Self {
        match extensions.get::<Self>() {
            Some(known) => known.clone(),
            None => Self(Caller::of(extensions).lineage().await),
        }
    }

    /// Whether the request comes from a process that runs this session, or from below one; `None` if it does not and no process
    /// of this machine, or of that of the hub that took the request, runs the session.
    pub(crate) fn runs(&self, session: &Session) -> Option<bool> {
        let caller = self.0.as_ref();
        if session
            .processes()
            .any(|it| caller.is_some_and(|caller| caller.has(it)))
        {
            return Some(true);
        }
        // Only its own machine sees whether a process is alive; the hub there ends the session of one that is not.
        let is_beside =
            |it: &Process| !is_here(it) && caller.is_some_and(|caller| caller.is_beside(it));
        session
            .processes()
            .any(|it| is_alive(it) || is_beside(it))
            .then_some(false)
    }
}

impl<S: Sync> FromRequestParts<S> for Origin {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions).await)
    }
}

/// The claim of a request about its session's process and pane.
#[derive(Debug, Default, Clone)]
pub(crate) struct LocalClaim {
    pub(crate) pid: Option<u32>,
    pub(crate) pane: Option<String>,
    pub(crate) pane_delivery: Option<bool>,
}

impl LocalClaim {
    /// Takes the claim out of the properties that a request gives a session.
    pub(crate) fn take(info: &mut SessionInfo) -> Self {
        Self {
            pid: info.process.take().map(|it| it.pid),
            pane: info.pane.take(),
            pane_delivery: info.pane_delivery.take(),
        }
    }

    /// Confirms what the kernel shows of the caller, for the session at `place`: by its first id.
    pub(crate) fn confirm(
        self,
        hub: &Hub,
        origin: &Origin,
        place: &SessionKey,
    ) -> Result<Confirmed, ApiError> {
        let (known, named) = hub.read(|state, waiters| {
            let session = state.sessions.get(&place.0, &place.1);
            let known = session.and_then(|it| it.info()?.process.clone());
            let known = known.filter(is_alive);
            let named = || {
                let (caller, pid) = origin.0.as_ref().zip(self.pid)?;
                let named = caller.named(pid, waiters.read().agents())?;
                let is_own = known.as_ref().is_none_or(|it| caller.has(it));
                let holds = is_own || {
                    let waiters = waiters.read();
                    !is_command(state, place, waiters.agents(), (caller, named))
                };
                holds.then(|| named.clone())
            };
            let named = named();
            (known, named)
        })?;
        let confirmed = self.of(origin.0.as_ref(), named, known.as_ref());
        for process in confirmed.process.iter().chain(&confirmed.other) {
            note(hub, process)?;
        }
        Ok(confirmed)
    }

    /// Whether the process that is claimed runs below the agent that has this session. Such an agent has inherited the name in
    /// its environment, and is a session of its own.
    pub(crate) fn is_below_agent_of(
        &self,
        hub: &Hub,
        origin: &Origin,
        (project, session): (ProjectName, InboxName),
    ) -> Result<bool, ApiError> {
        let Some(caller) = origin.0.as_ref() else {
            return Ok(false);
        };
        let above = hub.read(|state, _| {
            let (project, key) = state.sessions.resolve_key(project, session);
            let session = state.sessions.get(&project, &key);
            session.filter(|it| it.has_hooks())?.info()?.process.clone()
        })?;
        let own = self.pid.and_then(|pid| caller.named(pid, &[]));
        let above = above.filter(is_alive);
        Ok(above.is_some_and(|above| own.is_some_and(|own| *own != above) && caller.has(&above)))
    }

    /// The part of it that holds. A session keeps its process while that lives: only what runs below it may name another one.
    fn of(
        self,
        caller: Option<&Lineage>,
        named: Option<Process>,
        known: Option<&Process>,
    ) -> Confirmed {
        let is_own = match known {
            Some(known) => caller.is_some_and(|it| it.has(known)),
            None => named.is_some(),
        };
        let (process, other) = if is_own { (named, None) } else { (None, named) };
        // Without a process, a pane is a text for people: the hub uses only one in which the session's process runs.
        let shows = is_own || known.is_none();
        Confirmed {
            process,
            other,
            pane: self.pane.filter(|_| shows),
            pane_delivery: self.pane_delivery.filter(|_| is_own),
        }
    }
}

/// Whether a process is a command of an agent that does not run this session, perhaps of one whose session has ended: it runs
/// below that agent's process.
fn is_command(
    state: &State,
    (project, key): &SessionKey,
    agents: &[Process],
    (caller, named): (&Lineage, &Process),
) -> bool {
    let own = state.sessions.get(project, key);
    let is_own = |it: &Process| own.is_some_and(|own| own.processes().any(|process| process == it));
    let alive = state.sessions.iter(None).filter(|(_, _, it)| it.is_alive());
    let known = alive.flat_map(|(_, _, it)| it.processes());
    let mut above = known.chain(agents);
    above.any(|it| it != named && caller.has(it) && !is_own(it))
}

/// Keeps a process of this machine as an agent's: its session may name another one later.
fn note(hub: &Hub, process: &Process) -> Result<(), ApiError> {
    Ok(hub.read(|_, waiters| {
        // Nearly every hook names a known one, and then none waits for the writer.
        let is_known = waiters.read().agents().contains(process);
        if is_here(process) && !is_known {
            let group = group_of(process.pid);
            waiters.write().activity().note_agent(process, group);
        }
    })?)
}

fn is_here(process: &Process) -> bool {
    process.boot_id == boot_id()
}

fn is_alive(process: &Process) -> bool {
    is_here(process) && process.started.is_some() && started(process.pid) == process.started
}
