//! `hubctl inboxes`: what is pending where, and who waits.

use hub_protocol::{InboxInfo, ProjectName};
use serde::Deserialize;

use crate::error::{Error, Exit};
use crate::here::Here;
use crate::hub::{Hub, Path, Request, parse};
use crate::out::println;
use crate::text::{json_line, line};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hubctl inboxes
  hubctl inboxes --all-projects --json")]
/// Which.
pub(crate) struct Args {
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Of every project
    #[arg(long, conflicts_with = "project")]
    all_projects: bool,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Inboxes {
    inboxes: Vec<InboxInfo>,
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    let project = if args.all_projects {
        None
    } else {
        Some(here.project(args.project.as_ref())?.value)
    };
    let answer = fetch(&here.hub()?, project.as_ref()).await?;
    if args.json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    for inbox in read(&answer)? {
        let place = if args.all_projects {
            format!("  in {}", inbox.project)
        } else {
            String::new()
        };
        println(format_args!("{}{place}", describe(&inbox)))?;
    }
    Ok(Exit::DONE)
}

/// The hub's answer about the inboxes of `project`, or of all.
pub(super) async fn fetch(hub: &Hub, project: Option<&ProjectName>) -> Result<String, Error> {
    hub.text(&Request::get(
        Path::new("/inboxes").maybe("project", project),
    ))
    .await
}

/// The inboxes in the hub's answer.
pub(super) fn read(answer: &str) -> Result<Vec<InboxInfo>, Error> {
    parse::<Inboxes>(answer).map(|answer| answer.inboxes)
}

/// One inbox on one line.
pub(super) fn describe(inbox: &InboxInfo) -> String {
    let oldest = inbox
        .oldest_ts
        .map_or(String::new(), |ts| format!(", oldest of {ts}"));
    let waiter = match &inbox.waiter {
        Some(holder) => {
            let name = holder.name.as_deref().unwrap_or("a waiter without a name");
            format!("{} waits since {}", line(name), holder.since)
        }
        None => "nobody waits".into(),
    };
    format!(
        "{:24} {:5} pending{oldest}; {waiter}",
        inbox.name, inbox.pending
    )
}
