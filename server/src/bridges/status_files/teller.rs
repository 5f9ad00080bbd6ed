//! The way from a status line to the log, and what the log knows before.

use std::path::Path;

use hub_protocol::{InboxName, Notification, Post, ProjectName, StatusLine};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::directory::Stamp;
use super::seen::Facts;
use crate::bridges::{Verdict, store};
use crate::command::Once;
use crate::draft::Context;
use crate::hub::{Hub, Rejected};
use crate::secret::hex;

/// What notifications by this bridge say of their way.
const VIA: &str = "status_file";

/// Speaks for sessions.
pub(super) struct Teller<'a> {
    hub: &'a Hub,
}

/// Who writes a file.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    pub project: ProjectName,
    pub session: InboxName,
}

impl<'a> Teller<'a> {
    pub(super) fn new(hub: &'a Hub) -> Self {
        Self { hub }
    }

    /// What is known of `session`, in its project: `project` if one is given, else the one in which it was last heard
    /// of, else the default.
    pub(super) async fn facts(
        &self,
        project: Option<&ProjectName>,
        session: &InboxName,
    ) -> Result<(Writer, Facts), Rejected> {
        let (given, session) = (project.cloned(), session.clone());
        let (writer, mut facts, last) = self
            .hub
            .query(move |state, _| {
                let known = given.or_else(|| state.session_project(&session).cloned());
                let project = known.unwrap_or_default();
                let times = state.session_times(&project, &session);
                let last = state.session_state(&project, &session);
                let facts = Facts {
                    state: last.map(|(state, _)| state),
                    said: times.map(|(said, _)| said),
                    worked: times.and_then(|(_, worked)| worked),
                    line: None,
                };
                (Writer { project, session }, facts, last.map(|(_, seq)| seq))
            })
            .await?;
        facts.line = last.and_then(|seq| self.line(seq));
        Ok((writer, facts))
    }

    /// The status line that notification `seq` came from, if it did.
    fn line(&self, seq: hub_protocol::Seq) -> Option<StatusLine> {
        let event = self.hub.log().get(seq).ok()??;
        let said: Notification = serde_json::from_slice(&event.json()?).ok()?;
        let by_file = said.data.is_some_and(|data| data["via"] == VIA);
        by_file.then_some(StatusLine {
            kind: said.kind,
            msg: said.msg,
        })
    }

    /// Says `line`, which this write of the file `path` holds; a write is told once.
    pub(super) async fn tell(
        &self,
        writer: Writer,
        line: &StatusLine,
        (path, stamp): (&Path, &Stamp),
    ) -> Verdict {
        let post = Post {
            msg: line.msg.clone(),
            from: Some(writer.session),
            kind: Some(line.kind),
            project: Some(writer.project),
            data: Some(json!({ "via": VIA })),
            ..Post::default()
        };
        let text = line.to_string();
        let write = format!("{}\0{}\0{text}", path.display(), stamp.moment());
        let key = format!("status-file:{}", hex(&Sha256::digest(write.as_bytes())));
        let once = Once::new(&key, text.as_bytes());
        store(self.hub, post, &Context::new(self.hub), once).await
    }
}
