//! A directory of this machine (`?cwd=$PWD`): its project and its repository.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hub_engine::Hub;
use hub_engine::places;
use hub_protocol::git::{Directory, ProjectSource, Silence};
use hub_protocol::{InboxName, ProjectName};
use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::error::{ApiError, Code};

/// How long a file system may take. One that hangs delays only its own request.
const PATIENCE: Duration = Duration::from_secs(1);

/// Limits concurrent lookups, because each occupies a thread until its file system answers.
static LOOKS: Semaphore = Semaphore::const_new(8);

/// A directory as a client names it.
#[derive(Debug, Deserialize)]
pub(crate) struct DirectoryParams {
    /// Absent if the client's directory is gone and has no name any more.
    cwd: Option<String>,
    /// `DEVICE-INODE` of the directory on the client's machine. The hub may have another directory of this name.
    id: Option<String>,
    /// The agent's session in it, which keeps its project when the directory is gone.
    session: Option<InboxName>,
}

/// The directory `cwd`, as a client names it that has no git: without one here either, the project is `default`.
pub async fn project(hub: &Hub, cwd: String) -> Result<ProjectName, ApiError> {
    let params = DirectoryParams {
        cwd: Some(cwd),
        id: None,
        session: None,
    };
    let found = find(hub, &params).await?;
    Ok(found.unwrap_or_default().project)
}

/// Asks git about a directory of this machine. One that is gone keeps the project of the session that ran there.
pub(crate) async fn directory(hub: &Hub, params: DirectoryParams) -> Result<Directory, ApiError> {
    let found = find(hub, &params).await?;
    found.ok_or_else(|| no_project(&Silence::Missing))
}

/// The directory; `None` without git.
async fn find(hub: &Hub, params: &DirectoryParams) -> Result<Option<Directory>, ApiError> {
    let Some(cwd) = &params.cwd else {
        return last_project(hub, params).map(Some);
    };
    let dir = PathBuf::from(cwd);
    if !dir.is_absolute() || cwd.contains('\0') {
        return Err(invalid("must be an absolute path, such as $PWD"));
    }
    let id = params.id.clone();
    let look = async {
        let permit = LOOKS.acquire().await.ok();
        let look = tokio::task::spawn_blocking(move || {
            let looked = look(&dir, id.as_deref());
            drop(permit);
            looked
        });
        look.await
            .map_err(|error| ApiError::failed(Code::Internal, &error))
    };
    match tokio::time::timeout(PATIENCE, look).await {
        Ok(looked) => match looked?? {
            Looked::There(directory) => Ok(Some(directory)),
            Looked::WithoutGit => Ok(None),
            Looked::Gone => last_project(hub, params).map(Some),
        },
        Err(_) => Err(invalid(
            "cannot be read now: its file system does not answer",
        )),
    }
}

/// The result of a look at a directory.
enum Looked {
    There(Directory),
    WithoutGit,
    Gone,
}

fn look(dir: &Path, id: Option<&str>) -> Result<Looked, ApiError> {
    let Some(meta) = std::fs::metadata(dir).ok().filter(Metadata::is_dir) else {
        return Ok(Looked::Gone);
    };
    if id.is_some_and(|id| id != format!("{}-{}", meta.dev(), meta.ino())) {
        return Err(invalid("is another directory on the hub's machine"));
    }
    match places::answers(dir, Instant::now() + PATIENCE) {
        Ok(answers) => match answers.directory() {
            Ok(directory) => Ok(Looked::There(directory)),
            Err(error) => Err(ApiError::invalid(format!(
                "git config hub.project: {error}"
            ))),
        },
        Err(Silence::Missing) => Ok(Looked::WithoutGit),
        Err(silence) => Err(no_project(&silence)),
    }
}

fn no_project(why: &Silence) -> ApiError {
    invalid(&format!(
        "has no known project: {why}; give project instead"
    ))
}

/// The directory that is gone, with the project of the session that ran there.
fn last_project(hub: &Hub, params: &DirectoryParams) -> Result<Directory, ApiError> {
    let (session, cwd) = (params.session.as_ref(), params.cwd.as_deref());
    let project = hub.read(|state, _| state.sessions.last_project(session, cwd))?;
    let project = project
        .ok_or_else(|| invalid("names no directory of the hub's machine; give project instead"))?;
    Ok(Directory {
        project,
        source: ProjectSource::Session,
        ..Directory::default()
    })
}

fn invalid(detail: &str) -> ApiError {
    ApiError::invalid(format!("cwd {detail}"))
}
