//! `hubctl withdraw`: withdraws a question.

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
The question is no longer shown, and the hub refuses answers to it. To withdraw other notifications, use `hubctl \
clear`.

Examples:
  hubctl withdraw 41")]
/// The arguments of `hubctl withdraw`.
pub(crate) struct WithdrawArgs {
    /// The id of the question
    #[arg(value_name = "ID")]
    id: Seq,
    /// Print the question as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &WithdrawArgs, context: &Context) -> Result<Exit, Error> {
    let (hub, body) = (context.hub()?, json(&by(context).await?)?);
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
