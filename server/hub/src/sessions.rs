//! The sessions as the API shows them.

use std::collections::BTreeSet;
use std::time::Duration;

use hub_agents::Agent;
use hub_core::fold::{Inbox, Session as FoldSession, SessionKey, State as Fold};
use hub_core::rejected::Rejected;
use hub_core::waiters::SharedWaiters;
use hub_protocol::{Listener, Phase, ProjectName, Session, SessionInfo, Sessions, Wake};

use super::Hub;
use super::follow::List;
use super::phase::{self, FoundPhase, PhaseTexts};

/// The sessions of a project, or all. Sessions that have ended are included on demand only, except one that died at work and
/// that the person has not closed yet.
pub async fn list(
    hub: &Hub,
    project: Option<ProjectName>,
    all: bool,
) -> Result<Sessions, Rejected> {
    let (sessions, _) = read(hub, project, all, PhaseTexts::default()).await?;
    Ok(sessions)
}

async fn read(
    hub: &Hub,
    project: Option<ProjectName>,
    all: bool,
    texts: PhaseTexts,
) -> Result<(Sessions, PhaseTexts), Rejected> {
    let known = hub.read(|state, _| state.sessions.iter(project.as_ref()).count())?;
    let found = hub.list(move |state, waiters| {
        let reporting = reporting(state);
        let found = state.sessions.iter(project.as_ref());
        let found = found.map(|(project, key, session)| {
            let place = (project.clone(), key.clone());
            (phase::find(state, waiters, &place, session), place, session)
        });
        let shown = found
            .filter(|(phase, ..)| all || !phase.is_gone())
            .map(|(phase, place, session)| (shown(state, waiters, &place, session, &phase), phase));
        (shown.unzip(), reporting)
    });
    let ((mut sessions, phases), reporting): ((Vec<_>, Vec<_>), _) = found.await?;
    let (phases, texts) = texts.complete(hub, phases).await?;
    for (session, phase) in sessions.iter_mut().zip(phases) {
        session.phase = phase;
    }
    let ended = known.saturating_sub(sessions.len());
    let sessions = Sessions {
        sessions,
        ended,
        reporting,
    };
    Ok((sessions, texts))
}

/// The products whose hooks have reported a session.
fn reporting(state: &Fold) -> Vec<String> {
    let all = state.sessions.iter(None);
    let registered = all.filter_map(|(_, _, it)| it.registered.as_ref());
    let agents = registered.filter(|it| it.hooks);
    let agents: BTreeSet<&str> = agents.filter_map(|it| it.info.agent.as_deref()).collect();
    let known = |it: &&Agent| agents.contains(it.as_str());
    let products = Agent::ALL.iter().filter(known).map(|it| it.facts().product);
    products.map(str::to_owned).collect()
}

/// The list for streams, with the texts that it was read from.
#[derive(Debug, Default)]
pub struct SessionList(PhaseTexts);

impl List for SessionList {
    type Whole = Sessions;
    const DEBOUNCE: Duration = Duration::from_millis(200);
    // A session calls tools, and falls silent, without a record.
    const RECHECK: Duration = Duration::from_secs(2);

    async fn read(self, hub: &Hub) -> Result<(Sessions, Self), Rejected> {
        let (sessions, texts) = read(hub, None, false, self.0).await?;
        Ok((sessions, Self(texts)))
    }
}

/// The session in this phase as the API shows it, without the phase itself.
pub fn shown(
    state: &Fold,
    waiters: &SharedWaiters,
    place: &SessionKey,
    session: &FoldSession,
    phase: &FoundPhase,
) -> Session {
    let (project, key) = place;
    let info = session.info().cloned().unwrap_or_default();
    let last_seen = [waiters.read().seen(project, key), Some(session.ts)];
    let last_seen = last_seen.into_iter().flatten().max();
    let listeners = state.listeners(project, key);
    let waiter = waiters.read().holder(project, key);
    let unreachable = waiters
        .read()
        .unreachable(place)
        .map(|(_, why)| why.to_owned());
    let wake = match waiter {
        Some(_) => Wake::Live,
        None if !session.is_alive() => Wake::None,
        None if session.has_hooks() || waiters.read().waited(project, key) => Wake::Stale,
        None => Wake::None,
    };
    Session {
        id: key.clone(),
        aliases: session
            .registered
            .as_ref()
            .map(|it| it.other_names().cloned().collect())
            .unwrap_or_default(),
        name: session.shown_name().unwrap_or(key.as_str()).to_owned(),
        project: project.clone(),
        info: SessionInfo { name: None, ..info },
        primary: state.sessions.primary(project) == Some(key),
        phase: Phase::default(),
        state: session.state,
        evidence: (!session.evidence.is_empty()).then(|| session.evidence.clone()),
        since: session.state.map(|_| session.ts),
        gone: session.crashed,
        silent: phase.is_silent,
        last_seen,
        last: session.last,
        pending: state.inboxes.get(project, key).map_or(0, Inbox::len) as u64,
        waiter,
        wake,
        unreachable: unreachable.filter(|_| session.is_alive()),
        listeners: listeners
            .map(|(caller, it)| Listener {
                caller: caller.clone(),
                since: it.since,
                until: it.until,
            })
            .collect(),
    }
}
