//! `hubctl withdraw`: withdraws a question.

use hub_protocol::Seq;

use crate::error::{Error, Exit};
use crate::here::Here;
use crate::hub::json;
use crate::out::println;
use crate::question::{act, by};
use crate::text::json_line;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nobody is asked any more, and no answer is taken. Other notifications are taken back with `hubctl clear`.

Examples:
  hubctl withdraw 41")]
/// Which.
pub(crate) struct Args {
    /// The question
    #[arg(value_name = "ID")]
    id: Seq,
    /// Print the question as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    let (hub, body) = (here.hub()?, json(&by(here).await?)?);
    let Some(question) = act(&hub, args.id, "withdraw", body).await? else {
        return Ok(Exit::REFUSED);
    };
    if args.json {
        println(json_line(&question))?;
    } else {
        println(format_args!("withdrawn: {}", args.id))?;
    }
    Ok(Exit::DONE)
}
