//! `hubctl history`: lists stored notifications.

use hub_protocol::{HistoryMarks, HistoryPage, Notification, Seq};

use crate::arguments::filter::Filter;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Path, Request, parse};
use crate::identity::Context;
use crate::output::println;
use crate::output::text::{cut, json_line, line};

/// How many characters of a message are shown in the table.
const WIDTH: usize = 120;

/// How many notifications one request asks for.
const PAGE: u64 = 100;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Newest first. With --json, each notification is printed in full as one line of JSON.

Examples:
  hubctl history
  hubctl history --project . --types error,question --limit 20
  hubctl history --search \"login form\" --json")]
/// The arguments of `hubctl history`.
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    filter: Filter,
    /// Only with this status, e.g. pending or acked
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only notifications that contain this text
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only notifications before this id
    #[arg(long, value_name = "ID")]
    before: Option<Seq>,
    /// Only notifications after this id, oldest first
    #[arg(long, value_name = "ID", conflicts_with = "before")]
    after: Option<Seq>,
    /// The most notifications to print
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u64,
    /// Print the notifications as lines of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &HistoryArgs, context: &Context) -> Result<Exit, Error> {
    let asked = path(args, context).await?;
    let hub = context.hub()?;
    let (mut before, mut after) = (args.before, args.after);
    let mut left = args.limit;
    while left > 0 {
        let path = asked
            .clone()
            .with("limit", left.min(PAGE))
            .maybe("before", before)
            .maybe("after", after);
        let page: HistoryPage = parse(&hub.text(&Request::get(path)).await?)?;
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

async fn path(args: &HistoryArgs, context: &Context) -> Result<Path, Error> {
    let path = Path::new("/notifications")
        .maybe("status", args.status.as_ref())
        .maybe("q", args.search.as_ref());
    args.filter.on(path, context).await
}

fn shown(args: &HistoryArgs, json: &str) -> String {
    if args.json {
        return json_line(json).into_owned();
    }
    row(json, args.filter.spans_projects())
}

/// Formats a notification as one line for people.
pub(super) fn row(json: &str, with_project: bool) -> String {
    // If a newer hub uses another format, print its JSON.
    match (parse(json), parse(json)) {
        (Ok(notification), Ok(marks)) => describe(&notification, &marks, with_project),
        _ => json_line(json).into_owned(),
    }
}

fn describe(it: &Notification, marks: &HistoryMarks, with_project: bool) -> String {
    let from = it.from_name.as_deref();
    let mut place = from.unwrap_or(it.from.as_str()).to_owned();
    if let Some(to) = &it.to {
        place = format!("{place} → {to}");
    }
    if with_project {
        place = format!("{place} [{}]", it.project);
    }
    let ended = marks.ended.as_deref();
    let status = ended.unwrap_or(marks.status.as_str());
    let title = it.title.as_ref();
    let title = title.map_or(String::new(), |title| format!("{title}: "));
    let text = format!("{title}{}", it.msg);
    let evidence = it.evidence.as_ref();
    let evidence = evidence.map_or(String::new(), |it| {
        format!("  by {}", line(&it.to_string()))
    });
    format!(
        "{:>6}  {}  {:8}  {} ({status})  {}{evidence}",
        it.id,
        it.ts,
        it.kind,
        line(&place),
        cut(&line(&text), WIDTH)
    )
}
