//! `hubctl reset`: empties a project.

mod files;

use hub_protocol::{Dropped, ProjectName, Seq};
use reqwest::Method;
use serde_json::json;

use self::files::{spooled, status_files};
use super::clear::numbers;
use crate::api::session::sessions;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Hub, Path, Request, parse};
use crate::identity::Context;
use crate::output::confirm::confirm;
use crate::output::println;
use crate::output::text::{json_line, line};
use crate::spool::Spool;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Ends the project's waiters, withdraws its questions, drops its pending notifications, and removes its sessions and \
listeners. Also removes the project's spooled notifications and status files on this machine. With --history, the \
project's earlier notifications are hidden too; their bytes stay in the hub's log until retention drops them, and \
`hubd export` still writes them. Other projects do not change.

Examples:
  hubctl reset
  hubctl reset --project /src/app --history --yes")]
/// The arguments of `hubctl reset`.
pub(crate) struct ResetArgs {
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Also hide the project's earlier notifications
    #[arg(long)]
    history: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &ResetArgs, context: &Context) -> Result<Exit, Error> {
    let project = context.project(args.project.as_ref()).await?.value;
    let question = format!(
        "Empty {project}: its waiters, questions, sessions, listeners and everything pending?"
    );
    let without_terminal = format!(
        "this would empty {project}, and there is no terminal to ask for confirmation: add --yes"
    );
    if !args.yes && !confirm(&question, &without_terminal)? {
        return Ok(Exit::REFUSED);
    }
    let hub = context.hub()?;
    let known = sessions(&hub, Some(&project), true).await?;
    let dropped = empty(&hub, &project, args.history).await?;
    let files = status_files(context, &project, &known).await;
    let spool = Spool::of(&context.settings);
    let keys = spooled(&spool, &project);
    for key in &keys {
        spool.remove(key)?;
    }
    let removed = files.iter().filter(|file| file.remove());
    let files: Vec<_> = removed.map(|file| &file.path).collect();
    if args.json {
        let all = json!({"project": project, "dropped": dropped, "sessions": known.len(),
            "spooled": keys.len(), "status_files": files});
        println(json_line(&all.to_string()))?;
    } else {
        println(format_args!("{project} is empty"))?;
        println(format_args!("sessions forgotten: {}", known.len()))?;
        println(format_args!("notifications dropped: {}", ids(&dropped)))?;
        println(format_args!("spooled and not sent: {}", keys.len()))?;
        for file in &files {
            let file = file.display().to_string();
            println(format_args!("removed: {}", line(&file)))?;
        }
    }
    Ok(Exit::DONE)
}

/// Resets the project in the hub, and returns the ids of the dropped notifications.
async fn empty(hub: &Hub, project: &ProjectName, history: bool) -> Result<Vec<Seq>, Error> {
    let path = Path::new("/projects").segment(project).segment("reset");
    let path = path.maybe("history", history.then_some(true));
    let answer = hub.text(&Request::new(Method::POST, path)).await?;
    parse::<Dropped>(&answer).map(|answer| answer.dropped)
}

fn ids(dropped: &[Seq]) -> String {
    match dropped.len() {
        0 => "none".into(),
        1..=20 => numbers(dropped),
        many => many.to_string(),
    }
}
