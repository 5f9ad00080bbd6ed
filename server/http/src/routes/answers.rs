//! `POST /needs/{id}/answer`: answers a question, or sends a session that waits for the person a message.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use hub_core::answer::{AnswerText, words_of};
use hub_core::command::Command;
use hub_engine::Hub;
use hub_engine::draft::{self, Context};
use hub_engine::refused::AnswerAttempt;
use hub_protocol::{Answer, AnswerPost, InboxName, Kind, Need, Post, Question, Seq};
use tokio::time::Instant;

use super::questions::{self, QuestionStatus, answerer, person, shown};
use super::{needs, refused, stored};
use crate::error::ApiError;
use crate::request::caller::{Caller, CallerKind};
use crate::request::evidence::Witness;
use crate::request::params::PathParam;
use crate::request::payload::Payload;

/// Longest wait until a held hook has passed an answer on.
const HAND_OVER: Duration = Duration::from_secs(2);

/// Answers a need. Only the first answer to a question is accepted.
pub(super) async fn answer(
    State(hub): State<Hub>,
    PathParam(id): PathParam<String>,
    caller: Caller,
    witness: Witness,
    payload: Payload,
) -> Result<Response, ApiError> {
    let body: AnswerPost = payload.json()?;
    let question = id.parse().ok();
    let question = question.filter(|id| questions::status(&hub, *id).is_ok());
    if let Some(id) = question {
        let question = give(&hub, id, (caller, &witness), body).await?;
        return Ok((StatusCode::CREATED, Json(question)).into_response());
    }
    let need = reply(&hub, &id, caller, body).await?;
    Ok((StatusCode::CREATED, Json(need)).into_response())
}

/// Sends the person's reply to the session that needs it.
async fn reply(hub: &Hub, id: &str, caller: Caller, body: AnswerPost) -> Result<Need, ApiError> {
    let (need, session) = needs::takes_reply(hub, id).await?;
    let Some(Answer::Reply(msg)) = body.answer() else {
        return Err(ApiError::invalid("this takes a reply, and nothing else"));
    };
    let revision = need.revision;
    if body.revision.is_some_and(|it| it != revision) {
        return Err(ApiError::invalid(format!(
            "it has changed: its revision is {revision} now"
        )));
    }
    caller.identify_as(hub, std::iter::once(&person())).await?;
    let post = Post {
        msg,
        from: Some(person()),
        to: Some(session),
        kind: Some(Kind::Message),
        project: Some(need.project.clone()),
        data: body.data,
        ..Post::default()
    };
    let drafts = vec![draft::prepare(post, &Context::new(hub))?];
    hub.submit(Command::Notify { drafts, once: None }).await?;
    Ok(need)
}

/// Gives an answer, or records the attempt of a caller who may not.
pub async fn give(
    hub: &Hub,
    id: Seq,
    (caller, witness): (Caller, &Witness),
    body: AnswerPost,
) -> Result<Question, ApiError> {
    let name = body.session.clone().or_else(|| body.by.clone());
    let given = body.answer().ok_or_else(|| {
        ApiError::invalid(
            "give exactly one of choices, verdict (with a reason if it is deny), form and reply",
        )
    })?;
    if body.revision.is_some_and(|it| it != id) {
        return Err(ApiError::invalid(format!(
            "the revision of a question is its number, {id}"
        )));
    }
    let said = given.to_string();
    let attempt = AnswerAttempt {
        question: id,
        what: "answer",
        answer: Some(&said),
        name: &name.clone().unwrap_or_else(person),
    };
    let answered = attempt_answer(hub, id, (caller, witness), (body, &given), name).await;
    refused::recorded(hub, witness, &attempt, answered).await
}

async fn attempt_answer(
    hub: &Hub,
    id: Seq,
    (caller, witness): (Caller, &Witness),
    (body, given): (AnswerPost, &Answer),
    name: Option<InboxName>,
) -> Result<Question, ApiError> {
    let status = questions::status(hub, id)?;
    let (from, kind) = if body.dialog {
        (person(), caller.identify_dialog(hub).await?)
    } else {
        answerer(hub, caller, name).await?
    };
    // An answer that cannot be delivered is refused for that reason, not for its words.
    let words = if status.deliverable {
        words_for(hub, id, given).await?
    } else {
        AnswerText::Whole(given.to_string())
    };
    let post = Post {
        msg: words.to_string(),
        from: Some(from),
        kind: Some(Kind::Answer),
        project: Some(status.asked.project),
        data: body.data,
        reply_to: Some(id),
        ..Post::default()
    };
    let by_person = kind == CallerKind::Person && !body.dialog;
    let evidence = witness.evidence(hub).await?;
    let context = Context::new(hub).by_person(by_person).observed(evidence);
    let context = context.answering(words.each());
    let drafts = vec![draft::prepare(post, &context)?];
    hub.submit(Command::Notify { drafts, once: None }).await?;
    let mut answered = handed_over(hub, id).await?;
    // `deliverable` is from before the answer: storing the answer releases the held request.
    (answered.deliverable, answered.place) = (status.deliverable, status.place);
    shown(hub, id, answered).await
}

/// The words of an answer as its question takes them.
async fn words_for(hub: &Hub, id: Seq, given: &Answer) -> Result<AnswerText, ApiError> {
    let asked = stored::notification(hub, id).await?;
    words_of(&asked, given)
        .map_err(|error| ApiError::invalid(error).with(|it| it.question = Some(id)))
}

/// An answered question as soon as the held hook has passed the answer on or lost it; for another question, its status
/// now.
async fn handed_over(hub: &Hub, id: Seq) -> Result<QuestionStatus, ApiError> {
    let deadline = Instant::now() + HAND_OVER;
    let mut log = hub.log().subscribe();
    loop {
        let status = questions::status(hub, id)?;
        if !status.passes_on() {
            return Ok(status);
        }
        tokio::select! {
            changed = log.changed() => if changed.is_err() { return Ok(status) },
            () = tokio::time::sleep_until(deadline) => return Ok(status),
        }
    }
}
