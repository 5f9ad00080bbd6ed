//! What the hub says by itself, in words.

use bytes::Bytes;
use hub_protocol::{InboxName, Kind, Seq};
use serde::Deserialize;

use super::session::Session;

/// Characters of an agent's last message that are passed on.
const EXCERPT: usize = 300;

/// What a session is called: its short name, or else its id.
pub(super) fn name<'a>(id: &'a InboxName, session: Option<&'a Session>) -> &'a str {
    session.and_then(Session::name).unwrap_or(id.as_str())
}

/// The beginning of a text, in one line.
pub(super) fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// `HEAD: TEXT`, or the head alone.
pub(super) fn with_excerpt(head: &str, text: &str) -> String {
    match excerpt(text) {
        text if text.is_empty() => head.into(),
        text => format!("{head}: {text}"),
    }
}

/// A length of time that somebody asked for.
pub(super) fn duration(millis: i64) -> String {
    match millis / 1000 {
        seconds if seconds % 60 == 0 && seconds > 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

/// The text of a notification that is on its way.
pub(super) fn msg_of(tail: &Bytes) -> Option<String> {
    #[derive(Deserialize)]
    struct Text {
        msg: String,
    }
    let json = [b"{", tail.as_ref()].concat();
    serde_json::from_slice(&json).ok().map(|Text { msg }| msg)
}

/// What a listener is told.
pub(super) fn stopped(
    id: &InboxName,
    session: Option<&Session>,
    kind: Kind,
    cause: Seq,
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
            format!("{asked}{stop} Answer: hubctl answer {cause} \"…\"")
        }
        Kind::Error => format!(
            "{} Look: hubctl look {name}",
            with_excerpt(&format!("{who} failed"), &said)
        ),
        _ => format!("{who} finished its turn. Look: hubctl look {name}"),
    }
}
