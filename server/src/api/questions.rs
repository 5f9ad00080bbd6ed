//! `/questions`: what somebody must answer.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub_protocol::{
    AnswerPost, ByPost, InboxName, Kind, Notification, Place, Post, ProjectName, Question, Seq,
};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::params::{self, Params, Part};
use super::payload::Payload;
use super::{ApiError, Code};
use crate::command::Command;
use crate::draft::{self, Context};
use crate::hub::Hub;
use crate::presence::Presence;
use crate::state::{Question as Asked, Reach, State as Fold};

/// No question is waited for longer in one request, in seconds.
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

/// A question, and whether an answer to it reaches whoever asked.
struct Known {
    asked: Asked,
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
        Self {
            asked: asked.clone(),
            deliverable,
            place: if deliverable {
                None
            } else {
                place(fold, asked)
            },
        }
    }
}

/// Where the asker of a question is, as far as it told.
fn place(fold: &Fold, asked: &Asked) -> Option<Place> {
    let key = fold.called(&asked.project, &asked.from);
    let info = fold.session(&asked.project, key)?.info()?;
    let place = Place {
        host: info.host.clone(),
        cwd: info.cwd.clone(),
        pane: info.pane.clone(),
    };
    (place != Place::default()).then_some(place)
}

#[derive(Debug, Serialize)]
pub(super) struct Questions {
    questions: Vec<Question>,
}

/// The questions of a project, or all, oldest first.
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
        // One whose text retention has dropped cannot be answered any more.
        if let Ok(question) = shown(&hub, id, known).await {
            questions.push(question);
        }
    }
    Ok(Json(Questions { questions }))
}

/// A question; with `timeout`, once it is settled, or as it stands then.
pub(super) async fn get(
    State(hub): State<Hub>,
    Part(id): Part<Seq>,
    Params(GetParams { timeout }): Params<GetParams>,
) -> Result<Json<Question>, ApiError> {
    let question = settled(&hub, id, Duration::from_secs(timeout.min(MAX_TIMEOUT))).await?;
    Ok(Json(question))
}

/// A question once it is settled, or as it stands after `patience`.
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

/// Answers a question, once.
pub(super) async fn answer(
    State(hub): State<Hub>,
    Part(id): Part<Seq>,
    payload: Payload,
) -> Result<(StatusCode, Json<Question>), ApiError> {
    let body: AnswerPost = payload.json()?;
    let known = known(&hub, id).await?;
    let post = Post {
        msg: body.answer,
        from: Some(who(body.session, body.by)),
        kind: Some(Kind::Answer),
        project: Some(known.asked.project),
        data: body.data,
        reply_to: Some(id),
        ..Post::default()
    };
    let draft = draft::prepare(post, &Context::new(&hub))?;
    let drafts = vec![draft];
    hub.submit(Command::Notify { drafts, once: None }).await?;
    // Whether it reached the asker was decided when it was given: by now nothing may be held for it any more.
    let answered = Known {
        asked: self::known(&hub, id).await?.asked,
        deliverable: known.deliverable,
        place: known.place,
    };
    Ok((StatusCode::CREATED, Json(shown(&hub, id, answered).await?)))
}

/// Says that somebody is on it.
pub(super) async fn claim(
    State(hub): State<Hub>,
    Part(id): Part<Seq>,
    payload: Payload,
) -> Result<Json<Question>, ApiError> {
    change(&hub, id, &payload, |by| Command::Claim { id, by }).await
}

/// Takes a question back.
pub(super) async fn withdraw(
    State(hub): State<Hub>,
    Part(id): Part<Seq>,
    payload: Payload,
) -> Result<Json<Question>, ApiError> {
    change(&hub, id, &payload, |by| Command::WithdrawQuestion {
        id,
        by,
    })
    .await
}

/// Does what somebody asks about a question, and shows it as it is then.
async fn change(
    hub: &Hub,
    id: Seq,
    payload: &Payload,
    command: impl FnOnce(InboxName) -> Command,
) -> Result<Json<Question>, ApiError> {
    let body: ByPost = payload.json()?;
    known(hub, id).await?;
    hub.submit(command(who(body.session, body.by))).await?;
    let changed = known(hub, id).await?;
    Ok(Json(shown(hub, id, changed).await?))
}

fn who(session: Option<InboxName>, by: Option<InboxName>) -> InboxName {
    let person = || InboxName::PERSON.parse().expect("a constant name");
    session.or(by).unwrap_or_else(person)
}

/// A question with its text and its answer's, from the log.
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
