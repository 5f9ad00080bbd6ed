//! `hubctl unlisten`: removes listeners for other sessions' stops.

use hub_protocol::{InboxName, ProjectName, Unlistened};
use reqwest::Method;

use super::listen::path;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Request, parse};
use crate::identity::Context;
use crate::identity::sender::caller;
use crate::output::println;
use crate::output::text::json_line;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hubctl unlisten worker-1
  hubctl unlisten worker-1 worker-2 --as reviewer")]
/// The arguments of `hubctl unlisten`.
pub(crate) struct UnlistenArgs {
    /// The sessions to stop listening to: names or ids, in full
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<InboxName>,
    /// The inbox of the listener [default: this session; primary outside any agent]
    #[arg(long = "as", value_name = "CALLER")]
    caller: Option<InboxName>,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Print the hub's answers as lines of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &UnlistenArgs, context: &Context) -> Result<Exit, Error> {
    let project = context.project(args.project.as_ref()).await?.value;
    let caller = caller(context, args.caller.as_ref()).await?;
    let hub = context.hub()?;
    for target in &args.targets {
        let request = Request::new(Method::DELETE, path(target, &caller, &project));
        let answer = hub.text(&request).await?;
        if args.json {
            println(json_line(&answer))?;
            continue;
        }
        let Unlistened { removed } = parse(&answer)?;
        let what = if removed {
            "no longer listens"
        } else {
            "was not listening"
        };
        println(format_args!("{caller} {what} to {target}"))?;
    }
    Ok(Exit::DONE)
}
