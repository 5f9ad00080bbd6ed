//! `hubctl expect`: notifies a session of another's stop, or that none came in time.

use hub_protocol::{InboxName, ProjectName, Span};

use super::listen::{NewListener, show};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::identity::Context;
use crate::identity::sender::caller;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The session need not exist yet: it may be a cron job, or a session that starts later. Only a stop from now on counts.

Examples:
  hubctl expect nightly-backup --within 2h
  hubctl expect worker-1 --within 10m --as reviewer")]
/// The arguments of `hubctl expect`.
pub(crate) struct ExpectArgs {
    /// The session or sender whose stop is expected
    #[arg(value_name = "NAME")]
    name: InboxName,
    /// The deadline: seconds from now, or 90s, 10m, 2h, 7d
    #[arg(long, value_name = "SPAN")]
    within: Span,
    /// The inbox to notify [default: this session; primary outside any agent]
    #[arg(long = "as", value_name = "CALLER")]
    caller: Option<InboxName>,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &ExpectArgs, context: &Context) -> Result<Exit, Error> {
    let project = context.project(args.project.as_ref()).await?.value;
    let caller = caller(context, args.caller.as_ref()).await?;
    let listener = NewListener {
        target: &args.name,
        caller: &caller,
        project: &project,
        within: Some(args.within),
        fresh: true,
    };
    let answer = listener.put(&context.hub()?).await?;
    show(&answer, &caller, args.json)?;
    Ok(Exit::DONE)
}
