//! Records the refused attempts of clients to settle what is for a person.

use hub_protocol::{InboxName, Seq};

use crate::http::error::{ApiError, Code};
use crate::http::request::caller::Caller;
use crate::http::request::evidence::Witness;
use crate::hub::Hub;
use crate::hub::refused::AnswerAttempt;

/// An attempt to settle a question, by a client that can be observed.
pub(super) struct WitnessedAttempt<'a> {
    pub(super) question: Seq,
    /// The action that was tried: `answer`, `claim` or `withdraw`.
    pub(super) what: &'static str,
    /// The answer, if it is one.
    pub(super) answer: Option<&'a str>,
    /// The name that the caller gave itself.
    pub(super) name: &'a InboxName,
    pub(super) witness: &'a Witness,
}

/// Returns the outcome of an attempt, and records it if it was refused because the question is for a person.
pub(super) async fn recorded<T>(
    hub: &Hub,
    attempt: WitnessedAttempt<'_>,
    outcome: Result<T, ApiError>,
) -> Result<T, ApiError> {
    let refuses = |it: &ApiError| matches!(it.code(), Code::NotYours | Code::NeedsPerson);
    if outcome.as_ref().is_err_and(refuses) {
        let refused = AnswerAttempt {
            question: attempt.question,
            what: attempt.what,
            answer: attempt.answer,
            name: attempt.name,
            seen: attempt.witness.evidence(hub).await.unwrap_or_default(),
        };
        refused.record(hub).await;
    }
    outcome
}

/// Refuses everyone but a person, if a request without a name would take this question from the person's sight.
pub(super) async fn demand_person(
    hub: &Hub,
    (caller, witness): (Caller, &Witness),
    question: Option<Seq>,
) -> Result<(), ApiError> {
    let Some(question) = question else {
        return Ok(());
    };
    let attempt = WitnessedAttempt {
        question,
        what: "withdraw",
        answer: None,
        name: &InboxName::default(),
        witness,
    };
    recorded(hub, attempt, caller.demand_person(hub).await).await
}
