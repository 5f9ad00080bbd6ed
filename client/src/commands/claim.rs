//! `hubctl claim`: claims a question, so that others see that it is being answered.

use hub_protocol::Seq;

use crate::api::question::act;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::json;
use crate::identity::Context;
use crate::identity::sender::by;
use crate::output::println;
use crate::output::text::json_line;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Others see that the question is being answered. It stays open until it has an answer.

Examples:
  hubctl claim 41
  hubctl acknowledge 41")]
/// The arguments of `hubctl claim`.
pub(crate) struct ClaimArgs {
    /// The id of the question
    #[arg(value_name = "ID")]
    id: Seq,
    /// Print the question as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &ClaimArgs, context: &Context) -> Result<Exit, Error> {
    let (hub, body) = (context.hub()?, json(&by(context).await?)?);
    let Some(question) = act(&hub, args.id, "claim", body).await? else {
        return Ok(Exit::REFUSED);
    };
    if args.json {
        println(json_line(&question))?;
    } else {
        let id = args.id;
        println(format_args!(
            "claimed {id}; answer: hubctl answer {id} \"…\""
        ))?;
    }
    Ok(Exit::DONE)
}
