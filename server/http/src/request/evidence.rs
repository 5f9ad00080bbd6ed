//! The hub's observation of the one who answers: a device, or a process with its ancestors and its terminal.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::request::Parts;
use hub_engine::Hub;
use hub_protocol::{Evidence, Process};

use crate::error::ApiError;
use crate::login::DashboardSession;
use crate::peer::Peer;
use crate::request::caller::Ancestors;

/// The most programs that are named.
const MAX_PROGRAMS: usize = 16;

/// The end of a request that can be observed, before it is.
#[derive(Debug, Clone, Default)]
pub struct Witness {
    device: Option<(String, String)>,
    pid: Option<u32>,
}

impl Witness {
    /// Reads the extensions of a request.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let device = extensions.get::<DashboardSession>();
        Self {
            device: device.map(|it| (it.id().to_owned(), it.name().to_owned())),
            pid: match extensions.get::<Peer>() {
                Some(Peer::Unix { pid }) => *pid,
                _ => None,
            },
        }
    }

    /// Observes it now.
    pub(crate) async fn evidence(&self, hub: &Hub) -> Result<Evidence, ApiError> {
        if let Some((id, name)) = self.device.clone() {
            return Ok(Evidence {
                device: Some(id),
                device_name: Some(name),
                ..Evidence::default()
            });
        }
        let Some(pid) = self.pid else {
            return Ok(Evidence::default());
        };
        let agents = hub.read(|state, _| {
            let alive = state.sessions.iter(None).filter(|(_, _, it)| it.is_alive());
            let named = alive.flat_map(|(_, id, it)| {
                let name = it.shown_name().unwrap_or(id.as_str());
                it.processes()
                    .map(move |process| (process.clone(), name.to_owned()))
            });
            named.unzip::<_, _, Vec<_>, Vec<_>>()
        })?;
        let seen = tokio::task::spawn_blocking(move || observe(pid, &agents.0, &agents.1)).await;
        Ok(seen.unwrap_or_default())
    }
}

impl<S: Sync> FromRequestParts<S> for Witness {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions))
    }
}

/// Observes a process. The session is that of the nearest agent among it and its ancestors.
fn observe(pid: u32, agents: &[Process], names: &[String]) -> Evidence {
    let line = Ancestors::of(pid);
    let programs = line.iter().map(|(_, it)| it.name.clone());
    Evidence {
        pid: Some(pid),
        terminal: line.first().and_then(|(_, it)| Some(it.terminal?.name())),
        programs: programs.take(MAX_PROGRAMS).collect(),
        session: line.nearest(agents).map(|(_, place)| names[place].clone()),
        ..Evidence::default()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use hub_protocol::process::Stat;

    use super::*;

    #[test]
    fn a_process_is_observed_with_its_ancestors_and_the_session_of_the_nearest_agent() {
        let own = std::process::id();
        let parent = Stat::of(own).unwrap().parent;
        let agents = [parent, own].map(Process::running);
        let names = ["far", "near"].map(str::to_owned);
        let seen = observe(own, &agents, &names);
        assert_eq!(
            (seen.pid, seen.session.as_deref()),
            (Some(own), Some("near"))
        );
        let programs = [own, parent].map(|pid| Stat::of(pid).unwrap().name);
        assert_eq!(seen.programs[..2], programs);
        let far = observe(own, &agents[..1], &names);
        assert_eq!(far.session.as_deref(), Some("far"));
        assert_eq!(observe(own, &[], &[]).session, None);
        assert_eq!(observe(u32::MAX, &[], &[]).programs, [""; 0], "it is over");
    }
}
