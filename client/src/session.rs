//! Sessions: requests for them, and how they are shown.

use std::fmt::Display;

use hub_protocol::{ProjectName, Timestamp};
use serde_json::Value;

use crate::age::age;
use crate::error::Error;
use crate::fields::{flag, list, text};
use crate::hub::{Hub, Path, Request};
use crate::text::line;

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
) -> Result<Vec<Value>, Error> {
    let answer: Value = hub.json(&request(project, all)).await?;
    Ok(list(&answer, "sessions").to_vec())
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
) -> Result<Value, Error> {
    hub.json(&Request::get(path(target, project))).await
}

/// The project's primary, if there is one.
pub(crate) async fn primary(hub: &Hub, project: &ProjectName) -> Result<Option<Value>, Error> {
    let all = sessions(hub, Some(project), false).await?;
    Ok(all.into_iter().find(|it| flag(it, "primary")))
}

/// The session's name, and its id if that differs.
pub(crate) fn who(session: &Value) -> String {
    let (name, id) = (text(session, "name"), text(session, "id"));
    if name == id {
        line(id).into_owned()
    } else {
        format!("{} ({})", line(name), line(id))
    }
}

/// The session's state with its source and age: `complete (Stop hook, 12 s ago)`.
pub(crate) fn state(session: &Value, now: Timestamp) -> String {
    let state = match text(session, "state") {
        _ if flag(session, "gone") => "gone",
        "" => return "said nothing yet".into(),
        state => state,
    };
    let silent = if flag(session, "silent") {
        ", silent"
    } else {
        ""
    };
    let evidence = match text(session, "evidence") {
        "" => String::new(),
        evidence => format!("{}, ", line(evidence)),
    };
    let age = age(text(session, "since"), now);
    format!("{}{silent} ({evidence}{age} ago)", line(state))
}

/// How the waiter at the session's inbox wakes it: `rewake`, `wait`, `live` if unknown, or `none` without a waiter.
pub(crate) fn waiter(session: &Value) -> &str {
    match session.get("waiter") {
        None => "none",
        Some(waiter) => match text(waiter, "way") {
            "" => "live",
            way => way,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_shown_with_its_evidence_and_age() {
        let now: Timestamp = "2026-11-21T21:46:08.042Z".parse().unwrap();
        let session = |json: &str| serde_json::from_str::<Value>(json).unwrap();
        let shown = |json: &str| state(&session(json), now);
        let since = r#""since":"2026-11-21T21:46:00.000Z""#;
        assert_eq!(
            shown(&format!(
                r#"{{"state":"complete","evidence":"Stop hook",{since}}}"#
            )),
            "complete (Stop hook, 8 s ago)"
        );
        assert_eq!(
            shown(&format!(r#"{{"state":"working","silent":true,{since}}}"#)),
            "working, silent (8 s ago)"
        );
        assert_eq!(
            shown(&format!(r#"{{"state":"error","gone":true,{since}}}"#)),
            "gone (8 s ago)"
        );
        assert_eq!(shown("{}"), "said nothing yet");
        assert_eq!(waiter(&session(r#"{"waiter":{"way":"rewake"}}"#)), "rewake");
        assert_eq!(waiter(&session("{}")), "none");
    }
}
