//! Records the refused attempts of clients to settle what is for a person.

use hub_core::fold::{Question, SessionKey, State};
use hub_engine::Hub;
use hub_engine::refused::AnswerAttempt;
use hub_protocol::{InboxName, Seq};

use crate::error::{ApiError, Code};
use crate::request::caller::Caller;
use crate::request::evidence::Witness;
use crate::request::local::Origin;

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

/// The first open question of this session for which `is_kept` is true, which gets what [`Origin::runs`] says.
pub(super) fn kept_question(
    state: &State,
    (project, key): &SessionKey,
    origin: &Origin,
    is_kept: impl Fn(&Question, Option<bool>) -> bool,
) -> Option<Seq> {
    let mut open = state.questions.of(project, key).peekable();
    open.peek()?;
    let session = state.sessions.get(project, key);
    let runs = session.and_then(|it| origin.runs(it));
    let kept = open.find(|(_, it)| is_kept(it, runs));
    kept.map(|(id, _)| id)
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
    let allowed = caller.demand_person(hub).await;
    withdraw(hub, witness, question, allowed).await
}

/// Returns whether a request without a name may withdraw this, and records a refusal if it is a question for a person.
pub(super) async fn withdraw(
    hub: &Hub,
    witness: &Witness,
    question: Seq,
    allowed: Result<(), ApiError>,
) -> Result<(), ApiError> {
    let attempt = AnswerAttempt {
        question,
        what: "withdraw",
        answer: None,
        name: &InboxName::default(),
    };
    recorded(hub, witness, &attempt, allowed).await
}
