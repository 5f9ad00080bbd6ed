//! `hubctl stream`: prints notifications as they arrive, or runs a command for each.

mod exec;
mod reader;

use self::reader::Reader;
use crate::arguments::filter::Filter;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::identity::Context;
use crate::output::{demand_stdout, unread};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Reads the log, not an inbox: it acknowledges nothing and does not affect other readers. It runs until it is ended, and \
resumes at its position after a restart of the hub. With --exec, the command gets HUB_ID, HUB_TS, HUB_FROM, HUB_TYPE, \
HUB_MSG, HUB_TO, HUB_PROJECT, HUB_PRIORITY, HUB_TITLE, HUB_DATA, HUB_KEY, HUB_REPLY_TO and HUB_JSON (all of it).

Examples:
  hubctl stream
  hubctl stream --since 0 --project . --types error
  hubctl stream --kinds notification,delivery,seen
  hubctl stream --types question --exec 'notify-send \"$HUB_FROM asks\" \"$HUB_MSG\"'")]
/// The arguments of `hubctl stream`.
pub(crate) struct StreamArgs {
    /// Begin after this event's id or notification's id; 0 for the earliest [default: now]
    #[arg(long, value_name = "CURSOR")]
    since: Option<String>,
    /// Run this with sh for each notification, one at a time, instead of printing it
    #[arg(long, value_name = "CMD", conflicts_with = "kinds")]
    exec: Option<String>,
    /// Print {event, id, data} for these kinds: notification, delivery, seen, presence
    #[arg(long, value_name = "a,b", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Print JSON, which is the default
    #[arg(long, conflicts_with = "exec")]
    json: bool,
    #[command(flatten)]
    filter: Filter,
}

pub(crate) async fn run(args: &StreamArgs, context: &Context) -> Result<Exit, Error> {
    demand_stdout()?;
    let mut reader = Reader::new(args, context).await?;
    tokio::select! {
        ended = reader.run() => ended,
        // With --exec the commands write the output, so this process's stdout does not matter.
        () = unread(), if args.exec.is_none() => Err(Error::Unread),
    }
}
