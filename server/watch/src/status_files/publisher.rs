//! Publishes status lines as notifications of their sessions, and looks up these sessions in the log.

use std::path::Path;

use hub_core::command::IdempotencyKey;
use hub_core::fold::{Registered, Session, SessionKey, State};
use hub_core::rejected::Rejected;
use hub_engine::Hub;
use hub_engine::draft::Context;
use hub_protocol::{InboxName, Notification, Post, Seq, StatusLine, Timestamp};
use serde_json::json;

use super::file_state::SessionFacts;
use super::worktrees::{Location, Worktrees};
use crate::untrusted_dir::FileVersion;
use crate::{Verdict, local_sessions, store};

/// The value of `data.via` in notifications of this bridge.
const VIA: &str = "status_file";

/// Publishes notifications in the name of sessions.
pub(super) struct StatusPublisher<'a> {
    hub: &'a Hub,
}

/// A session that a file may belong to.
struct Candidate {
    sender: SessionKey,
    facts: SessionFacts,
    last: Option<Seq>,
    cwd: Option<String>,
}

impl<'a> StatusPublisher<'a> {
    pub(super) fn new(hub: &'a Hub) -> Self {
        Self { hub }
    }

    /// The session that the file `session` belongs to, with the log's facts about it. In the state directory, which is
    /// private to the hub's user, that is any session. In the worktree with the given top, only a live session of the
    /// worktree counts; `None` if there is none.
    pub(super) fn sender(
        &self,
        worktree: Option<(&Worktrees, &Path)>,
        session: &InboxName,
    ) -> Result<Option<(SessionKey, SessionFacts)>, Rejected> {
        let found = match worktree {
            None => Some(self.any_session(session.clone())?),
            Some((worktrees, top)) => {
                let top = Location::Worktree(top.to_owned());
                let is_inside = |cwd: &String| worktrees.location(Path::new(cwd)) == top;
                let mut live = self.live_sessions(session)?;
                live.retain(|it| it.cwd.as_ref().is_some_and(is_inside));
                live.into_iter().next()
            }
        };
        Ok(found.map(|mut it| {
            it.facts.line = it.last.and_then(|seq| self.line(seq));
            (it.sender, it.facts)
        }))
    }

    /// `session` in the project of its last known state, otherwise in the default project.
    fn any_session(&self, session: InboxName) -> Result<Candidate, Rejected> {
        self.hub.read(|state, _| {
            let sessions = &state.sessions;
            let project = sessions.project_of(&session).cloned().unwrap_or_default();
            let known = sessions.with_name(&project, &session);
            Candidate {
                last: known.and_then(|it| it.state.map(|_| it.seq)),
                facts: known.map(facts).unwrap_or_default(),
                sender: (project, session),
                cwd: None,
            }
        })
    }

    /// The live sessions of this machine with this name or id, in any project.
    fn live_sessions(&self, name: &InboxName) -> Result<Vec<Candidate>, Rejected> {
        let host = local_sessions::host();
        self.hub.read(|state: &State, _| {
            let here = |it: &Session| {
                let of = it.info().and_then(|info| info.host.as_ref());
                it.is_alive() && of.is_none_or(|of| *of == host)
            };
            let called = |key: &InboxName, it: &Session| {
                let registered = it.registered.iter();
                let mut others = registered.flat_map(Registered::other_names);
                key == name || it.name() == Some(name.as_str()) || others.any(|other| other == name)
            };
            state
                .sessions
                .iter(None)
                .filter(|(_, key, it)| it.registered.is_some() && here(it) && called(key, it))
                .map(|(project, key, it)| Candidate {
                    sender: (project.clone(), key.clone()),
                    facts: facts(it),
                    last: it.state.map(|_| it.seq),
                    cwd: it.info().and_then(|info| info.cwd.clone()),
                })
                .collect()
        })
    }

    /// The status line that notification `seq` was made from, if it came from a status file.
    fn line(&self, seq: Seq) -> Option<StatusLine> {
        let event = self.hub.log().get(seq).ok()??;
        let notification: Notification = serde_json::from_slice(&event.json()?).ok()?;
        let by_file = notification.data.is_some_and(|data| data["via"] == VIA);
        by_file.then_some(StatusLine {
            kind: notification.kind,
            msg: notification.msg,
        })
    }

    /// Publishes `line` of this version of the file. A version is stored once, even if `hubctl run` submits it too,
    /// because both use the same key.
    pub(super) async fn publish(
        &self,
        (project, session): SessionKey,
        line: &StatusLine,
        version: &FileVersion,
    ) -> Verdict {
        let key = line.key(&session, version.inode_and_time());
        let post = Post {
            msg: line.msg.clone(),
            from: Some(session),
            kind: Some(line.kind),
            project: Some(project),
            data: Some(json!({ "via": VIA })),
            // A modification time in the future comes from a wrong clock.
            ts: Some(version.modified_at().min(Timestamp::now())),
            ..Post::default()
        };
        let once = IdempotencyKey::new(&key, line.to_string().as_bytes());
        store(self.hub, post, &Context::new(self.hub), once).await
    }
}

fn facts(session: &Session) -> SessionFacts {
    let registered = session.registered.as_ref();
    let process = registered.and_then(|it| it.info.process.as_ref());
    let started = process.and_then(local_sessions::process_started_at);
    SessionFacts {
        state: session.state,
        // Before its first state, the session's timestamp is that of its registration.
        state_at: session.state.map(|_| session.ts),
        worked_at: session.worked,
        line: None,
        ended_at: session.ended_at,
        // A command may write its file before its session is registered, so the process's start counts.
        started_at: registered.map(|it| started.map_or(it.since, |at| at.min(it.since))),
    }
}
