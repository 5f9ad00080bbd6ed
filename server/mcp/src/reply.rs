//! The results of the tools: the hub's own words, and the framed words of others.

use hub_engine::writer::Done;
use hub_protocol::{Frame, Framed, Need, NeedKind, OwnWords, Quoted, Said, Seq};
use rmcp::model::JsonObject;
use serde::Serialize;
use serde_json::{Value, json};

use hub_http::error::{ApiError, Code};

pub(super) const SESSIONS: Frame = Frame {
    what: "Sessions of this project",
    more: "look at fewer of them with the command hubctl sessions",
};
pub(super) const NEEDS: Frame = Frame {
    what: "Open needs of this project",
    more: "the command hubctl needs",
};

/// The hub's words about a call, and the framed words of others.
#[derive(Default)]
pub(super) struct Reply {
    pub(super) words: OwnWords,
    pub(super) data: Vec<Framed>,
    /// The notifications that `data` hands over; `None` if the tool took none of the pending ones.
    pub(super) taken: Option<Vec<Seq>>,
}

impl Reply {
    pub(super) fn of(words: impl Said) -> Self {
        Self {
            words: OwnWords::of(words),
            ..Self::default()
        }
    }
}

/// Names the inboxes that a notification went to, and counts the readers that it woke.
pub(super) fn stored_as(what: &'static str, done: &Done) -> OwnWords {
    let id = done.ids.first().copied().unwrap_or_default();
    let words = OwnWords::of(what).and(" ").and(id);
    let inboxes = done.inboxes.iter().map(|it| Quoted(it.name.as_str()));
    let words = match inboxes.len() {
        0 => words.and(" is stored; it went to no inbox."),
        _ => words
            .and(" is stored for ")
            .and_all(inboxes)
            .and("; it woke ")
            .and(u64::from(done.woken))
            .and("."),
    };
    match &done.hint {
        Some(hint) => words.and(" Note: ").and(Quoted(hint)).and("."),
        None => words,
    }
}

/// Objects as text for a model, with these members only.
pub(super) fn framed(
    frame: Frame,
    objects: &[impl Serialize],
    members: &[&str],
) -> Result<Framed, ApiError> {
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
    Ok(Framed::of(frame, &lines, 0))
}

/// The needs that a model may answer. They are read whole; of the others, `hubctl needs` shows more.
pub(super) const ANSWERED: NeedKind = NeedKind::Question;

/// A need for a model: a question with its whole text and its number as the tools take it; others briefly, so that a long one
/// leaves room for the rest.
pub(super) fn of_need(need: &Need) -> Value {
    let mut object = json!(need);
    if let Ok(id) = need.id.parse::<Seq>() {
        object["id"] = id.into();
    }
    let text = if need.kind == ANSWERED {
        "text"
    } else {
        "brief"
    };
    object["msg"] = object[text].take();
    object
}

/// An error as text for a model, with the next step. What names this request's fault may hold the words of others.
pub(super) fn explained(error: ApiError) -> OwnWords {
    let code = error.code();
    let problem = error.problem();
    let next = match code {
        Code::Invalid | Code::UnknownType | Code::PayloadTooLarge => {
            "Correct the arguments by the tool's schema, and call it again."
        }
        Code::UnknownSession | Code::UnknownInbox => "Call the tool sessions for the names.",
        Code::UnknownNotification | Code::NoSuchQuestion => {
            "Call the tool inbox for the open needs."
        }
        Code::QuestionSettled => "There is nothing left to do for this question.",
        Code::InboxHeld => "Call the tool inbox instead of waiting.",
        Code::NotYours => "Leave it to the person or to another agent.",
        Code::TooManyTasks => {
            "Go on without waiting: new notifications come with the result of a later call."
        }
        Code::Busy | Code::NotReady | Code::StorageFailed => "Call it again in a few seconds.",
        _ => "",
    };
    let entry = code.entry();
    let words = OwnWords::of("Refused (").and(entry.code).and("): ");
    let words = match &problem.detail {
        Some(detail) => words.and(Quoted(detail)),
        None => words.and(entry.title),
    };
    let next = if next.is_empty() { entry.hint } else { next };
    words.and(". ").and(next)
}
