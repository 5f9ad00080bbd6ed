//! The projects that a list covers.

use clap::Args;
use hub_protocol::ProjectName;
use hub_protocol::git::ProjectSource;

use crate::error::Error;
use crate::identity::Context;

/// One project, or all.
#[derive(Debug, Args)]
pub(crate) struct ProjectScope {
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// All projects
    #[arg(long, conflicts_with = "project")]
    pub all_projects: bool,
}

/// The message of a `command` whose list is empty: it has no `what` in the project, and `elsewhere` of them in others.
pub(crate) fn none_of(what: &str, elsewhere: usize, command: &str) -> String {
    match elsewhere {
        0 => format!("no {what}"),
        count => format!(
            "no {what} in this project, {count} in others: `hubctl {command} --all-projects`"
        ),
    }
}

impl ProjectScope {
    /// The project; `None` for all projects.
    pub(crate) async fn project(&self, context: &Context) -> Result<Option<ProjectName>, Error> {
        if self.all_projects {
            return Ok(None);
        }
        Ok(Some(context.project(self.project.as_ref()).await?.value))
    }

    /// The project; `None` for all projects, also where no rule gives a project.
    pub(crate) async fn project_or_all(
        &self,
        context: &Context,
    ) -> Result<Option<ProjectName>, Error> {
        if self.all_projects {
            return Ok(None);
        }
        let found = context.project(self.project.as_ref()).await?;
        let is_none = found.source == ProjectSource::Default.as_str();
        Ok((!is_none).then_some(found.value))
    }
}
