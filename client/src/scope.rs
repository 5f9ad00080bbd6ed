//! The projects that a list covers.

use clap::Args;
use hub_protocol::ProjectName;

use crate::error::Error;
use crate::here::Here;

/// One project, or all.
#[derive(Debug, Args)]
pub(crate) struct Scope {
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Of every project
    #[arg(long, conflicts_with = "project")]
    pub all_projects: bool,
}

impl Scope {
    /// The project; `None` for all projects.
    pub(crate) fn project(&self, here: &Here) -> Result<Option<ProjectName>, Error> {
        if self.all_projects {
            return Ok(None);
        }
        Ok(Some(here.project(self.project.as_ref())?.value))
    }
}
