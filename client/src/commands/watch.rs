//! `hubctl watch`: forwards the lines that sessions write into status files.

mod changes;
mod file;
mod remote;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use hub_protocol::{
    HistoryPage, InboxName, Kind, Post, ProjectName, Published, Seq, SessionState, SpoolKey,
    StatusLine,
};
use serde_json::json;
use tokio::sync::oneshot;

use self::changes::Changes;
use self::file::{FileCheck, WatchedFile};
pub(super) use self::file::{Stamp, read};
use crate::api::session;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Hub, Path, Request, parse};
use crate::identity::Context;
use crate::output::say;
use crate::publish::{Attempt, publish_once, send_spooled};

/// How long to wait after a change before reading. Of several writes within this time, only the last one counts.
const DEBOUNCE: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A status file's first line is `STATE message`, with one of completed, needs_input, needs_testing, error, working. The \
line is forwarded when it changes; the same line counts again after the session has worked. The line at the start is \
forwarded too, unless it already was within the last day. The hub itself watches status/ in its state directory and \
.hub/status in the worktrees of its sessions; this command is for files in other places.

Examples:
  hubctl watch ~/build/status --session build
  hubctl watch /mnt/box/status            # each file is named by its session
  hubctl watch --once ./status/w1
  hubctl watch --ssh buildbox /srv/nightly/status --session nightly    # nothing is installed there")]
/// The arguments of `hubctl watch`.
pub(crate) struct WatchArgs {
    /// A status file, or a directory of them
    #[arg(value_name = "FILE|DIR")]
    path: PathBuf,
    /// The session that writes the file [default: the file's name]
    #[arg(long, value_name = "ID")]
    session: Option<InboxName>,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Forward the current lines and exit; exits 1 if a file could not be read
    #[arg(long)]
    once: bool,
    /// Watch a file on this other machine by ssh, with inotifywait if it is installed
    #[arg(long, value_name = "HOST", conflicts_with = "once")]
    ssh: Option<String>,
}

struct Watch<'a> {
    args: &'a WatchArgs,
    context: &'a Context,
    /// The session of every file; without it, the file's name is the session.
    session: Option<InboxName>,
    project: ProjectName,
    path: PathBuf,
    files: BTreeMap<PathBuf, WatchedFile>,
}

pub(crate) async fn run(args: &WatchArgs, context: &Context) -> Result<Exit, Error> {
    let (failed, failure) = oneshot::channel();
    let (path, session) = match &args.ssh {
        Some(host) => {
            let session = args.session.clone().map_or_else(|| named(&args.path), Ok)?;
            let copy = remote::follow(host, &args.path, context, failed)?;
            (copy, Some(session))
        }
        None => (context.env.absolute(&args.path), args.session.clone()),
    };
    let watch = Watch {
        args,
        context,
        session,
        project: context.project(args.project.as_ref()).await?.value,
        path,
        files: BTreeMap::new(),
    };
    tokio::select! {
        done = watch.run() => done,
        Ok(error) = failure => Err(Error::Failed(error)),
    }
}

/// The session that the name of a status file names.
fn named(path: &FilePath) -> Result<InboxName, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let session: InboxName = name
        .parse()
        .map_err(|error| Error::Usage(format!("{error}; --session names it")))?;
    if session.is_reserved() {
        return Err(Error::Usage(format!(
            "'{session}' is not a sender: the name is reserved"
        )));
    }
    Ok(session)
}

impl Watch<'_> {
    async fn run(mut self) -> Result<Exit, Error> {
        let mut changes = Changes::of(self.directory()?);
        loop {
            let settled = self.look().await?;
            if !settled {
                tokio::time::sleep(DEBOUNCE).await;
            } else if self.args.once {
                let ignored = self.files.values().any(WatchedFile::is_ignored);
                return Ok(if ignored { Exit::REFUSED } else { Exit::DONE });
            } else {
                changes.next().await;
                tokio::time::sleep(DEBOUNCE).await;
            }
        }
    }

    /// The directory to watch. A file in it may be missing at first, unless --once is given.
    fn directory(&self) -> Result<&FilePath, Error> {
        let missing = |path: &FilePath| {
            let path = path.display();
            Error::Failed(anyhow::anyhow!("{path} does not exist"))
        };
        if self.path.is_dir() {
            return Ok(&self.path);
        }
        if self.args.once && self.path.symlink_metadata().is_err() {
            return Err(missing(&self.path));
        }
        match self.path.parent() {
            Some(parent) if parent.is_dir() => Ok(parent),
            _ => Err(missing(&self.path)),
        }
    }

    /// Checks every file. Returns whether all are settled: no file is being written or must be tried again.
    async fn look(&mut self) -> Result<bool, Error> {
        let mut settled = true;
        for path in self.paths() {
            let mut file = self.files.remove(&path).unwrap_or_default();
            settled &= self.look_at(&mut file, &path).await;
            self.files.insert(path, file);
        }
        Ok(settled)
    }

    fn paths(&self) -> BTreeSet<PathBuf> {
        let mut paths = BTreeSet::new();
        let Ok(entries) = std::fs::read_dir(&self.path) else {
            paths.insert(self.path.clone());
            return paths;
        };
        let hidden = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            name.as_encoded_bytes().starts_with(b".")
        };
        let files = entries.flatten().map(|entry| entry.path());
        paths.extend(files.filter(|path| !hidden(path)));
        paths
    }

    async fn look_at(&self, file: &mut WatchedFile, path: &FilePath) -> bool {
        let session = match self.session.clone().map_or_else(|| named(path), Ok) {
            Ok(session) => session,
            Err(error) => {
                file.ignore(path, &error);
                return true;
            }
        };
        match file.look(path) {
            FileCheck::Same => true,
            FileCheck::Unfinished => false,
            FileCheck::Line(line) => {
                let news = match file.published() {
                    Some((last, id)) if *last == line => self.has_worked(&session, &line, id).await,
                    _ => true,
                };
                if news {
                    self.forward(file, path, (session, line)).await;
                }
                true
            }
        }
    }

    /// Publishes a status line. It is spooled if it cannot be sent.
    async fn forward(
        &self,
        file: &mut WatchedFile,
        path: &FilePath,
        (session, line): (InboxName, StatusLine),
    ) {
        let what = format!("{session}: {}: {}", line.kind, line.msg);
        let post = Post {
            msg: line.msg.clone(),
            from: Some(session),
            kind: Some(line.kind),
            project: Some(self.project.clone()),
            data: Some(json!({"via": "status_file"})),
            ts: file.written(),
            ..Post::default()
        };
        match self.send(&post, file.key(path, &post)).await {
            Ok(id) => {
                let stored = id.map_or("spooled".into(), |id| format!("stored as {id}"));
                say(format!("{what} ({stored})"));
                file.set_published(line, id);
            }
            Err(error) => file.ignore(path, &error),
        }
    }

    /// Sends `post` under `key`. Returns its id, or `None` if it was spooled.
    async fn send(&self, post: &Post, key: SpoolKey) -> Result<Option<Seq>, Error> {
        match publish_once(self.context, key, post).await? {
            Attempt::Sent(sent) => {
                let published: Published = parse(&sent.answer)?;
                send_spooled(&sent.hub, self.context).await;
                Ok(Some(published.id))
            }
            Attempt::Unsent(unsent) => unsent.keep(self.context).map(|()| None),
        }
    }

    /// Whether `session` has worked since its line was stored as `id`; `true` if unknown.
    async fn has_worked(&self, session: &InboxName, line: &StatusLine, id: Option<Seq>) -> bool {
        let Some(id) = id else { return true };
        let types = if line.kind == Kind::Progress {
            // `working` again is no news, unless the session reported another state in between.
            "complete,waiting,question,approval,testing,error,ended"
        } else {
            "progress"
        };
        let Ok(hub) = self.context.hub() else {
            return true;
        };
        let path = Path::new("/notifications")
            .with("project", &self.project)
            .with("from", session)
            .with("types", types)
            .with("after", id)
            .with("limit", 1);
        let page = hub.text(&Request::get(path)).await;
        let page = page.and_then(|page| parse::<HistoryPage>(&page));
        let has_said = page.map_or(true, |page| !page.notifications.is_empty());
        has_said || line.kind != Kind::Progress && is_working(&hub, session, &self.project).await
    }
}

/// Whether the hub has `session` as working. An agent's hooks may report that without a notification.
async fn is_working(hub: &Hub, session: &InboxName, project: &ProjectName) -> bool {
    let known = session::session(hub, session, project).await;
    known.is_ok_and(|it| it.state == Some(SessionState::Working))
}
