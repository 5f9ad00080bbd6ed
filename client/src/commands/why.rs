//! `hubctl why`: explains why a session was or was not woken.

use hub_protocol::{InboxName, ProjectName, Timestamp};
use serde::Deserialize;

use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Path, Request, parse};
use crate::identity::Context;
use crate::output::println;
use crate::output::text::{json_line, line};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The first line is the reason; the lines below show what happened, and the present state last. With --json, `reason` is \
one word, and `items` has one reason for each pending notification.

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

/// An answer that the hub has put into words.
#[derive(Deserialize)]
struct Explanation {
    summary: String,
    details: Vec<Detail>,
}

#[derive(Deserialize)]
struct Detail {
    at: Option<Timestamp>,
    text: String,
}

pub(crate) async fn run(args: &WhyArgs, context: &Context) -> Result<Exit, Error> {
    let project = context.project(args.project.as_ref()).await?.value;
    let path = Path::new("/why").segment(&args.target);
    show(path.with("project", project), args.json, context).await
}

/// Prints the summary and the details at `path`, or the hub's answer as JSON.
pub(super) async fn show(path: Path, json: bool, context: &Context) -> Result<Exit, Error> {
    let answer = context.hub()?.text(&Request::get(path)).await?;
    if json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    let Explanation { summary, details } = parse(&answer)?;
    println(line(&summary))?;
    for Detail { at, text } in &details {
        let at = at.map_or("now".into(), |at| at.to_string());
        println(format_args!("  {at:24}  {}", line(text)))?;
    }
    Ok(Exit::DONE)
}
