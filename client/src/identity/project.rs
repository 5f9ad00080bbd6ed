//! The rules that choose the project of a command.

use std::path::Path;
use std::sync::Once;

use hub_protocol::ProjectName;
use hub_protocol::git::{Directory, Silence};

use super::directory::{NoProject, directory};
use super::sender::from_environment;
use crate::error::Error;
use crate::hub::SOON;
use crate::identity::Context;
use crate::output::say;
use crate::system::env::{Env, Sourced};

/// The project, by the first rule that gives one: `given`, `HUB_PROJECT`, `git config hub.project`, the real path of
/// the main worktree (the shared git directory of a bare repository), `default`. In a directory that is gone, the project
/// of the session that ran there.
pub(crate) async fn project(
    context: &Context,
    given: Option<&ProjectName>,
) -> Result<Sourced<ProjectName>, Error> {
    if let Some(given) = given {
        return Ok(Sourced::new(given.clone(), "--project"));
    }
    if let Some(found) = context.env.parsed("HUB_PROJECT")? {
        return Ok(found);
    }
    let dir = context.env.here();
    let session = from_environment(&context.env).ok().flatten();
    let session = session.as_ref().map(|it| &it.value);
    match directory(context, &dir, session, SOON).await {
        Ok(found) => Ok(Sourced::new(found.project, found.source.as_str())),
        Err(NoProject::Misnamed(error, _)) => {
            Err(Error::Usage(format!("git config hub.project: {error}")))
        }
        Err(why) => {
            say_once(&dir, &why);
            Ok(Sourced::new(ProjectName::default(), "default"))
        }
    }
}

/// The project of an agent's session in `directory`. An invalid name is skipped: a hook has nobody to tell.
pub(crate) fn of_session(env: &Env, directory: &Directory) -> ProjectName {
    let given = env.parsed("HUB_PROJECT").ok().flatten();
    given.map_or_else(|| directory.project.clone(), |it| it.value)
}

/// Says why a command concerns the project `default`, although its directory may have another.
fn say_once(dir: &Path, why: &NoProject) {
    static SAID: Once = Once::new();
    let why = match why {
        // Most machines without git have no repositories either.
        NoProject::Silent(Silence::Missing)
            if !dir.ancestors().any(|it| it.join(".git").exists()) =>
        {
            return;
        }
        NoProject::Silent(silence) => silence.to_string(),
        NoProject::Misnamed(error, _) => error.to_string(),
        NoProject::Gone => "this directory is gone, and the hub knows no session in it".into(),
    };
    SAID.call_once(|| {
        say(format!(
            "{why}: taking the project 'default' (--project or HUB_PROJECT names another)"
        ));
    });
}
