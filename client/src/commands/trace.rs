//! `hubctl trace`: what became of a notification.

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
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Trace {
    #[serde(default)]
    notification: Option<Box<RawValue>>,
    steps: Vec<Step>,
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
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    let path = Path::new("/notifications")
        .segment(args.id)
        .segment("trace");
    let answer = here.hub()?.text(&Request::get(path)).await?;
    if args.json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    let trace: Trace = parse(&answer)?;
    if let Some(notification) = &trace.notification {
        println(json_line(notification.get()))?;
    }
    for step in &trace.steps {
        println(describe(step))?;
    }
    Ok(Exit::DONE)
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
    text
}
