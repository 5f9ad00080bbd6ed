//! `/questions`: questions and permission requests, and their answers.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub_protocol::{
    AnswerPost, ByPost, InboxName, Kind, Notification, Place, Post, ProjectName, Question,
    Questions, Seq,
};
use serde::Deserialize;
use tokio::time::Instant;

use super::params::{self, Params, Part};
use super::payload::Payload;
use super::requester::{Origin, Requester};
use super::{ApiError, Code};
use crate::command::Command;
use crate::draft::{self, Context};
use crate::hub::Hub;
use crate::presence::Presence;
use crate::state::{Question as Asked, Reach, State as Fold, place_of};

/// Longest wait for a question in one request, in seconds.
const MAX_TIMEOUT: u64 = 3600;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListParams {
    project: Option<ProjectName>,
    #[serde(default)]
    state: Which,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Which {
    #[default]
    Open,
    All,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GetParams {
    #[serde(default)]
    timeout: u64,
}

/// A question with what the fold knows of it, and whether an answer can reach its asker.
struct Known {
    asked: Asked,
    /// The name of the asker's session, if it differs from `from`.
    name: Option<String>,
    deliverable: bool,
    place: Option<Place>,
}

impl Known {
    fn new(fold: &Fold, presence: &Presence, id: Seq, asked: &Asked) -> Self {
        let deliverable = match fold.reach(asked) {
            Reach::Inbox => true,
            Reach::Request => presence.is_held(id),
            Reach::Nowhere => false,
        };
        let name = fold.other_name(&asked.project, &asked.from);
        Self {
            asked: asked.clone(),
            name: name.map(str::to_owned),
            deliverable,
            place: if deliverable {
                None
            } else {
                place(fold, asked)
            },
        }
    }
}

/// The location of the asker's session, as far as the session reported it.
fn place(fold: &Fold, asked: &Asked) -> Option<Place> {
    let key = fold.called(&asked.project, &asked.from);
    let place = place_of(fold.session(&asked.project, key)?.info()?);
    (place != Place::default()).then_some(place)
}

/// `GET /questions`: the questions of a project, or all, oldest first.
pub(super) async fn list(
    State(hub): State<Hub>,
    Params(ListParams { project, state }): Params<ListParams>,
) -> Result<Json<Questions>, ApiError> {
    let found = hub.query(move |fold, presence| {
        let found = fold.questions(state == Which::All).into_iter();
        let found = found.filter(|(_, it)| project.as_ref().is_none_or(|of| *of == it.project));
        found
            .map(|(id, it)| (id, Known::new(fold, presence, id, it)))
            .collect::<Vec<_>>()
    });
    let mut questions = Vec::new();
    for (id, known) in found.await? {
        // A question whose text retention has dropped cannot be answered any more.
        if let Ok(question) = shown(&hub, id, known).await {
            questions.push(question);
        }
    }
    Ok(Json(Questions { questions }))
}

/// `GET /questions/{id}`: one question; with `timeout`, waits until it is settled or the time is over.
pub(super) async fn get(
    State(hub): State<Hub>,
    Part(id): Part<Seq>,
    Params(GetParams { timeout }): Params<GetParams>,
) -> Result<Json<Question>, ApiError> {
    let question = settled(&hub, id, Duration::from_secs(timeout.min(MAX_TIMEOUT))).await?;
    Ok(Json(question))
}

/// A question as soon as it is settled, or its current state after `patience`.
pub(super) async fn settled(hub: &Hub, id: Seq, patience: Duration) -> Result<Question, ApiError> {
    let _permit = hub.stream_permit()?;
    let deadline = Instant::now() + patience;
    let mut log = hub.log().subscribe();
    loop {
        let known = known(hub, id).await?;
        if known.asked.state.is_final() || patience.is_zero() {
            return shown(hub, id, known).await;
        }
        tokio::select! {
            changed = log.changed() => if changed.is_err() { return shown(hub, id, known).await },
            () = tokio::time::sleep_until(deadline) => return shown(hub, id, known).await,
            () = hub.shutdown().cancelled() => return Err(Code::NotReady.into()),
        }
    }
}

async fn known(hub: &Hub, id: Seq) -> Result<Known, ApiError> {
    let known = hub
        .query(move |fold, presence| {
            let asked = fold.question(id)?;
            Some(Known::new(fold, presence, id, asked))
        })
        .await?;
    known.ok_or_else(|| ApiError::new(Code::UnknownNotification, format!("no question {id}")))
}

/// `POST /questions/{id}/answer`: answers a question. Only the first answer is accepted.
pub(super) async fn answer(
    State(hub): State<Hub>,
    Part(id): Part<Seq>,
    origin: Origin,
    payload: Payload,
) -> Result<(StatusCode, Json<Question>), ApiError> {
    let body: AnswerPost = payload.json()?;
    let known = known(&hub, id).await?;
    let from = who(body.session, body.by);
    let requester = origin.speaks_as(&hub, std::iter::once(&from)).await?;
    let post = Post {
        msg: body.answer,
        from: Some(from),
        kind: Some(Kind::Answer),
        project: Some(known.asked.project),
        data: body.data,
        reply_to: Some(id),
        ..Post::default()
    };
    let context = Context::new(&hub).by_person(requester == Requester::Person);
    let draft = draft::prepare(post, &context)?;
    let drafts = vec![draft];
    hub.submit(Command::Notify { drafts, once: None }).await?;
    // `deliverable` is from before the answer: storing the answer releases the held request.
    let answered = Known {
        asked: self::known(&hub, id).await?.asked,
        name: known.name,
        deliverable: known.deliverable,
        place: known.place,
    };
    Ok((StatusCode::CREATED, Json(shown(&hub, id, answered).await?)))
}

/// `POST /questions/{id}/claim`: marks who works on the answer.
pub(super) async fn claim(
    State(hub): State<Hub>,
    Part(id): Part<Seq>,
    origin: Origin,
    payload: Payload,
) -> Result<Json<Question>, ApiError> {
    change(&hub, id, (origin, &payload), |by| Command::Claim { id, by }).await
}

/// `POST /questions/{id}/withdraw`: withdraws a question.
pub(super) async fn withdraw(
    State(hub): State<Hub>,
    Part(id): Part<Seq>,
    origin: Origin,
    payload: Payload,
) -> Result<Json<Question>, ApiError> {
    change(&hub, id, (origin, &payload), |by| {
        Command::WithdrawQuestion { id, by }
    })
    .await
}

/// Submits a change of a question and returns the question after it.
async fn change(
    hub: &Hub,
    id: Seq,
    (origin, payload): (Origin, &Payload),
    command: impl FnOnce(InboxName) -> Command,
) -> Result<Json<Question>, ApiError> {
    let body: ByPost = payload.json()?;
    known(hub, id).await?;
    let by = who(body.session, body.by);
    if by.as_str() == InboxName::PERSON {
        origin.speaks_as(hub, std::iter::once(&by)).await?;
    }
    hub.submit(command(by)).await?;
    let changed = known(hub, id).await?;
    Ok(Json(shown(hub, id, changed).await?))
}

fn who(session: Option<InboxName>, by: Option<InboxName>) -> InboxName {
    let person = || InboxName::PERSON.parse().expect("a constant name");
    session.or(by).unwrap_or_else(person)
}

/// Adds the texts of the question and its answer, read from the log.
async fn shown(hub: &Hub, id: Seq, known: Known) -> Result<Question, ApiError> {
    let said = notification(hub, id).await?;
    let asked = known.asked;
    let answer = match asked.answer {
        Some(answer) => notification(hub, answer).await.ok().map(|it| it.msg),
        None => None,
    };
    Ok(Question {
        id,
        project: asked.project,
        from: asked.from,
        from_name: known.name,
        kind: asked.kind,
        ts: asked.ts,
        expires_at: asked.expires_at,
        state: asked.state,
        by: asked.by,
        answer_id: asked.answer,
        answer,
        msg: said.msg,
        options: said.options,
        data: said.data,
        deliverable: known.deliverable,
        place: known.place,
    })
}

async fn notification(hub: &Hub, id: Seq) -> Result<Notification, ApiError> {
    let location = hub
        .query(move |state, _| state.location(id).unwrap_or(id))
        .await?;
    let stored = params::stored(hub.log(), location).await?;
    let stored = stored.filter(|event| !hub.log().hides(event));
    let json = stored.and_then(|event| event.json());
    let json = json.ok_or(Code::UnknownNotification)?;
    serde_json::from_slice(&json).map_err(|error| ApiError::failed(Code::Internal, &error))
}
