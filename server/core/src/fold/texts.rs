//! Texts of the hub's own notifications.

use hub_protocol::{Counted, InboxName, Kind, Seq, first_chars, single_spaced, with_ellipsis};

use super::session::Session;

/// The most characters of an agent's message that are passed on.
const EXCERPT: usize = 300;

/// Returns a session's name for people: its short name, or else its id.
pub(super) fn name<'a>(id: &'a InboxName, session: Option<&'a Session>) -> &'a str {
    session.and_then(Session::shown_name).unwrap_or(id.as_str())
}

/// Returns the beginning of a text on one line.
pub(super) fn excerpt(text: &str) -> String {
    let line = single_spaced(text);
    with_ellipsis(first_chars(&line, EXCERPT), &line).into_owned()
}

/// Formats `HEAD: TEXT`, or the head alone if the text is empty.
pub(super) fn with_excerpt(head: &str, text: &str) -> String {
    match excerpt(text) {
        text if text.is_empty() => head.into(),
        text => format!("{head}: {text}"),
    }
}

/// Formats what still runs: `1 task still runs`, `2 tasks and 1 worker still run`.
pub(super) fn running(tasks: usize, workers: usize) -> String {
    let what = match (Counted(tasks, "task"), Counted(workers, "worker")) {
        (tasks, Counted(0, _)) => tasks.to_string(),
        (Counted(0, _), workers) => workers.to_string(),
        (tasks, workers) => format!("{tasks} and {workers}"),
    };
    let ends = if tasks + workers == 1 { "s" } else { "" };
    format!("{what} still run{ends}")
}

/// Formats a duration in minutes or seconds.
pub(super) fn duration(millis: i64) -> String {
    match millis / 1000 {
        seconds if seconds % 60 == 0 && seconds > 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

/// Returns the text for a listener. `answer` is the question, if an answer can reach the asker.
pub(super) fn stopped(
    id: &InboxName,
    session: Option<&Session>,
    kind: Kind,
    answer: Option<Seq>,
    msg: Option<&str>,
) -> String {
    let name = name(id, session);
    let info = session.and_then(Session::info);
    let host = info.and_then(|it| it.host.as_ref());
    let title = info.and_then(|it| it.title.as_ref());
    let mut who = format!("Session {name}");
    if let Some(host) = host {
        who = format!("{who} on {host}");
    }
    if let Some(title) = title {
        who = format!("{who} \"{title}\"");
    }
    let said = msg.map(excerpt).unwrap_or_default();
    match kind {
        Kind::Question | Kind::Approval => {
            let asked = with_excerpt(&format!("{who} needs input"), &said);
            let stop = if asked.ends_with(char::is_alphanumeric) {
                "."
            } else {
                ""
            };
            match answer {
                Some(id) => format!("{asked}{stop} Answer: hubctl answer {id} \"…\""),
                None => format!("{asked}{stop} It is answered in its own terminal."),
            }
        }
        Kind::Error => format!(
            "{} Look: hubctl look {name}",
            with_excerpt(&format!("{who} failed"), &said)
        ),
        _ => format!("{who} finished its turn. Look: hubctl look {name}"),
    }
}
