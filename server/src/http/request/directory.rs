//! A directory of this machine (`?cwd=$PWD`): its project and its repository.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hub_protocol::git::{Directory, ProjectSource, Silence};
use hub_protocol::{InboxName, ProjectName};
use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::http::error::{ApiError, Code};
use crate::hub::Hub;
use crate::places;

/// How long a file system may take. One that hangs delays only its own request.
const PATIENCE: Duration = Duration::from_secs(1);

/// Limits concurrent lookups, because each occupies a thread until its file system answers.
static LOOKS: Semaphore = Semaphore::const_new(8);

/// A directory as a client names it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DirectoryParams {
    cwd: String,
    /// `DEVICE-INODE` of the directory on the client's machine. The hub may have another directory of this name.
    id: Option<String>,
    /// The agent's session in it, which keeps its project when the directory is gone.
    session: Option<InboxName>,
}

/// Resolves the project of the directory `cwd`, as [`directory`] does.
pub(crate) async fn project(hub: &Hub, cwd: String) -> Result<ProjectName, ApiError> {
    let params = DirectoryParams {
        cwd,
        id: None,
        session: None,
    };
    Ok(directory(hub, params).await?.project)
}

/// Asks git about a directory of this machine. One that is gone keeps the project of the session that ran there.
pub(crate) async fn directory(hub: &Hub, params: DirectoryParams) -> Result<Directory, ApiError> {
    let dir = PathBuf::from(&params.cwd);
    if !dir.is_absolute() || params.cwd.contains('\0') {
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
        Ok(looked) => match looked? {
            Some(directory) => directory,
            None => last_project(hub, &params)?.ok_or_else(|| {
                invalid("names no directory of the hub's machine; give project instead")
            }),
        },
        Err(_) => Err(invalid(
            "cannot be read now: its file system does not answer",
        )),
    }
}

/// `None` if the directory is not there.
fn look(dir: &std::path::Path, id: Option<&str>) -> Option<Result<Directory, ApiError>> {
    let meta = std::fs::metadata(dir)
        .ok()
        .filter(std::fs::Metadata::is_dir)?;
    if id.is_some_and(|id| id != format!("{}-{}", meta.dev(), meta.ino())) {
        return Some(Err(invalid("is another directory on the hub's machine")));
    }
    Some(match places::answers(dir, Instant::now() + PATIENCE) {
        Ok(answers) => answers
            .directory()
            .map_err(|error| ApiError::invalid(format!("git config hub.project: {error}"))),
        Err(Silence::Missing) => Ok(Directory::default()),
        Err(silence) => Err(invalid(&format!(
            "has no known project: {silence}; give project instead"
        ))),
    })
}

/// The project of the session that ran in a directory that is gone.
fn last_project(hub: &Hub, params: &DirectoryParams) -> Result<Option<Directory>, ApiError> {
    let project = hub.read(|state, _| state.last_project(params.session.as_ref(), &params.cwd))?;
    Ok(project.map(|project| Directory {
        project,
        source: ProjectSource::Session,
        ..Directory::default()
    }))
}

fn invalid(detail: &str) -> ApiError {
    ApiError::invalid(format!("cwd {detail}"))
}
