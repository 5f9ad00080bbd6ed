//! `hubctl inboxes`: lists inboxes with their pending notifications and their waiters.

use hub_protocol::ProjectName;
use serde::Deserialize;

use crate::error::{Error, Exit};
use crate::here::Here;
use crate::hub::{Hub, Path, Request, parse};
use crate::out::println;
use crate::scope::Scope;
use crate::seat::Seat;
use crate::text::{held, json_line, line};

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

/// The fields of a [`hub_protocol::InboxInfo`] that are shown.
#[derive(Debug, Deserialize)]
pub(super) struct Inbox {
    project: String,
    /// The inbox's name.
    pub name: String,
    pending: u64,
    #[serde(default)]
    oldest_ts: Option<String>,
    /// How many notifications a wake limit holds back.
    #[serde(default)]
    pub held: Option<u64>,
    /// When the wake limit ends, as RFC 3339.
    #[serde(default)]
    pub held_until: Option<String>,
    #[serde(default)]
    session: Option<String>,
    /// The waiter, if one is connected.
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

/// The hub's answer about the inboxes of `project` or of all projects, as JSON.
pub(super) async fn fetch(hub: &Hub, project: Option<&ProjectName>) -> Result<String, Error> {
    let path = Path::new("/inboxes").maybe("project", project);
    hub.text(&Request::get(path)).await
}

/// Parses the inboxes in the hub's answer.
pub(super) fn read(answer: &str) -> Result<Vec<Inbox>, Error> {
    parse::<Inboxes>(answer).map(|answer| answer.inboxes)
}

impl Inbox {
    /// How many notifications a wake limit holds back, and until when, for people.
    pub(super) fn held(&self) -> Option<String> {
        let until = self.held_until.as_deref()?;
        Some(held(self.held?, until))
    }
}

impl std::fmt::Display for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.session.as_ref().unwrap_or(&self.name);
        write!(f, "{name:24} {:5} pending", self.pending)?;
        if let Some(oldest) = &self.oldest_ts {
            write!(f, ", oldest of {}", line(oldest))?;
        }
        if let Some(held) = self.held() {
            write!(f, "; {held}")?;
        }
        match &self.waiter {
            Some(seat) => write!(f, "; waiting: {}", line(&seat.to_string())),
            None => f.write_str("; nobody waits"),
        }
    }
}
