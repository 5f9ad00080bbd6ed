//! `hubctl wait --rewake`: an `asyncRewake` hook of Claude Code. It outlives the turn, and its exit code 2 wakes the
//! session with the text on stderr, so it writes nothing else there.

use std::io::{self, Write};
use std::time::Duration;

use hub_agents::Agent;
use hub_protocol::{InboxName, Problem, ProjectName, WaitReply};
use tokio::time::Instant;

use super::acknowledgement::Acknowledgement;
use super::identity::waiter_name;
use super::waiter::{GRACE, INSTANT, LONGEST_POLL, framed};
use crate::api::holder;
use crate::commands::hook::{Payload, is_headless, is_own, read_stdin, session_project, yields};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::backoff::Backoff;
use crate::hub::{Hub, Path, Request, parse};
use crate::identity::Context;
use crate::system::parent;

/// Less than the hook's own timeout of a day, so that this process ends before the agent ends it.
const LONGEST: Duration = Duration::from_secs(86_000);

/// How many milliseconds to wait for further notifications after the first.
const SETTLE: u64 = 200;

/// Waits until a notification arrives for the session, or its agent ends. On any error it exits 0, which does not wake
/// the session.
pub(super) async fn run(context: &Context, of_plugin: bool) -> Exit {
    let input = read_stdin().unwrap_or_default();
    let payload = Payload::parse(&input, None);
    let by_file = payload
        .as_ref()
        .is_some_and(|it| it.event() == "FileChanged");
    if !is_own(Agent::Claude, context, payload.as_ref()) {
        return Exit::DONE;
    }
    if is_headless(&context.env, Agent::Claude) && !by_file
        || of_plugin && yields(context, payload.as_ref())
    {
        return Exit::DONE;
    }
    if by_file {
        if payload.is_some_and(|it| it.text("event") == Some("unlink")) {
            // The hub removes the file of a session that has ended.
            return Exit::DONE;
        }
        // The hub has announced notifications by the change; the hook of the prompt that begins now delivers them.
        eprintln!("They follow.");
        return Exit::REWAKE;
    }
    let Some(rewake) = Rewake::new(context, payload.as_ref()).await else {
        return Exit::DONE;
    };
    tokio::select! {
        exit = rewake.run() => exit.unwrap_or(Exit::DONE),
        () = parent::ended(&context.env) => Exit::DONE,
    }
}

/// The one waiter of a session with hooks.
struct Rewake<'a> {
    context: &'a Context,
    session: InboxName,
    project: ProjectName,
    name: String,
}

impl<'a> Rewake<'a> {
    async fn new(context: &'a Context, payload: Option<&Payload>) -> Option<Self> {
        let text = |name: &str| payload?.text(name);
        let given = text("session_id").and_then(|id| id.parse().ok());
        let session = given.or_else(|| {
            Some(
                crate::identity::sender::from_environment(&context.env)
                    .ok()??
                    .value,
            )
        })?;
        Some(Self {
            project: session_project(context, Agent::Claude, text("cwd"), &session).await,
            name: format!("rewake:{}", waiter_name(Some(&session))),
            session,
            context,
        })
    }

    /// Waits, also while the hub restarts. `None` when there is nothing more to wait for.
    async fn run(&self) -> Option<Exit> {
        let until = Instant::now() + LONGEST;
        let mut backoff = Backoff::patient();
        while Instant::now() < until {
            let asked = Instant::now();
            let answer = match self.context.hub() {
                Ok(hub) => self.poll(&hub, until).await.map(|batch| (hub, batch)),
                Err(error) => Err(error),
            };
            match answer {
                Ok((hub, Some(batch))) => return self.wake(&hub, &batch).await,
                Ok((_, None)) if asked.elapsed() > INSTANT => backoff.reset(),
                Err(Error::Refused(problem)) if self.is_over(&problem).await => return None,
                Ok(_) | Err(_) => backoff.pause().await,
            }
        }
        None
    }

    async fn poll(&self, hub: &Hub, until: Instant) -> Result<Option<WaitReply>, Error> {
        let left = until.saturating_duration_since(Instant::now());
        let seconds = left.min(LONGEST_POLL).as_secs().max(1);
        let path = Path::new("/wait")
            .with("session", &self.session)
            .with("way", "rewake")
            .with("project", &self.project)
            .with("as", &self.name)
            .with("settle", SETTLE)
            .with("timeout", seconds);
        let patience = Duration::from_secs(seconds) + GRACE;
        let answer = hub.text_within(&Request::get(path), patience).await?;
        if answer.is_empty() {
            return Ok(None);
        }
        parse(&answer).map(Some)
    }

    /// Whether a refusal is final, because another waiter already wakes this session. It is not final if the session is
    /// not known yet, because its start is being reported at the same time, or if another session's waiter holds the
    /// inbox.
    async fn is_over(&self, problem: &Problem) -> bool {
        match problem.code.as_str() {
            "inbox_held" => match (&problem.holder, self.context.hub()) {
                (Some(holder), Ok(hub)) => {
                    holder::wakes(holder, &hub, &self.project, Some(&self.session)).await
                }
                _ => false,
            },
            "taken_over" => true,
            _ => false,
        }
    }

    /// Writes the batch to stderr. Notifications that could not be shown are not acknowledged.
    async fn wake(&self, hub: &Hub, batch: &WaitReply) -> Option<Exit> {
        let (text, only) = framed(batch);
        let mut stderr = io::stderr().lock();
        stderr
            .write_all(text.as_bytes())
            .and_then(|()| stderr.flush())
            .ok()?;
        drop(stderr);
        let acknowledgement = Acknowledgement {
            project: &self.project,
            inbox: &self.session,
            lease: &batch.lease,
            only: only.as_deref(),
            by: &self.name,
        };
        // If this fails, the hub offers the batch again; the session wakes now in any case.
        let _ = acknowledgement.send(hub).await;
        Some(Exit::REWAKE)
    }
}
