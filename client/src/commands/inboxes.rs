//! `hubctl inboxes`: lists inboxes with their pending notifications and their waiters.

use std::fmt::Write as _;

use hub_protocol::{InboxInfo, Inboxes, ProjectName, Timestamp};

use crate::api::holder;
use crate::arguments::projects::{ProjectScope, none_of};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Hub, Path, Request, parse};
use crate::identity::Context;
use crate::output::age::age;
use crate::output::text::{self, json_line, line};
use crate::output::{println, say};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hubctl inboxes
  hubctl inboxes --all-projects --json")]
/// The arguments of `hubctl inboxes`.
pub(crate) struct InboxesArgs {
    #[command(flatten)]
    scope: ProjectScope,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &InboxesArgs, context: &Context) -> Result<Exit, Error> {
    let project = args.scope.project(context).await?;
    let hub = context.hub()?;
    let answer = fetch(&hub, project.as_ref()).await?;
    if args.json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    let inboxes = read(&answer)?;
    if inboxes.is_empty() {
        let all = read(&fetch(&hub, None).await?)?;
        say(none_of("inboxes", all.len(), "inboxes"));
    }
    for inbox in inboxes {
        let place = if args.scope.all_projects {
            format!("  in {}", inbox.project)
        } else {
            String::new()
        };
        println(format_args!("{}{place}", describe(&inbox)))?;
    }
    Ok(Exit::DONE)
}

/// The hub's answer about the inboxes of `project` or of all projects, as JSON.
pub(super) async fn fetch(hub: &Hub, project: Option<&ProjectName>) -> Result<String, Error> {
    let path = Path::new("/inboxes").maybe("project", project);
    hub.text(&Request::get(path)).await
}

/// Parses the inboxes in the hub's answer.
pub(super) fn read(answer: &str) -> Result<Vec<InboxInfo>, Error> {
    parse::<Inboxes>(answer).map(|answer| answer.inboxes)
}

/// How many notifications a wake limit holds back, and until when, for people.
pub(super) fn held(inbox: &InboxInfo) -> Option<String> {
    Some(text::held(inbox.held?, inbox.held_until?))
}

/// An inbox as one line.
pub(super) fn describe(inbox: &InboxInfo) -> String {
    let name = inbox.session.as_deref().unwrap_or(inbox.name.as_str());
    let mut shown = format!("{name:24} {:5} pending", inbox.pending);
    // Writing to a String cannot fail.
    if let Some(oldest) = inbox.oldest_ts {
        let waited = age(oldest, Timestamp::now());
        let _ = write!(shown, ", the oldest for {waited}");
    }
    if let Some(held) = held(inbox) {
        let _ = write!(shown, "; {held}");
    }
    let _ = match &inbox.waiter {
        Some(waiter) => write!(shown, "; waiter: {}", line(&holder::describe(waiter))),
        None => write!(shown, "; no waiter"),
    };
    shown
}
