//! The results of the tools: the hub's own words, and the framed words of others.

use std::fmt::Write as _;

use hub_protocol::{Frame, Framed, Seq};
use rmcp::model::JsonObject;
use serde::Serialize;
use serde_json::json;

use crate::http::error::{ApiError, Code};
use crate::hub::writer::Done;

pub(super) const SESSIONS: Frame = Frame {
    what: "Sessions of this project",
    more: "look at fewer of them with the command hubctl sessions",
};
pub(super) const QUESTIONS: Frame = Frame {
    what: "Open questions of this project",
    more: "answer some, then call the tool inbox again",
};

/// The hub's words about a call, and the framed words of others.
#[derive(Default)]
pub(super) struct Reply {
    pub(super) words: String,
    pub(super) data: Vec<String>,
    /// The notifications that `data` hands over; `None` if the tool took none of the pending ones.
    pub(super) taken: Option<Vec<Seq>>,
}

impl From<String> for Reply {
    fn from(words: String) -> Self {
        Self {
            words,
            ..Self::default()
        }
    }
}

/// Names the inboxes that a notification went to, and counts the readers that it woke.
pub(super) fn stored_as(what: &str, done: &Done) -> String {
    let id = done.ids.first().copied().unwrap_or_default();
    let inboxes: Vec<_> = done.inboxes.iter().map(|it| it.name.as_str()).collect();
    let mut words = match inboxes.as_slice() {
        [] => format!("{what} {id} is stored; it went to no inbox."),
        names => format!(
            "{what} {id} is stored for {}; it woke {}.",
            names.join(", "),
            done.woken
        ),
    };
    if let Some(hint) = &done.hint {
        let _ = write!(words, " Note: {hint}.");
    }
    words
}

/// Objects as text for a model, with these members only.
pub(super) fn framed(
    frame: Frame,
    objects: &[impl Serialize],
    members: &[&str],
) -> Result<String, ApiError> {
    let mut lines = Vec::new();
    for object in objects {
        let object = serde_json::to_value(object)
            .map_err(|error| ApiError::failed(Code::Internal, &error))?;
        let members = members.iter().filter(|name| !object[**name].is_null());
        let object: JsonObject = members
            .map(|name| ((*name).to_owned(), object[*name].clone()))
            .collect();
        lines.push(json!(object).to_string());
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    Ok(Framed::of(frame, &lines, 0).text)
}

/// An error as text for a model, with the next step.
pub(super) fn explained(error: ApiError) -> String {
    let code = error.code();
    let problem = error.problem();
    let next = match code {
        Code::Invalid | Code::UnknownType | Code::PayloadTooLarge => {
            "Correct the arguments by the tool's schema, and call it again."
        }
        Code::UnknownSession | Code::UnknownInbox => "Call the tool sessions for the names.",
        Code::UnknownNotification | Code::NoSuchQuestion => {
            "Call the tool inbox for the open questions."
        }
        Code::QuestionSettled => "There is nothing left to do for this question.",
        Code::InboxHeld => "Call the tool inbox instead of waiting.",
        Code::NotYours => "Leave it to the person or to another agent.",
        Code::Busy | Code::NotReady | Code::StorageFailed => "Call it again in a few seconds.",
        _ => "",
    };
    let hint = problem.hint.filter(|_| next.is_empty()).unwrap_or_default();
    let detail = problem.detail.unwrap_or(problem.title);
    format!("Refused ({}): {detail}. {next}{hint}", problem.code)
}
