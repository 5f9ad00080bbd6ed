//! `hubctl trace`: shows the steps of a notification's delivery.

use std::fmt::Write as _;

use hub_protocol::Seq;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Exit};
use crate::here::Here;
use crate::hub::{Path, Request, parse};
use crate::out::println;
use crate::text::{json_line, line};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hubctl trace 41
  hubctl trace 41 --json")]
/// Which.
pub(crate) struct Args {
    /// The notification
    #[arg(value_name = "ID")]
    id: Seq,
    /// Print the hub's answer as JSON; of a long log several, a line each
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Trace {
    #[serde(default)]
    notification: Option<Box<RawValue>>,
    steps: Vec<Step>,
    /// The position to continue from, because the hub searches only a limited part of the log a request.
    #[serde(default)]
    next: Option<Seq>,
}

#[derive(Deserialize)]
struct Step {
    #[serde(default)]
    at: Option<String>,
    state: String,
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    inbox: Option<String>,
    #[serde(default)]
    by: Option<String>,
    #[serde(default)]
    until: Option<String>,
    #[serde(default)]
    limit: Option<String>,
    #[serde(default)]
    rides_along: Option<String>,
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    let path = Path::new("/notifications")
        .segment(args.id)
        .segment("trace");
    let hub = here.hub()?;
    let mut after = None;
    loop {
        let path = path.clone().maybe("after", after);
        let answer = hub.text(&Request::get(path)).await?;
        let trace: Trace = parse(&answer)?;
        if args.json {
            println(json_line(&answer))?;
        } else {
            let notification = trace.notification.as_ref().filter(|_| after.is_none());
            if let Some(notification) = notification {
                println(json_line(notification.get()))?;
            }
            for step in &trace.steps {
                println(describe(step))?;
            }
        }
        after = trace.next;
        if after.is_none() {
            return Ok(Exit::DONE);
        }
    }
}

fn describe(step: &Step) -> String {
    let at = step.at.as_deref().unwrap_or("now");
    let mut text = format!("{:24}  {:10}", line(at), line(&step.state));
    // Writing to a String cannot fail.
    if let Some(inbox) = &step.inbox {
        let _ = write!(text, "  {}", line(inbox));
    }
    if let Some(project) = &step.project {
        let _ = write!(text, " in {}", line(project));
    }
    if let Some(by) = &step.by {
        let _ = write!(text, "  by {}", line(by));
    }
    if let Some(until) = &step.until {
        let _ = write!(text, "  until {}", line(until));
    }
    if let Some(limit) = &step.limit {
        let _ = write!(text, " by a wake limit: {}", line(limit));
    }
    if let Some(why) = &step.rides_along {
        let _ = write!(text, "  rides along: {}", line(why));
    }
    text
}
