//! Answers of the hub that it has put into words: a summary, and lines in order of time.

use hub_protocol::Timestamp;
use serde::Deserialize;

use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Path, Request, parse};
use crate::identity::Context;
use crate::output::println;
use crate::output::text::{json_line, line};

#[derive(Deserialize)]
struct Report {
    summary: String,
    details: Vec<Detail>,
}

#[derive(Deserialize)]
struct Detail {
    at: Option<Timestamp>,
    text: String,
}

/// Prints the report at `path`, or the hub's answer as JSON.
pub(crate) async fn show(path: Path, json: bool, context: &Context) -> Result<Exit, Error> {
    let answer = context.hub()?.text(&Request::get(path)).await?;
    if json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    let report: Report = parse(&answer)?;
    println(line(&report.summary))?;
    for Detail { at, text } in &report.details {
        let at = at.map_or("now".into(), |at| at.to_string());
        println(format_args!("  {at:24}  {}", line(text)))?;
    }
    Ok(Exit::DONE)
}
