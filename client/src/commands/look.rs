//! `hubctl look`: shows one session in detail.

use hub_protocol::{InboxName, ProjectName, Seq, Timestamp};
use serde_json::{Value, json};

use crate::age::age;
use crate::error::{Error, Exit};
use crate::fields::{flag, list, number, text};
use crate::here::Here;
use crate::hub::{Hub, Path, Request};
use crate::out::println;
use crate::question;
use crate::session::{session, state, waiter, who};
use crate::shell::quoted;
use crate::text::{json_line, line};

use super::history;

/// How many of the session's last notifications are shown.
const LAST: usize = 5;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Looking is only looking: nobody is told, and nothing is acknowledged.

Examples:
  hubctl look worker-1
  hubctl look 0b1c --json")]
/// At whom.
pub(crate) struct Args {
    /// The session: its name, an id, or a unique beginning of one
    #[arg(value_name = "TARGET")]
    target: InboxName,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    let project = here.project(args.project.as_ref())?.value;
    let hub = here.hub()?;
    let session = session(&hub, &args.target, &project).await?;
    let questions = questions(&hub, &session).await?;
    let said = said(&hub, &session).await?;
    if args.json {
        let all = json!({"session": session, "questions": questions, "notifications": said});
        println(json_line(&all.to_string()))?;
        return Ok(Exit::DONE);
    }
    let now = Timestamp::now();
    for (name, value) in facts(&session, now) {
        println(format_args!("{name:10} {value}"))?;
    }
    for listener in list(&session, "listeners") {
        println(format_args!("{:10} {}", "tells", told(listener)))?;
    }
    for question in &questions {
        println(question::describe(question, now))?;
        let id = number(question, "id");
        let is_over = flag(&session, "gone") || text(&session, "state") == "ended";
        if is_over || flag(question, "deliverable") {
            println(format_args!("        answer: hubctl answer {id} \"…\""))?;
        } else {
            println("        answer it in its own terminal")?;
        }
    }
    for notification in &said {
        println(history::row(&notification.to_string(), false))?;
    }
    Ok(Exit::DONE)
}

/// The session's open questions.
async fn questions(hub: &Hub, session: &Value) -> Result<Vec<Value>, Error> {
    let project: Option<ProjectName> = text(session, "project").parse().ok();
    let answer: Value = hub
        .json(&question::request(project.as_ref(), false))
        .await?;
    let questions = list(&answer, "questions").iter();
    let own = |it: &&Value| text(it, "from") == text(session, "id");
    Ok(questions.filter(own).cloned().collect())
}

/// The session's last notifications, newest first.
async fn said(hub: &Hub, session: &Value) -> Result<Vec<Value>, Error> {
    let path = Path::new("/notifications")
        .with("project", text(session, "project"))
        .with("session", text(session, "id"));
    let mut found: Vec<Value> = Vec::new();
    let mut before: Option<Seq> = None;
    loop {
        let left = LAST - found.len();
        let path = path.clone().with("limit", left).maybe("before", before);
        let page: Value = hub.json(&Request::get(path)).await?;
        found.extend(list(&page, "notifications").iter().cloned());
        // The hub searches only a limited number of records a request.
        before = page.get("next").and_then(Value::as_u64);
        if before.is_none() || found.len() >= LAST {
            return Ok(found);
        }
    }
}

/// The session's data for people, as names and values.
fn facts(session: &Value, now: Timestamp) -> Vec<(&'static str, String)> {
    let shown = |field: &str| line(text(session, field)).into_owned();
    let mark = if flag(session, "primary") {
        ", the primary"
    } else {
        ""
    };
    let mut facts = vec![
        ("session", format!("{}{mark}", who(session))),
        ("project", shown("project")),
        ("state", state(session, now)),
    ];
    for field in ["title", "agent", "host", "cwd", "parent"] {
        facts.push((field, shown(field)));
    }
    let pane = text(session, "pane");
    if !pane.is_empty() {
        let pane = line(pane);
        let at = quoted(&pane);
        let go = format!("tmux select-window -t {at} && tmux select-pane -t {at}");
        facts.push(("pane", format!("{pane}; to go there: {go}")));
    }
    let seen = text(session, "last_seen");
    if !seen.is_empty() {
        facts.push(("last seen", format!("{} ago", age(seen, now))));
    }
    let pending = number(session, "pending");
    facts.push((
        "inbox",
        format!("{pending} pending; waiter: {}", waiter(session)),
    ));
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

fn told(listener: &Value) -> String {
    let caller = line(text(listener, "caller"));
    match text(listener, "until") {
        "" => format!("{caller} of its next stop"),
        until => format!("{caller} of its next stop, or that none came until {until}"),
    }
}
