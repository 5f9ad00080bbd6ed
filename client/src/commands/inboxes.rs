//! `hubctl inboxes`: what is pending where, and who waits.

use hub_protocol::ProjectName;
use serde::Deserialize;

use crate::error::{Error, Exit};
use crate::here::Here;
use crate::hub::{Hub, Path, Request, parse};
use crate::out::println;
use crate::scope::Scope;
use crate::seat::Seat;
use crate::text::{json_line, line};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hubctl inboxes
  hubctl inboxes --all-projects --json")]
/// Which.
pub(crate) struct Args {
    #[command(flatten)]
    scope: Scope,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Inboxes {
    inboxes: Vec<Inbox>,
}

/// What is shown of a [`hub_protocol::InboxInfo`].
#[derive(Debug, Deserialize)]
pub(super) struct Inbox {
    project: String,
    /// Its name.
    pub name: String,
    pending: u64,
    #[serde(default)]
    oldest_ts: Option<String>,
    /// Who waits there.
    #[serde(default)]
    pub waiter: Option<Seat>,
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    let project = args.scope.project(here)?;
    let answer = fetch(&here.hub()?, project.as_ref()).await?;
    if args.json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    for inbox in read(&answer)? {
        let place = if args.scope.all_projects {
            format!("  in {}", line(&inbox.project))
        } else {
            String::new()
        };
        println(format_args!("{inbox}{place}"))?;
    }
    Ok(Exit::DONE)
}

/// The hub's answer about the inboxes of `project`, or of all.
pub(super) async fn fetch(hub: &Hub, project: Option<&ProjectName>) -> Result<String, Error> {
    let path = Path::new("/inboxes").maybe("project", project);
    hub.text(&Request::get(path)).await
}

/// The inboxes in the hub's answer.
pub(super) fn read(answer: &str) -> Result<Vec<Inbox>, Error> {
    parse::<Inboxes>(answer).map(|answer| answer.inboxes)
}

impl std::fmt::Display for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:24} {:5} pending", self.name, self.pending)?;
        if let Some(oldest) = &self.oldest_ts {
            write!(f, ", oldest of {}", line(oldest))?;
        }
        match &self.waiter {
            Some(seat) => write!(f, "; waiting: {}", line(&seat.to_string())),
            None => f.write_str("; nobody waits"),
        }
    }
}
