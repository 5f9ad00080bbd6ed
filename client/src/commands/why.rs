//! `hubctl why`: explains why a session was or was not woken.

use hub_protocol::{InboxName, ProjectName};

use crate::api::report;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::Path;
use crate::identity::Context;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The first line is the reason; the lines below show what happened, and the present state last. With --json, `reason` is one
word, and `items` has one reason for each pending notification.

Examples:
  hubctl why worker-1
  hubctl why 41
  hubctl why person --json")]
/// The arguments of `hubctl why`.
pub(crate) struct WhyArgs {
    /// A session, an inbox (person, primary), or the number of a notification
    #[arg(value_name = "NAME|ID")]
    target: InboxName,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &WhyArgs, context: &Context) -> Result<Exit, Error> {
    let project = context.project(args.project.as_ref())?.value;
    let path = Path::new("/why").segment(&args.target);
    report::show(path.with("project", project), args.json, context).await
}
