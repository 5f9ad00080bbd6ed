//! `hubctl sessions`: lists sessions and their states.

use hub_protocol::Timestamp;
use serde_json::Value;

use crate::error::{Error, Exit};
use crate::fields::{flag, list, number, text};
use crate::here::Here;
use crate::hub::parse;
use crate::out::{print, println, say};
use crate::scope::Scope;
use crate::session::{request, state, waiter};
use crate::table::table;
use crate::text::{cut, json_line, line};

/// How many characters of a title or a directory are shown.
const WIDTH: usize = 60;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The primary session has a * behind its name. WAITER says what would wake a session: rewake (its own hooks), wait (hubctl wait),
live (another reader) or none.

Examples:
  hubctl sessions
  hubctl sessions --all --all-projects
  hubctl sessions --json")]
/// Which.
pub(crate) struct Args {
    /// Those that are over too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    scope: Scope,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    let project = args.scope.project(here)?;
    let answer = here
        .hub()?
        .text(&request(project.as_ref(), args.all))
        .await?;
    if args.json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    let answer: Value = parse(&answer)?;
    let sessions = list(&answer, "sessions");
    if sessions.is_empty() {
        say(
            "no session is known here; `hubctl hooks install claude` lets an agent's sessions tell of themselves",
        );
        return Ok(Exit::DONE);
    }
    let header = ["NAME", "STATE", "WAITER", "PENDING", "PARENT", "ABOUT"];
    let mut rows = vec![header.map(str::to_owned)];
    let now = Timestamp::now();
    let of = |it| row(it, args.scope.all_projects, now);
    rows.extend(sessions.iter().map(of));
    print(&table(&rows))?;
    Ok(Exit::DONE)
}

fn row(session: &Value, with_project: bool, now: Timestamp) -> [String; 6] {
    let mark = if flag(session, "primary") { " *" } else { "" };
    let about = match (text(session, "title"), text(session, "cwd")) {
        ("", cwd) => cwd,
        (title, _) => title,
    };
    let mut about = cut(&line(about), WIDTH).into_owned();
    if with_project {
        about = format!("{about}  in {}", line(text(session, "project")));
    }
    let parent = match text(session, "parent") {
        "" => "-",
        parent => parent,
    };
    [
        format!("{}{mark}", line(text(session, "name"))),
        state(session, now),
        waiter(session).to_owned(),
        number(session, "pending").to_string(),
        line(parent).into_owned(),
        about,
    ]
}
