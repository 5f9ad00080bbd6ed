//! Errors as clients get them: problem documents (RFC 9457).

use std::fmt::Display;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use hub_core::command::Refusal;
use hub_core::rejected::Rejected;
use hub_engine::draft::InvalidPost;
use hub_engine::hooks::HookError;
use hub_log::journal::JournalError;
use hub_protocol::Problem;

mod catalogue;

pub use catalogue::Code;

/// The media type of errors (RFC 9457).
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Marks a response that is delayed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delayed;

/// An error that is sent to a client.
#[derive(Debug, Clone)]
pub struct ApiError {
    code: Code,
    /// The members that depend on this request; those of the code are empty.
    about: Box<Problem>,
}

impl From<Code> for ApiError {
    fn from(code: Code) -> Self {
        Self {
            code,
            about: Box::default(),
        }
    }
}

impl ApiError {
    /// An error whose detail names this request's fault.
    pub fn new(code: Code, detail: impl Display) -> Self {
        Self::from(code).with(|it| it.detail = Some(detail.to_string()))
    }

    /// The error for a request that breaks a rule of the contract.
    pub fn invalid(detail: impl Display) -> Self {
        Self::new(Code::Invalid, detail)
    }

    /// A failure of the hub itself. Its cause is logged here and not sent to the client.
    pub fn failed(code: Code, cause: &dyn Display) -> Self {
        tracing::error!(code = code.as_str(), %cause, "request failed");
        code.into()
    }

    /// Sets a member of the problem document.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Problem)) -> Self {
        set(&mut self.about);
        self
    }

    /// The error's code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The problem document of this error.
    pub fn problem(self) -> Problem {
        let entry = self.code.entry();
        Problem {
            status: entry.status,
            code: entry.code.into(),
            title: entry.title.into(),
            hint: Some(entry.hint.into()),
            ..*self.about
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let code = self.code;
        let json = serde_json::to_vec(&self.problem()).unwrap_or_default();
        let mut response = Response::new(Body::from(json));
        *response.status_mut() = code.status();
        if code.is_delayed() {
            response.extensions_mut().insert(Delayed);
        }
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        match code {
            Code::Unauthorized | Code::BadCode => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Code::Busy
            | Code::Overloaded
            | Code::NoActiveHub
            | Code::NotReady
            | Code::TooManyConnections => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let code = match &refusal {
            Refusal::KeyReused => Code::KeyReused,
            Refusal::TooManyInboxes { .. } => Code::TooManyInboxes,
            Refusal::TooManyListeners { .. } => Code::TooManyListeners,
            Refusal::TooManyQuestions { .. } => Code::TooManyQuestions,
            Refusal::TooManySessions { .. } | Refusal::SessionsTooLarge { .. } => {
                Code::TooManySessions
            }
            Refusal::UnknownInbox { .. } => Code::UnknownInbox,
            Refusal::UnknownId(_) => Code::UnknownNotification,
            Refusal::NoSuchQuestion => Code::NoSuchQuestion,
            Refusal::Elsewhere(_)
            | Refusal::ExpiredAlready
            | Refusal::SessionTooLarge { .. }
            | Refusal::OwnListener
            | Refusal::Unseen(_)
            | Refusal::UnusableAnswer { .. } => Code::Invalid,
            Refusal::NeedChanged => Code::UnknownNeed,
            Refusal::UnknownSession { .. } => Code::UnknownSession,
            Refusal::QuestionSettled { .. } => Code::QuestionSettled,
            Refusal::InTerminal { .. } => Code::AnswerInTerminal,
            Refusal::NotAllowed(_) => Code::NotYours,
        };
        let error = Self::new(code, &refusal);
        match refusal {
            Refusal::UnknownInbox {
                nearest: Some(name),
                ..
            } => error.with(|it| it.nearest = Some(name.to_string())),
            Refusal::UnknownSession {
                nearest: Some(name),
                ..
            } => error.with(|it| it.nearest = Some(name)),
            Refusal::QuestionSettled { id, state } => {
                error.with(|it| (it.question, it.state) = (Some(id), Some(state)))
            }
            Refusal::UnusableAnswer { id, .. } | Refusal::Unseen(id) => {
                error.with(|it| it.question = Some(id))
            }
            Refusal::InTerminal { id, place, .. } => {
                error.with(|it| (it.question, it.place) = (Some(id), Some(place)))
            }
            _ => error,
        }
    }
}

impl From<Rejected> for ApiError {
    fn from(rejected: Rejected) -> Self {
        match rejected {
            Rejected::Refused(refusal) => refusal.into(),
            Rejected::Full => Code::DiskFull.into(),
            Rejected::Storage => Code::StorageFailed.into(),
            Rejected::Busy => Code::Busy.into(),
            Rejected::NoActiveHub => Code::NoActiveHub.into(),
            Rejected::TooManyStreams => Code::TooManyConnections.into(),
            Rejected::ShuttingDown => Code::NotReady.into(),
        }
    }
}

impl From<InvalidPost> for ApiError {
    fn from(error: InvalidPost) -> Self {
        match error {
            InvalidPost::Field(detail) => Self::invalid(detail),
            InvalidPost::TooLarge(_) => Self::new(Code::PayloadTooLarge, error),
            InvalidPost::Storage(error) => error.into(),
        }
    }
}

impl From<HookError> for ApiError {
    fn from(error: HookError) -> Self {
        match error {
            HookError::UnknownAgent(error) => Self::new(Code::UnknownAgent, error),
            HookError::Invalid(detail) => Self::invalid(detail),
            HookError::Rejected(rejected) => rejected.into(),
        }
    }
}

impl From<JournalError> for ApiError {
    fn from(error: JournalError) -> Self {
        let code = match error {
            JournalError::Full => Code::DiskFull,
            JournalError::Io(_) => Code::StorageFailed,
            JournalError::Deposed | JournalError::Unsettled => Code::NoActiveHub,
            JournalError::Corrupt { .. }
            | JournalError::UnknownKind { .. }
            | JournalError::Unsupported { .. } => Code::NotReady,
        };
        Self::failed(code, &error)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_error_has_a_unique_code_and_a_hint() {
        let mut names = HashSet::new();
        for &code in Code::ALL {
            let problem = ApiError::from(code).problem();
            assert!(names.insert(problem.code.clone()), "{}", problem.code);
            assert!(problem.hint.is_some_and(|hint| !hint.is_empty()));
            assert!(code.status().is_client_error() || code.status().is_server_error());
        }
    }

    #[test]
    fn internal_failures_do_not_show_their_cause() {
        let error = ApiError::from(JournalError::Io(std::io::Error::other("/secret/place")));
        assert_eq!(error.problem().detail, None);
    }
}
