//! `hubctl trace`: shows the steps of a notification's delivery.

use std::fmt::Write as _;

use hub_protocol::{Notification, Seq, Step, Trace};

use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Path, Request, parse};
use crate::identity::Context;
use crate::output::println;
use crate::output::text::{json_line, line};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hubctl trace 41
  hubctl trace 41 --json")]
/// The arguments of `hubctl trace`.
pub(crate) struct TraceArgs {
    /// The id of the notification
    #[arg(value_name = "ID")]
    id: Seq,
    /// Print the hub's answers as JSON, one a line; a long log takes several
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &TraceArgs, context: &Context) -> Result<Exit, Error> {
    let path = Path::new("/notifications")
        .segment(args.id)
        .segment("trace");
    let hub = context.hub()?;
    let mut after = None;
    loop {
        let path = path.clone().maybe("after", after);
        let answer = hub.text(&Request::get(path)).await?;
        let trace: Trace = parse(&answer)?;
        if args.json {
            println(json_line(&answer))?;
        } else {
            if after.is_none() {
                println(json_line(trace.notification.get()))?;
                let said: Option<Notification> = parse(trace.notification.get()).ok();
                if let Some(evidence) = said.and_then(|it| it.evidence) {
                    println(format_args!("answered by {}", line(&evidence.to_string())))?;
                }
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
    let at = step.at.map_or("now".into(), |at| at.to_string());
    let mut text = format!("{at:24}  {:10}", line(&step.state));
    // Writing to a String cannot fail.
    if let Some(inbox) = &step.inbox {
        let _ = write!(text, "  {inbox}");
    }
    if let Some(project) = &step.project {
        let _ = write!(text, " in {project}");
    }
    if let Some(by) = &step.by {
        let _ = write!(text, "  by {}", line(by));
    }
    if let Some(until) = &step.until {
        let _ = write!(text, "  until {until}");
    }
    if let Some(limit) = &step.limit {
        let _ = write!(text, " by a wake limit: {}", line(limit));
    }
    if let Some(why) = &step.rides_along {
        let _ = write!(text, "  rides along: {}", line(why));
    }
    if let Some(why) = &step.why {
        let way = step.way.map(|way| format!("{}: ", way.as_str()));
        let _ = write!(text, "  {}{}", way.unwrap_or_default(), line(why));
    }
    text
}
