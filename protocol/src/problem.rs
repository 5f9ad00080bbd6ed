//! Error responses of the API.

use serde::{Deserialize, Serialize};

use crate::{Holder, InboxName, Place, QuestionState, Seq};

/// An error as `application/problem+json` (RFC 9457), with a stable code and a hint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The HTTP status code.
    pub status: u16,
    /// The stable name of the error, for programs.
    pub code: String,
    /// The error in words; the same for every error with this code.
    pub title: String,
    /// The cause in this case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The next step for the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The waiter that holds the inbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
    /// The inbox that is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inbox: Option<InboxName>,
    /// The most similar name that exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// The question that refuses the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Seq>,
    /// The state of that question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<QuestionState>,
    /// The place of the dialog that the question must be answered in.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}
