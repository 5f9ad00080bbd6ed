//! `hubctl seen`: marks notifications as read by the person.

use hub_protocol::{SeenReply, SeenRequest, Seq};

use super::clear::numbers;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Path, Request, json, parse};
use crate::identity::Context;
use crate::output::println;
use crate::output::text::json_line;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["ids", "up_to"]))]
#[command(after_help = "\
The dashboard shows unread notifications. The mark is for people: it does not affect inboxes or agents.

Examples:
  hubctl seen 41 42
  hubctl seen --up-to 42
  hubctl seen --undo 41")]
/// The arguments of `hubctl seen`.
pub(crate) struct SeenArgs {
    /// The ids of the notifications
    #[arg(value_name = "ID")]
    ids: Vec<Seq>,
    /// Every notification up to this one, in all projects
    #[arg(long, value_name = "ID")]
    up_to: Option<Seq>,
    /// Remove the mark
    #[arg(long)]
    undo: bool,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &SeenArgs, context: &Context) -> Result<Exit, Error> {
    let body = SeenRequest {
        ids: (!args.ids.is_empty()).then(|| args.ids.clone()),
        up_to: args.up_to,
        seen: Some(!args.undo),
        ..SeenRequest::default()
    };
    let marked = match args.up_to {
        Some(up_to) => format!("all up to {up_to}"),
        None => numbers(&args.ids),
    };
    let request = Request::post(Path::new("/seen"), json(&body)?);
    let answer = context.hub()?.text(&request).await?;
    if args.json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    let mark = if args.undo { "not seen" } else { "seen" };
    let SeenReply { changed, .. } = parse(&answer)?;
    println(format_args!("{mark}: {marked} ({changed} changed)"))?;
    Ok(Exit::DONE)
}
