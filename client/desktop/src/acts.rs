//! The actions of a click: an answer as the person, or the session's pane or the dashboard.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use anyhow::Context as _;
use hub_protocol::{InboxName, Need, Question, Quick, Seq};
use hubctl::{Connection, Error, Path};
use serde::Deserialize;
use serde_json::json;
use tokio::process::Command;

/// The hub for the person.
#[derive(Debug)]
pub(crate) struct Acts(pub Arc<Connection>);

/// The answer to `POST /sessions/{target}/go`.
#[derive(Debug, Deserialize)]
struct ShownPane {
    attached: bool,
}

/// The output of `hubctl dashboard --json`.
#[derive(Debug, Deserialize)]
struct Opened {
    opened: bool,
}

impl Acts {
    /// Gives the answer of a button. Returns why the session does not have it.
    pub(crate) async fn answer(&self, need: &Need, quick: &Quick) -> Option<String> {
        let Quick { label, answer } = quick;
        let path = Path::new("/needs").segment(&need.id).segment("answer");
        match self.0.post::<Question>(path, answer).await {
            Ok(question) if question.deliverable => None,
            Ok(_) => Some(format!(
                "The answer {label} is stored, but does not reach the session."
            )),
            Err(error) => Some(format!("Not answered with {label}: {error}")),
        }
    }

    /// Shows the session's pane if a terminal shows its tmux session, else the page. Returns why neither is shown.
    pub(crate) async fn open(&self, need: Option<&Need>) -> Option<String> {
        if let Some(need) = need
            && self.go(need).await.is_ok_and(|pane| pane.attached)
        {
            return None;
        }
        let failed = self
            .open_page(need.and_then(|it| it.notification))
            .await
            .err()?;
        Some(format!("The dashboard was not opened: {failed:#}"))
    }

    async fn go(&self, need: &Need) -> Result<ShownPane, Error> {
        let session = need
            .session
            .as_ref()
            .map_or(need.name.as_str(), InboxName::as_str);
        let path = Path::new("/sessions").segment(session).segment("go");
        self.0
            .post(path.with("project", &need.project), &json!({}))
            .await
    }

    /// `hubctl dashboard` gives the browser a link in a file that only this user can read.
    async fn open_page(&self, id: Option<Seq>) -> anyhow::Result<()> {
        let program = hubctl();
        let mut command = Command::new(&program);
        command.args(self.0.flags()).args(["dashboard", "--json"]);
        if let Some(id) = id {
            command.arg("--id").arg(id.to_string());
        }
        let done = command.stdin(Stdio::null()).output().await;
        let done = done.with_context(|| program.display().to_string())?;
        let reason = String::from_utf8_lossy(&done.stderr);
        anyhow::ensure!(done.status.success(), "{}", reason.trim());
        let Opened { opened } = serde_json::from_slice(&done.stdout)?;
        anyhow::ensure!(
            opened,
            "{} Run hubctl dashboard in a terminal.",
            reason.trim()
        );
        Ok(())
    }
}

/// The `hubctl` beside this program, else the one on PATH.
fn hubctl() -> PathBuf {
    let beside = std::env::current_exe().map(|it| it.with_file_name("hubctl"));
    let beside = beside.ok().filter(|it| it.is_file());
    beside.unwrap_or_else(|| "hubctl".into())
}
