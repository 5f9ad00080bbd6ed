//! The project of a directory (`?cwd=$PWD`), for clients that cannot resolve it themselves.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hub_protocol::ProjectName;
use hub_protocol::git::{Repository, configured_project, other_config_files};
use tokio::sync::Semaphore;

use crate::http::error::{ApiError, Code};

/// How long a file system may take. One that hangs delays only its own request.
const PATIENCE: Duration = Duration::from_secs(1);

/// Limits concurrent lookups, because each occupies a thread until its file system answers.
static LOOKS: Semaphore = Semaphore::const_new(4);

/// Resolves the project of the directory `cwd` of this machine, as `hubctl` does: `hub.project` of the repository's or
/// the person's git configuration, the main worktree's real path, or `default` outside of git.
pub(crate) async fn project(cwd: &str) -> Result<ProjectName, ApiError> {
    let invalid = |detail: &str| Err(ApiError::invalid(format!("cwd {detail}")));
    let dir = PathBuf::from(cwd);
    if !dir.is_absolute() || cwd.contains('\0') {
        return invalid("must be an absolute path, such as $PWD");
    }
    let Ok(permit) = LOOKS.try_acquire() else {
        return Err(Code::Busy.into());
    };
    let look = tokio::task::spawn_blocking(move || {
        let project = dir.is_dir().then(|| project_of(&dir));
        drop(permit);
        project
    });
    match tokio::time::timeout(PATIENCE, look).await {
        Ok(Ok(Some(project))) => Ok(project),
        Ok(Ok(None)) => invalid("names no directory of the hub's machine; give project instead"),
        Ok(Err(_)) => Err(Code::Internal.into()),
        Err(_) => invalid("cannot be read now: its file system does not answer"),
    }
}

fn project_of(dir: &Path) -> ProjectName {
    let repository = Repository::discover(dir);
    let own = repository.iter().flat_map(Repository::config_files);
    let variable = |name: &str| {
        let value = std::env::var_os(name)?;
        (!value.is_empty()).then(|| value.into())
    };
    let others = other_config_files(std::env::home_dir().as_deref(), variable);
    let configured = configured_project(others.into_iter().chain(own));
    let home = || repository.as_ref()?.home().project();
    configured.or_else(home).unwrap_or_default()
}
