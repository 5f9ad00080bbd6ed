//! `hubctl clear`: withdraws pending notifications.

use hub_protocol::{InboxName, ProjectName, Seq, Withdrawn};
use reqwest::Method;

use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Path, Request, parse};
use crate::identity::Context;
use crate::identity::sender::sender;
use crate::output::println;
use crate::output::text::json_line;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["key", "id"]))]
#[command(after_help = "\
Examples:
  hubctl clear 41
  hubctl clear --key build
  hubctl clear --key build --from ci --project /src/app")]
/// The arguments of `hubctl clear`.
pub(crate) struct ClearArgs {
    /// The id of the notification
    #[arg(value_name = "ID")]
    id: Option<Seq>,
    /// Everything pending under this key, from the same sender in the same project
    #[arg(long, value_name = "K")]
    key: Option<String>,
    /// The sender [default: as for notify]
    #[arg(long, value_name = "ID", requires = "key")]
    from: Option<InboxName>,
    /// Everything pending under this key, from any sender
    #[arg(long, requires = "key", conflicts_with = "from")]
    from_anyone: bool,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P", requires = "key")]
    project: Option<ProjectName>,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &ClearArgs, context: &Context) -> Result<Exit, Error> {
    let request = Request::new(Method::DELETE, path(args, context).await?);
    let answer = context.hub()?.text(&request).await?;
    if args.json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    let Withdrawn { withdrawn } = parse(&answer)?;
    if withdrawn.is_empty() {
        println("nothing was pending")?;
    } else {
        println(format_args!("withdrawn: {}", numbers(&withdrawn)))?;
    }
    Ok(Exit::DONE)
}

async fn path(args: &ClearArgs, context: &Context) -> Result<Path, Error> {
    let path = Path::new("/notifications");
    let Some(key) = &args.key else {
        // The argument group requires one of the two.
        return Ok(path.segment(args.id.unwrap_or_default()));
    };
    let from = if args.from_anyone {
        None
    } else {
        Some(sender(context, args.from.as_ref()).await?.value)
    };
    let project = context.project(args.project.as_ref()).await?.value;
    Ok(path
        .with("project", project)
        .with("key", key)
        .maybe("from", from))
}

/// Formats ids as a list for people.
pub(crate) fn numbers(ids: &[Seq]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    ids.join(" ")
}
