//! `hubctl cluster`: makes another hub of the cluster the active one.

use hub_protocol::Takeover;
use serde_json::json;

use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Path, Request, parse};
use crate::identity::Context;
use crate::output::println;
use crate::output::text::{json_line, line};

#[derive(Debug, clap::Args)]
/// The arguments of `hubctl cluster`.
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    action: ClusterAction,
}

#[derive(Debug, clap::Subcommand)]
enum ClusterAction {
    /// Make the hub of another machine the active one
    #[command(after_help = "\
It takes about a second, and waits go on. The other hub must run, may lead, and have caught up; `hubctl status` shows \
the hubs.

Example:
  hubctl cluster handover server2")]
    Handover {
        /// The name of that hub in the cluster
        #[arg(value_name = "NODE")]
        node: String,
        /// Print the result as JSON
        #[arg(long = "json")]
        as_json: bool,
    },
}

pub(crate) async fn run(args: &ClusterArgs, context: &Context) -> Result<Exit, Error> {
    let ClusterAction::Handover { node, as_json } = &args.action;
    let hub = context.hub()?;
    let body = json!({ "node": node }).to_string();
    let request = Request::post(Path::new("/cluster/handover"), body);
    let answer = hub.text(&request).await?;
    if *as_json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    let done: Takeover = parse(&answer)?;
    println(line(&match done.took_ms {
        0 => format!("{} is active since {}", done.active, done.since),
        took => format!("{} is active; the takeover took {took} ms", done.active),
    }))?;
    Ok(Exit::DONE)
}
