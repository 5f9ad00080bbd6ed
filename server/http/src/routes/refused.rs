//! Records the refused attempts of clients to settle what is for a person.

use hub_engine::Hub;
use hub_engine::refused::AnswerAttempt;
use hub_protocol::{InboxName, Seq};

use crate::error::{ApiError, Code};
use crate::request::caller::Caller;
use crate::request::evidence::Witness;

/// Returns the outcome of an attempt, and records it if it was refused because the question is for a person.
pub(super) async fn recorded<T>(
    hub: &Hub,
    witness: &Witness,
    attempt: &AnswerAttempt<'_>,
    outcome: Result<T, ApiError>,
) -> Result<T, ApiError> {
    let is_for_person = |it: &ApiError| matches!(it.code(), Code::NotYours | Code::NeedsPerson);
    if outcome.as_ref().is_err_and(is_for_person) {
        let seen = witness.evidence(hub).await.unwrap_or_default();
        attempt.record(hub, &seen).await;
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
    let attempt = AnswerAttempt {
        question,
        what: "withdraw",
        answer: None,
        name: &InboxName::default(),
    };
    recorded(hub, witness, &attempt, caller.demand_person(hub).await).await
}
