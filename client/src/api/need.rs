//! Needs: what the person has to do, as the hub decides it.

use hub_protocol::Need;

use super::question::outcome_of;
use crate::error::Error;
use crate::hub::{Hub, Path, Request, parse};

/// What the person does about a question that the hub cannot answer.
pub(crate) const IN_ITS_TERMINAL: &str = "answer it in its own terminal";

/// Whether only the session's own terminal can answer it.
pub(crate) fn is_in_terminal(need: &Need) -> bool {
    need.kind.asks() && !need.answerable && !need.reconnecting
}

/// The path of the need `id`.
pub(crate) fn path(id: &str) -> Path {
    Path::new("/needs").segment(id)
}

/// The need `id` with all that it says; also a question that is settled.
pub(crate) async fn need(hub: &Hub, id: &str) -> Result<Need, Error> {
    parse(&hub.text(&Request::get(path(id))).await?)
}

/// Whether a need is of the session with this name or id.
pub(crate) fn is_of_session(need: &Need, named: &str) -> bool {
    need.name == named || need.session.as_ref().is_some_and(|it| it.as_str() == named)
}

/// How a question ended, as a sentence.
pub(crate) fn outcome(need: &Need) -> String {
    let settled = need.settled.clone().unwrap_or_default();
    let (by, answer) = (settled.by.as_deref(), settled.answer.as_deref());
    outcome_of(&need.id, settled.state, by, answer)
}

/// The text of all that an answer allows or settles.
pub(crate) fn text(need: &Need) -> &str {
    need.whole.as_ref().map_or(&need.brief, |it| &it.text)
}
