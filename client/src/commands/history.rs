//! `hubctl history`: lists stored notifications.

use hub_protocol::Seq;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Exit};
use crate::filter::Filter;
use crate::here::Here;
use crate::hub::{Path, Request};
use crate::out::println;
use crate::text::{cut, json_line, line};

/// How many characters of a message are shown in the table.
const WIDTH: usize = 120;

/// How many notifications one request asks for.
const PAGE: u64 = 100;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Newest first. With --json each is one line of JSON, whole.

Examples:
  hubctl history
  hubctl history --project . --types error,question --limit 20
  hubctl history --search \"login form\" --json")]
/// Which.
pub(crate) struct Args {
    #[command(flatten)]
    filter: Filter,
    /// Only with this status, e.g. pending or acked
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only with this text in it
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only those before this one
    #[arg(long, value_name = "ID")]
    before: Option<Seq>,
    /// Only those after this one, oldest first
    #[arg(long, value_name = "ID", conflicts_with = "before")]
    after: Option<Seq>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u64,
    /// Print them as lines of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Page {
    notifications: Vec<Box<RawValue>>,
    #[serde(default)]
    next: Option<Seq>,
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    let asked = path(args, here)?;
    let hub = here.hub()?;
    let (mut before, mut after) = (args.before, args.after);
    let mut left = args.limit;
    while left > 0 {
        let path = asked
            .clone()
            .with("limit", left.min(PAGE))
            .maybe("before", before)
            .maybe("after", after);
        let page: Page = hub.json(&Request::get(path)).await?;
        for notification in &page.notifications {
            println(shown(args, notification.get()))?;
            left = left.saturating_sub(1);
        }
        // A page may be short or empty although more follow, because the hub searches only a limited number of records
        // a request.
        let Some(next) = page.next else { break };
        if args.after.is_some() {
            after = Some(next);
        } else {
            before = Some(next);
        }
    }
    Ok(Exit::DONE)
}

fn path(args: &Args, here: &Here) -> Result<Path, Error> {
    let path = Path::new("/notifications")
        .maybe("status", args.status.as_ref())
        .maybe("q", args.search.as_ref());
    args.filter.on(path, here)
}

fn shown(args: &Args, json: &str) -> String {
    if args.json {
        return json_line(json).into_owned();
    }
    row(json, args.filter.spans_projects())
}

/// Formats a notification as one line for people.
pub(super) fn row(json: &str, with_project: bool) -> String {
    // If a newer hub uses another format, print its JSON.
    match serde_json::from_str::<Row>(json) {
        Ok(row) => row.describe(with_project),
        Err(_) => json_line(json).into_owned(),
    }
}

/// The fields of a notification that the table shows. `--json` prints all.
#[derive(Deserialize)]
struct Row {
    id: Seq,
    ts: String,
    from: String,
    #[serde(default)]
    from_name: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    project: String,
    msg: String,
    #[serde(default)]
    to: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    status: Option<String>,
}

impl Row {
    fn describe(&self, with_project: bool) -> String {
        let mut place = self.from_name.as_ref().unwrap_or(&self.from).clone();
        if let Some(to) = &self.to {
            place = format!("{place} → {to}");
        }
        if with_project {
            place = format!("{place} [{}]", self.project);
        }
        if let Some(status) = &self.status {
            place = format!("{place} ({status})");
        }
        let title = self
            .title
            .as_ref()
            .map_or(String::new(), |title| format!("{title}: "));
        let text = format!("{title}{}", self.msg);
        format!(
            "{:>6}  {}  {:8}  {}  {}",
            self.id,
            line(&self.ts),
            line(&self.kind),
            line(&place),
            cut(&line(&text), WIDTH)
        )
    }
}
