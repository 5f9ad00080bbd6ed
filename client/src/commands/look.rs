//! `hubctl look`: shows one session in detail.

use hub_protocol::{
    HistoryPage, InboxName, Listener, Need, Needs, ProjectName, Seq, Session, Timestamp,
};
use serde_json::value::RawValue;

use crate::api::need;
use crate::api::session::{display_name, doing, path, phase, state, waiter};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Hub, Path, Request, parse};
use crate::identity::Context;
use crate::output::age::age;
use crate::output::text::{json_line, said};
use crate::output::{print, println};

use super::{history, needs};

/// How many of the session's last notifications are shown.
const LAST: usize = 5;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Only reads: it notifies no one and acknowledges nothing.

Examples:
  hubctl look worker-1
  hubctl look 0b1c --json")]
/// The arguments of `hubctl look`.
pub(crate) struct LookArgs {
    /// The session: its name, an id, or a unique prefix of one
    #[arg(value_name = "TARGET")]
    target: InboxName,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Print the session as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &LookArgs, context: &Context) -> Result<Exit, Error> {
    let project = context.project(args.project.as_ref()).await?.value;
    let hub = context.hub()?;
    let text = hub
        .text(&Request::get(path(&args.target, &project)))
        .await?;
    let session: Session = parse(&text)?;
    let needs = needs_of(&hub, &session).await?;
    let last = last(&hub, &session).await?;
    if args.json {
        let last: Vec<&str> = last.iter().map(|it| it.get()).collect();
        let (needs, last) = (needs.join(","), last.join(","));
        println(json_line(&format!(
            "{{\"session\":{text},\"needs\":[{needs}],\"notifications\":[{last}]}}"
        )))?;
        return Ok(Exit::DONE);
    }
    let now = Timestamp::now();
    for (name, value) in facts(&session, now) {
        println(format_args!("{name:10} {value}"))?;
    }
    for listener in &session.listeners {
        println(format_args!(
            "{:10} {}",
            "notifies",
            listener_line(listener)
        ))?;
    }
    for need in &needs {
        let need: Need = parse(need)?;
        print(&needs::whole(&need, now))?;
        println(format_args!("        {}", what_to_do(&need)))?;
    }
    for notification in &last {
        println(history::row(notification.get(), false))?;
    }
    Ok(Exit::DONE)
}

/// What the session needs of the person, each whole, as the hub's JSON.
async fn needs_of(hub: &Hub, session: &Session) -> Result<Vec<String>, Error> {
    let list = hub.text(&Request::get(Path::new("/needs"))).await?;
    let list: Needs = parse(&list)?;
    let is_its =
        |it: &Need| it.project == session.project && it.session == Some(session.id.clone());
    let mut found = Vec::new();
    for need in list.needs.iter().filter(|it| it.is_open() && is_its(it)) {
        found.push(hub.text(&Request::get(need::path(&need.id))).await?);
    }
    Ok(found)
}

/// The command that ends a need, or the place where it ends.
fn what_to_do(need: &Need) -> String {
    let id = &need.id;
    match (need.answerable, need.closable) {
        (true, _) => format!("answer: hubctl answer {id}{}", texts(need)),
        (false, true) => format!("end it: hubctl done {id}"),
        (false, false) => need::IN_ITS_TERMINAL.into(),
    }
}

/// The arguments of an answer: a text, or one for each question of a dialog that has several.
fn texts(need: &Need) -> String {
    let questions = need.whole.as_ref().map_or(0, |it| it.controls.len());
    if questions > 1 {
        " --each \"…\"".repeat(questions)
    } else {
        " \"…\"".into()
    }
}

/// The session's last notifications, newest first, as the hub's JSON.
async fn last(hub: &Hub, session: &Session) -> Result<Vec<Box<RawValue>>, Error> {
    let path = Path::new("/notifications")
        .with("project", &session.project)
        .with("session", &session.id);
    let mut found = Vec::new();
    let mut before: Option<Seq> = None;
    loop {
        let left = LAST - found.len();
        let path = path.clone().with("limit", left).maybe("before", before);
        let page: HistoryPage = parse(&hub.text(&Request::get(path)).await?)?;
        found.extend(page.notifications);
        // The hub searches only a limited number of records a request.
        before = page.next;
        if before.is_none() || found.len() >= LAST {
            return Ok(found);
        }
    }
}

/// The session's data for people, as names and values.
fn facts(session: &Session, now: Timestamp) -> Vec<(&'static str, String)> {
    let mark = if session.primary { ", the primary" } else { "" };
    let info = &session.info;
    let mut facts = vec![
        ("session", format!("{}{mark}", display_name(session))),
        ("project", session.project.to_string()),
        ("phase", phase(&session.phase, now)),
        ("doing", doing(&session.phase)),
        ("reported", state(session, now)),
    ];
    for (name, text) in [
        ("title", &info.title),
        ("agent", &info.agent),
        ("host", &info.host),
        ("cwd", &info.cwd),
    ] {
        let text = text.as_deref().unwrap_or_default();
        let text = if text.is_empty() {
            text.into()
        } else {
            said(text)
        };
        facts.push((name, text.into_owned()));
    }
    facts.extend(info.parent.as_ref().map(|it| ("parent", it.to_string())));
    if let Some(pane) = info.pane.as_ref().filter(|pane| !pane.is_empty()) {
        let pane = said(pane);
        let go = format!("hubctl go {}", session.id);
        facts.push(("pane", format!("{pane}; to show it: {go}")));
    }
    if let Some(seen) = session.last_seen {
        facts.push(("last seen", format!("{} ago", age(seen, now))));
    }
    let (pending, waiter) = (session.pending, waiter(session));
    facts.push(("inbox", format!("{pending} pending; waiter: {waiter}")));
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

fn listener_line(listener: &Listener) -> String {
    let caller = &listener.caller;
    match listener.until {
        None => format!("{caller} of its next stop"),
        Some(until) => format!("{caller} of its next stop, or at {until} if it has not stopped"),
    }
}

#[cfg(test)]
mod tests {
    use hub_protocol::{Choice, Control, Whole};

    use super::*;

    #[test]
    fn a_dialog_with_several_questions_takes_an_answer_for_each() {
        let asked = |questions: usize| Need {
            id: "667".into(),
            answerable: true,
            whole: Some(Whole {
                controls: vec![Control::Choice(Choice::default()); questions],
                ..Whole::default()
            }),
            ..Need::default()
        };
        let one = "answer: hubctl answer 667 \"…\"";
        assert_eq!(what_to_do(&asked(1)), one);
        assert_eq!(
            what_to_do(&Need {
                whole: None,
                ..asked(1)
            }),
            one
        );
        assert_eq!(
            what_to_do(&asked(2)),
            "answer: hubctl answer 667 --each \"…\" --each \"…\""
        );
    }
}
