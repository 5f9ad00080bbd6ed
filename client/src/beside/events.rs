//! The events of a session that a program beside `hubctl` runs: reported as by the hooks of an agent, and answered.

use std::path::Path as FilePath;
use std::time::Duration;

use hub_protocol::process::uptime_micros;
use hub_protocol::{AckRequest, InboxName, Need, Needs, ProjectName, WaitReply};
use serde_json::Value;

use super::Connection;
use crate::api::need;
use crate::commands::hook::Surroundings;
use crate::error::Error;
use crate::hub::{Path, Request, body, json, parse};

/// How long the hub may take for an event that it does not hold.
const PATIENCE: Duration = Duration::from_secs(10);

/// The place of the sessions that a program runs in one directory.
#[derive(Debug, Clone)]
pub struct SessionPlace {
    /// The project of the sessions.
    pub project: ProjectName,
    /// The path of their events.
    path: Path,
}

/// The hub's answer to an event.
#[derive(Debug, Default)]
pub struct EventReply {
    /// The answer in the form of the reporter; null if there is none.
    pub reply: Value,
    /// The lease of the notifications in it, with the inbox that acknowledges it.
    pub lease: Option<(String, String)>,
}

impl SessionPlace {
    /// Returns it with another fact that every event has.
    #[must_use]
    pub fn with(self, name: &str, value: impl std::fmt::Display) -> Self {
        Self {
            path: self.path.with(name, value),
            ..self
        }
    }
}

impl Connection {
    /// The place of a session in `dir` that this process runs for `reporter`.
    pub async fn place(
        &self,
        reporter: &str,
        dir: &FilePath,
        name: Option<InboxName>,
    ) -> SessionPlace {
        let found = Surroundings::of_program(&self.context, dir, name).await;
        SessionPlace {
            path: found.event_path(&self.context.env, reporter),
            project: found.project,
        }
    }

    /// Reports an event under a key that makes a retry safe. `held` is how long the hub may hold it for an answer.
    pub async fn event(
        &self,
        place: &SessionPlace,
        payload: &Value,
        (key, held): (&str, Option<Duration>),
    ) -> Result<EventReply, Error> {
        let path = place.path.clone();
        let path = path.with("lease", true).with("at", uptime_micros());
        let request = Request::post(path, payload.to_string()).header("idempotency-key", key);
        let answer = self.hub.send(&request, held.unwrap_or(PATIENCE)).await?;
        let header = |name: &str| Some(answer.headers().get(name)?.to_str().ok()?.to_owned());
        let lease = header("hub-lease").zip(header("hub-inbox"));
        let text = body(answer).await?;
        let reply = if text.is_empty() {
            Value::Null
        } else {
            parse(&text)?
        };
        Ok(EventReply { reply, lease })
    }

    /// Says that the notifications of a lease were given to the model.
    pub async fn acknowledge(
        &self,
        place: &SessionPlace,
        (lease, inbox): (&str, &str),
    ) -> Result<(), Error> {
        let path = Path::new("/inboxes").segment(inbox).segment("ack");
        let ack = AckRequest {
            lease: Some(lease.to_owned()),
            ..AckRequest::default()
        };
        let path = path.with("project", &place.project);
        self.hub.text(&Request::post(path, json(&ack)?)).await?;
        Ok(())
    }

    /// Waits for notifications of a session of `hub-acp` as a module of its agent does; `None` if there were none in time.
    pub async fn wait_as_module(
        &self,
        place: &SessionPlace,
        session: &str,
        (timeout, takeover): (Duration, bool),
    ) -> Result<Option<WaitReply>, Error> {
        let path = Path::new("/wait")
            .with("session", session)
            .with("project", &place.project)
            .with("way", "module")
            .with("as", format_args!("acp:{session}"))
            .with("timeout", timeout.as_secs())
            .maybe("takeover", takeover.then_some(true));
        let answer = self
            .hub
            .send(&Request::get(path), timeout + PATIENCE)
            .await?;
        let text = body(answer).await?;
        if text.is_empty() {
            return Ok(None);
        }
        parse(&text).map(Some)
    }

    /// Changes what the hub knows of a session.
    pub async fn describe(
        &self,
        place: &SessionPlace,
        session: &str,
        info: &Value,
    ) -> Result<(), Error> {
        let path = Path::new("/sessions").segment(session);
        let path = path.with("project", &place.project);
        self.hub.text(&Request::put(path, info.to_string())).await?;
        Ok(())
    }

    /// What the session needs of the person.
    pub async fn needs_of(&self, place: &SessionPlace, session: &str) -> Result<Vec<Need>, Error> {
        let list: Needs = parse(&self.hub.text(&Request::get(Path::new("/needs"))).await?)?;
        let is_its = |it: &Need| {
            let id = it.session.as_ref().map(InboxName::as_str);
            it.is_open() && it.project == place.project && id == Some(session)
        };
        Ok(list.needs.into_iter().filter(is_its).collect())
    }

    /// Answers a need with the body of `POST /needs/{id}/answer`.
    pub async fn answer_need(&self, id: &str, answer: &Value) -> Result<(), Error> {
        let path = need::path(id).segment("answer");
        self.hub
            .text(&Request::post(path, answer.to_string()))
            .await?;
        Ok(())
    }
}
