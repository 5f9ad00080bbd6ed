//! Sessions: requests for them, and how they are shown.

use std::fmt::Display;

use hub_protocol::{Phase, ProjectName, Session, Sessions, Timestamp, Way};
use serde_json::value::RawValue;

use crate::error::Error;
use crate::hub::{Hub, Path, Request, parse};
use crate::output::age::age;
use crate::output::text::{line, said};

/// The request for the sessions of `project` or of all projects; with `all`, ended ones too.
pub(crate) fn request(project: Option<&ProjectName>, all: bool) -> Request {
    let path = Path::new("/sessions").maybe("project", project);
    Request::get(path.maybe("all", all.then_some(true)))
}

/// The sessions of `project` or of all projects.
pub(crate) async fn sessions(
    hub: &Hub,
    project: Option<&ProjectName>,
    all: bool,
) -> Result<Vec<Session>, Error> {
    let answer = hub.text(&request(project, all)).await?;
    parse::<Sessions>(&answer).map(|answer| answer.sessions)
}

/// The path of the session `target`: a name, an id, or a unique prefix of an id.
pub(crate) fn path(target: impl Display, project: &ProjectName) -> Path {
    let path = Path::new("/sessions").segment(target);
    path.with("project", project)
}

/// The session `target`: a name, an id, or a unique prefix of an id.
pub(crate) async fn session(
    hub: &Hub,
    target: impl Display,
    project: &ProjectName,
) -> Result<Session, Error> {
    parse(&hub.text(&Request::get(path(target, project))).await?)
}

/// The project's primary with the hub's JSON, if there is one.
pub(crate) async fn primary(
    hub: &Hub,
    project: &ProjectName,
) -> Result<Option<(Session, Box<RawValue>)>, Error> {
    let answer = hub.text(&request(Some(project), false)).await?;
    for json in parse::<Sessions<Box<RawValue>>>(&answer)?.sessions {
        let session: Session = parse(json.get())?;
        if session.primary {
            return Ok(Some((session, json)));
        }
    }
    Ok(None)
}

/// The session's name, and its id if that differs.
pub(crate) fn display_name(session: &Session) -> String {
    let (name, id) = (said(&session.name), &session.id);
    if name == id.as_str() {
        id.to_string()
    } else {
        format!("{name} ({id})")
    }
}

/// The session's phase for people, with the time since it began: `your turn (12 s)`.
pub(crate) fn phase(phase: &Phase, now: Timestamp) -> String {
    let name = phase.name.as_str().replace('_', " ");
    let until = phase.until.filter(|until| *until > now);
    let until = until.map_or(String::new(), |until| format!(" until {until}"));
    format!("{name}{until} ({})", age(phase.since, now))
}

/// One line of what the session does now: the tool call that runs, or the text of its phase.
pub(crate) fn doing(phase: &Phase) -> String {
    let text = match &phase.tool {
        Some(tool) => format!("{} {}", tool.name, tool.on),
        None => phase.text.clone().unwrap_or_default(),
    };
    match text.trim() {
        "" => String::new(),
        text => said(text).into_owned(),
    }
}

/// The session's state with its source and age: `complete (Stop hook, 12 s ago)`.
pub(crate) fn state(session: &Session, now: Timestamp) -> String {
    let state = match session.state {
        _ if session.gone => "gone",
        None => return "no state yet".into(),
        Some(state) => state.as_str(),
    };
    let silent = if session.silent { ", silent" } else { "" };
    let evidence = session.evidence.as_ref();
    let evidence = evidence.map_or(String::new(), |it| format!("{}, ", line(it)));
    let age = session.since.map_or("?".into(), |since| age(since, now));
    format!("{state}{silent} ({evidence}{age} ago)")
}

/// How the waiter at the session's inbox wakes it: `rewake`, `wait`, `live` if unknown, or `none` without a waiter.
pub(crate) fn waiter(session: &Session) -> &'static str {
    match &session.waiter {
        None => "none",
        Some(holder) => holder.way.map_or("live", Way::as_str),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_shown_with_its_evidence_and_age() {
        let now: Timestamp = "2026-11-21T21:46:08.042Z".parse().unwrap();
        let session = |members: &str| -> Session {
            let known =
                r#""id":"w1","name":"w1","project":"p","primary":false,"pending":0,"wake":"none""#;
            let newer = r#""process":{"pid":1,"of_a_newer_hub":1},"of_a_newer_hub":{}"#;
            parse(&format!("{{{known},{newer}{members}}}")).unwrap()
        };
        let shown = |members: &str| state(&session(members), now);
        let since = r#""since":"2026-11-21T21:46:00.000Z""#;
        assert_eq!(
            shown(&format!(
                r#","state":"complete","evidence":"Stop hook",{since}"#
            )),
            "complete (Stop hook, 8 s ago)"
        );
        assert_eq!(
            shown(&format!(r#","state":"working","silent":true,{since}"#)),
            "working, silent (8 s ago)"
        );
        assert_eq!(
            shown(&format!(r#","state":"error","gone":true,{since}"#)),
            "gone (8 s ago)"
        );
        assert_eq!(shown(""), "no state yet");
        let held = r#","waiter":{"way":"rewake","since":"2026-11-21T21:46:00.000Z"}"#;
        assert_eq!(waiter(&session(held)), "rewake");
        assert_eq!(waiter(&session("")), "none");
    }
}
