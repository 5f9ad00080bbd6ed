//! `hubctl needs`: lists what the person has to do, or shows one need whole.

use std::fmt::Write as _;

use hub_protocol::{Need, Needs, Timestamp};

use crate::api::need::{IN_ITS_TERMINAL, is_in_terminal};
use crate::api::question::{offers, quoted};
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
The most urgent kind first, and within a kind the oldest: the list that the dashboard shows. Reading ends no need. A \
question ends by `hubctl answer`; any other by `hubctl done`, or when the session goes on. A message to a session that \
has stopped ends its turn.

Examples:
  hubctl needs
  hubctl needs 41
  hubctl needs --json")]
/// The arguments of `hubctl needs`.
pub(crate) struct NeedsArgs {
    /// Show all that this need says, by its id
    #[arg(value_name = "NEED")]
    id: Option<String>,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &NeedsArgs, context: &Context) -> Result<Exit, Error> {
    let answer = match &args.id {
        Some(id) => read(context, Path::new("/needs").segment(id)).await?,
        None => list(context).await?,
    };
    if args.json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    let now = Timestamp::now();
    if args.id.is_some() {
        print(&whole(&parse(&answer)?, now))?;
        return Ok(Exit::DONE);
    }
    let Needs { mut needs } = parse(&answer)?;
    needs.retain(Need::is_open);
    if needs.is_empty() {
        say("no need is open");
    }
    let rows: Vec<_> = needs.iter().map(|it| row(it, now)).collect();
    print(&table(&rows))?;
    Ok(Exit::DONE)
}

/// The hub's list, as JSON.
pub(super) async fn list(context: &Context) -> Result<String, Error> {
    read(context, Path::new("/needs")).await
}

async fn read(context: &Context, path: Path) -> Result<String, Error> {
    context.hub()?.text(&Request::get(path)).await
}

/// A need with its whole text, its options, and the session's last words before it.
pub(super) fn whole(need: &Need, now: Timestamp) -> String {
    let Need {
        id, name, title, ..
    } = need;
    let (name, title, age) = (line(name), line(title), age(need.since, now));
    let whole = need.whole.clone().unwrap_or_default();
    let (text, offers) = (quoted(&whole.text), offers(&whole.controls));
    let mut shown = format!("{id:>6}  {name} {title} ({age} ago):{text}{offers}\n");
    if let Some(context) = &whole.context {
        // Writing to a String cannot fail.
        let _ = writeln!(shown, "        before:{}", quoted(context));
    }
    shown
}

fn row(need: &Need, now: Timestamp) -> [String; 6] {
    let mark = if is_in_terminal(need) {
        format!("  ({IN_ITS_TERMINAL})")
    } else {
        String::new()
    };
    [
        need.id.clone(),
        need.kind.words().to_owned(),
        line(&need.name).into_owned(),
        age(need.since, now),
        cut(&line(&need.line), WIDTH).into_owned(),
        format!("in {}{mark}", need.project),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_its_terminal_can_answer_is_marked() {
        let place = |answerable| {
            let need = Need {
                answerable,
                project: "p".parse().unwrap(),
                ..Need::default()
            };
            let [.., place] = row(&need, Timestamp::now());
            place
        };
        assert_eq!(place(true), "in p");
        assert_eq!(place(false), "in p  (answer it in its own terminal)");
    }
}
