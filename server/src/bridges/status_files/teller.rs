//! Submits status lines as notifications, and looks up what the log knows of their sessions.

use std::path::Path;

use hub_protocol::{InboxName, Notification, Post, ProjectName, Seq, StatusLine, Timestamp};
use serde_json::json;

use super::directory::Stamp;
use super::seen::Facts;
use super::worktrees::{Place, Worktrees};
use crate::bridges::{Verdict, local_sessions, store};
use crate::core::command::IdempotencyKey;
use crate::core::rejected::Rejected;
use crate::fold::{Registered, Session, State};
use crate::hub::Hub;
use crate::hub::draft::Context;

/// The value of `data.via` in notifications of this bridge.
const VIA: &str = "status_file";

/// Submits notifications in the name of sessions.
pub(super) struct Teller<'a> {
    hub: &'a Hub,
}

/// The session that a status file belongs to.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    pub project: ProjectName,
    pub session: InboxName,
}

/// The sessions whose files count in a directory.
pub(super) enum Writers<'a> {
    /// Any session: the directory is private to the hub's user.
    All,
    /// The live sessions of the worktree with this top.
    Of(&'a Worktrees, &'a Path),
}

/// A session as the fold knows it.
struct Found {
    writer: Writer,
    facts: Facts,
    last: Option<Seq>,
    cwd: Option<String>,
}

impl<'a> Teller<'a> {
    pub(super) fn new(hub: &'a Hub) -> Self {
        Self { hub }
    }

    /// The session that the file `session` belongs to, with the log's facts about it; `None` if no such session may
    /// write here.
    pub(super) fn writer(
        &self,
        writers: &Writers<'_>,
        session: &InboxName,
    ) -> Result<Option<(Writer, Facts)>, Rejected> {
        let found = match writers {
            Writers::All => Some(self.anybody(session.clone())?),
            Writers::Of(worktrees, top) => {
                let of = |it: &Found| {
                    let place = it.cwd.as_ref().map(|cwd| worktrees.place(Path::new(cwd)));
                    place == Some(Place::In((*top).to_owned()))
                };
                self.live(session)?.into_iter().find(of)
            }
        };
        Ok(found.map(|mut it| {
            it.facts.line = it.last.and_then(|seq| self.line(seq));
            (it.writer, it.facts)
        }))
    }

    /// `session` in the project of its last known state, otherwise in the default project.
    fn anybody(&self, session: InboxName) -> Result<Found, Rejected> {
        self.hub.read(|state, _| {
            let project = state.session_project(&session).cloned().unwrap_or_default();
            let key = state.resolve(&project, &session);
            let facts = state.session(&project, key).map(facts).unwrap_or_default();
            Found {
                last: state.session_state(&project, &session).map(|(_, seq)| seq),
                writer: Writer { project, session },
                facts,
                cwd: None,
            }
        })
    }

    /// The live sessions of this machine with this name or id, in any project.
    fn live(&self, name: &InboxName) -> Result<Vec<Found>, Rejected> {
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
                .sessions(None)
                .filter(|(_, key, it)| it.registered.is_some() && here(it) && called(key, it))
                .map(|(project, key, it)| Found {
                    writer: Writer {
                        project: project.clone(),
                        session: key.clone(),
                    },
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
        let said: Notification = serde_json::from_slice(&event.json()?).ok()?;
        let by_file = said.data.is_some_and(|data| data["via"] == VIA);
        by_file.then_some(StatusLine {
            kind: said.kind,
            msg: said.msg,
        })
    }

    /// Submits `line` of this write. A write is stored once, even if `hubctl run` submits it too, because both use the
    /// same key.
    pub(super) async fn tell(&self, writer: Writer, line: &StatusLine, stamp: &Stamp) -> Verdict {
        let key = stamp.key(&writer.session, line);
        let post = Post {
            msg: line.msg.clone(),
            from: Some(writer.session),
            kind: Some(line.kind),
            project: Some(writer.project),
            data: Some(json!({ "via": VIA })),
            // A modification time in the future comes from a wrong clock.
            ts: Some(stamp.written().min(Timestamp::now())),
            ..Post::default()
        };
        let once = IdempotencyKey::new(&key, line.to_string().as_bytes());
        store(self.hub, post, &Context::new(self.hub), once).await
    }
}

fn facts(session: &Session) -> Facts {
    let registered = session.registered.as_ref();
    let process = registered.and_then(|it| it.info.process.as_ref());
    let began = process.and_then(local_sessions::began);
    let since = registered.map(|it| it.since);
    Facts {
        state: session.state,
        // Before its first state, the session's timestamp is that of its registration.
        said: session.state.map(|_| session.ts),
        worked: session.worked,
        line: None,
        over: session.ended_at,
        // A command may write its file before its session is registered, so the process's start counts.
        begun: since.map(|since| began.map_or(since, |began: Timestamp| began.min(since))),
    }
}
