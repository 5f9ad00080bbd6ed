//! The filters for reading the log, shared by the stream and the history.

use clap::Args;
use hub_protocol::{InboxName, Kind, Priority, ProjectName};

use crate::error::Error;
use crate::hub::Path;
use crate::identity::Context;

/// The filter of a command that reads the log.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only this project; `.` is the current one [default: all]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Only notifications to this inbox
    #[arg(long, value_name = "NAME")]
    inbox: Option<InboxName>,
    /// Only these types
    #[arg(long, value_name = "a,b", value_delimiter = ',')]
    types: Vec<Kind>,
    /// Only from this sender
    #[arg(long, value_name = "ID")]
    from: Option<InboxName>,
    /// Only about this session
    #[arg(long, value_name = "ID")]
    session: Option<InboxName>,
    /// Only of this priority or a higher one
    #[arg(long, value_name = "P")]
    min_priority: Option<Priority>,
}

impl Filter {
    /// Whether the filter admits notifications of several projects.
    pub(crate) fn spans_projects(&self) -> bool {
        self.project.is_none()
    }

    /// Returns `path` with this filter in its query.
    pub(crate) async fn on(&self, path: Path, context: &Context) -> Result<Path, Error> {
        let project = match &self.project {
            Some(project) if project.as_str() == "." => Some(context.project(None).await?.value),
            given => given.clone(),
        };
        Ok(path
            .maybe("project", project)
            .maybe("inbox", self.inbox.as_ref())
            .list("types", &self.types)
            .maybe("from", self.from.as_ref())
            .maybe("session", self.session.as_ref())
            .maybe("min_priority", self.min_priority))
    }
}
