//! `hubctl needs`: lists what the person has to do.

use hub_protocol::{Need, Needs, Timestamp, single_spaced};

use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Path, Request, parse};
use crate::identity::Context;
use crate::output::age::age;
use crate::output::table::table;
use crate::output::text::{cut, json_line, line};
use crate::output::{print, println, say};

/// The most characters of a text.
const WIDTH: usize = 60;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The most urgent kind first, and within a kind the oldest: the list that the dashboard shows.
Reading ends no need. A question ends by `hubctl answer`; any other by `hubctl done`, or when
the session goes on. A message to a session that has stopped ends its turn.

Examples:
  hubctl needs
  hubctl needs --json")]
/// The arguments of `hubctl needs`.
pub(crate) struct NeedsArgs {
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &NeedsArgs, context: &Context) -> Result<Exit, Error> {
    let answer = list(context).await?;
    if args.json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    let Needs { mut needs } = parse(&answer)?;
    needs.retain(Need::is_open);
    if needs.is_empty() {
        say("nobody needs you");
    }
    let now = Timestamp::now();
    let rows: Vec<_> = needs.iter().map(|it| row(it, now)).collect();
    print(&table(&rows))?;
    Ok(Exit::DONE)
}

/// The hub's list, as JSON.
pub(super) async fn list(context: &Context) -> Result<String, Error> {
    let request = Request::get(Path::new("/needs"));
    context.hub()?.text(&request).await
}

fn row(need: &Need, now: Timestamp) -> [String; 6] {
    let brief = single_spaced(&need.brief);
    [
        need.id.clone(),
        need.kind.words().to_owned(),
        line(&need.name).into_owned(),
        age(need.since, now),
        cut(&line(&brief), WIDTH).into_owned(),
        format!("in {}", need.project),
    ]
}
