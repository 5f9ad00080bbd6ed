//! What git says about a directory of this machine. The hub of this machine remembers it; without one, git is asked here.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use hub_protocol::git::{Answers, Directory, Silence};
use hub_protocol::{InboxName, InvalidName};

use crate::hub::{Path as Route, Request, parse};
use crate::identity::Context;

/// Variables that configure git for this process; the hub has others.
const OWN_CONFIGURATION: [&str; 3] = [
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_PARAMETERS",
];

/// Why the project of a directory is not known.
#[derive(Debug)]
pub(crate) enum NoProject {
    /// Git configures a project that is none. The directory is the one without it.
    Misnamed(InvalidName, Directory),
    /// Git gives no answer.
    Silent(Silence),
    /// The directory is gone, and no hub knows a session that ran there.
    Gone,
}

/// Asks about `dir`, in which the agent's `session` runs. The hub and git have `patience` each.
pub(crate) async fn directory(
    context: &Context,
    dir: &Path,
    session: Option<&InboxName>,
    patience: Duration,
) -> Result<Directory, NoProject> {
    let there = fs::metadata(dir).ok().filter(Metadata::is_dir);
    if let Some(found) = of_hub(context, dir, (there.as_ref(), session), patience).await {
        return Ok(found);
    }
    if there.is_none() {
        return Err(NoProject::Gone);
    }
    let answers = Answers::about(dir, Instant::now() + patience).map_err(NoProject::Silent)?;
    answers
        .directory()
        .map_err(|error| NoProject::Misnamed(error, answers.directory_anyway()))
}

/// What the hub says; `None` if it does not have this directory, or gives no answer.
async fn of_hub(
    context: &Context,
    dir: &Path,
    (there, session): (Option<&Metadata>, Option<&InboxName>),
    patience: Duration,
) -> Option<Directory> {
    let dir = match dir.to_str()? {
        // It is gone, and nothing tells its name.
        "" => None,
        dir => Some(dir),
    };
    let hub = context.hub().ok()?;
    let configures = |name: &&str| context.env.var(name).is_some();
    let is_ours = hub.is_elsewhere() || OWN_CONFIGURATION.iter().any(configures);
    // The hub may know the session that ran in a directory that is gone, wherever that was.
    if is_ours && there.is_some() {
        return None;
    }
    let id = there.map(|meta| format!("{}-{}", meta.dev(), meta.ino()));
    let path = Route::new("/directory")
        .maybe("cwd", dir)
        .maybe("id", id)
        .maybe("session", session);
    let answer = hub.text_within(&Request::get(path), patience).await.ok()?;
    parse(&answer).ok()
}
