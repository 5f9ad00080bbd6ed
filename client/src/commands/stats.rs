//! `hubctl stats`: shows how well the wakes of a time worked.

use std::time::Duration;

use hub_protocol::Span;

use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::Path;
use crate::identity::Context;

/// The default: a day.
const DAY: Span = Span(Duration::from_secs(86_400));

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Shows the part of the wakes that led to nothing (the turn stopped without a tool call, a notification or an answer), \
the time from a notification to the proof that the woken session has it, the time to an answer by the session that \
asked, and the estimated tokens (bytes / 4) that each sender's notifications cost.

Examples:
  hubctl stats
  hubctl stats --since 2h --json")]
/// The arguments of `hubctl stats`.
pub(crate) struct StatsArgs {
    /// The time to look back, at most 7d [default: 1d]
    #[arg(long, value_name = "TIME")]
    since: Option<Span>,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &StatsArgs, context: &Context) -> Result<Exit, Error> {
    let minutes = args.since.unwrap_or(DAY).0.as_secs().div_ceil(60);
    let path = Path::new("/stats").with("minutes", minutes);
    super::why::show(path, args.json, context).await
}
