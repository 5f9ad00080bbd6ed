//! `/questions`: questions and permission requests, and their answers.

use std::collections::VecDeque;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use hub_core::asked::{Asked, asked as text_of};
use hub_core::command::Command;
use hub_core::controls::controls;
use hub_core::fold::{Question as FoldQuestion, State as Fold, place_of};
use hub_core::tool_request::request_of_approval;
use hub_core::waiters::{HeldTime, SharedWaiters};
use hub_engine::Hub;
use hub_engine::needs::is_answerable;
use hub_engine::refused::AnswerAttempt;
use hub_protocol::{
    AnswerDelivery, ByPost, InboxName, Place, ProjectName, Question, Questions, Seq,
};
use serde::Deserialize;
use tokio::time::Instant;

use super::history::MAX_PAGE_BYTES;
use super::withdraw::Sight;
use super::{refused, stored};
use crate::error::{ApiError, Code};
use crate::request::caller::{Caller, CallerKind};
use crate::request::evidence::Witness;
use crate::request::local::Origin;
use crate::request::params::{Params, PathParam};
use crate::request::payload::Payload;

/// At most this many questions are in one page.
const MAX_LIMIT: usize = 2_000;

/// Longest wait for a question in one request, in seconds.
const MAX_TIMEOUT: u64 = 3600;

/// The query of `GET /questions`.
#[derive(Debug, Deserialize)]
pub struct QuestionListParams {
    project: Option<ProjectName>,
    #[serde(default)]
    state: QuestionStates,
    before: Option<Seq>,
    limit: Option<usize>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum QuestionStates {
    #[default]
    Open,
    All,
}

#[derive(Debug, Deserialize)]
pub(super) struct GetParams {
    #[serde(default)]
    timeout: u64,
}

/// A question with what the fold knows of it, and whether an answer can reach its asker.
pub(super) struct QuestionStatus {
    pub(super) asked: FoldQuestion,
    /// The name of the asker's session, if it differs from `from`.
    name: Option<String>,
    pub(super) deliverable: bool,
    delivery: Option<AnswerDelivery>,
    held: Option<HeldTime>,
    pub(super) place: Option<Place>,
}

impl QuestionStatus {
    fn new(fold: &Fold, waiters: &SharedWaiters, id: Seq, asked: &FoldQuestion) -> Self {
        let held = waiters.read().held_time(id);
        let hook = waiters
            .read()
            .hook_connection(id, std::time::Instant::now());
        let deliverable = is_answerable(fold, waiters, id, asked);
        let name = fold.sessions.other_name(&asked.project, &asked.from);
        Self {
            asked: asked.clone(),
            name: name.map(str::to_owned),
            deliverable,
            delivery: fold.answer_delivery(asked, hook),
            held,
            place: if deliverable {
                None
            } else {
                place(fold, asked)
            },
        }
    }
}

impl QuestionStatus {
    /// Whether a held hook is passing the answer on.
    pub(super) fn passes_on(&self) -> bool {
        self.held.is_some() && self.delivery == Some(AnswerDelivery::Stored)
    }
}

/// The location of the asker's session, as far as the session reported it.
fn place(fold: &Fold, asked: &FoldQuestion) -> Option<Place> {
    let from = fold.sessions.with_name(&asked.project, &asked.from)?;
    let place = place_of(from.info()?);
    (place != Place::default()).then_some(place)
}

/// `GET /questions`: a page of the questions of a project, or of all. Oldest first, and the page with the newest ones first, so
/// that a client that reads only one sees those.
pub async fn list(
    State(hub): State<Hub>,
    Params(params): Params<QuestionListParams>,
) -> Result<Json<Questions>, ApiError> {
    let limit = params.limit.unwrap_or(MAX_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(ApiError::invalid(format!("limit is 1 to {MAX_LIMIT}")));
    }
    let found = hub.list(move |fold, waiters| chosen(fold, waiters, &params, limit));
    let (mut found, mut has_older) = found.await?;
    let (mut questions, mut bytes, mut next) = (VecDeque::new(), 0, None);
    while let Some((id, status)) = found.pop() {
        next = Some(id);
        // A question whose text retention has dropped cannot be answered any more.
        if let Ok(question) = shown(&hub, id, status).await {
            bytes += serde_json::to_vec(&question).map_or(0, |json| json.len());
            questions.push_front(question);
        }
        if bytes > MAX_PAGE_BYTES && !found.is_empty() {
            has_older = true;
            break;
        }
    }
    Ok(Json(Questions {
        questions: questions.into(),
        next: next.filter(|_| has_older),
    }))
}

/// The newest questions that a page may have, oldest first, and whether there are older ones.
fn chosen(
    fold: &Fold,
    waiters: &SharedWaiters,
    params: &QuestionListParams,
    limit: usize,
) -> (Vec<(Seq, QuestionStatus)>, bool) {
    let is_chosen = |(id, it): &(Seq, &FoldQuestion)| {
        let project = params.project.as_ref();
        params.before.is_none_or(|before| *id < before)
            && project.is_none_or(|of| *of == it.project)
    };
    let mut found: Vec<_> = match params.state {
        QuestionStates::Open => fold.unfinished_questions().filter(is_chosen).collect(),
        QuestionStates::All => fold.questions.all().filter(is_chosen).collect(),
    };
    let page = found.split_off(found.len().saturating_sub(limit));
    let status = |(id, it)| (id, QuestionStatus::new(fold, waiters, id, it));
    (page.into_iter().map(status).collect(), !found.is_empty())
}

/// `GET /questions/{id}`: one question; with `timeout`, waits until it is settled or the time is over.
pub(super) async fn get(
    State(hub): State<Hub>,
    PathParam(id): PathParam<Seq>,
    Params(GetParams { timeout }): Params<GetParams>,
) -> Result<Json<Question>, ApiError> {
    let question = settled(&hub, id, Duration::from_secs(timeout.min(MAX_TIMEOUT))).await?;
    Ok(Json(question))
}

/// A question as soon as it is settled, or its current state after `patience`.
pub async fn settled(hub: &Hub, id: Seq, patience: Duration) -> Result<Question, ApiError> {
    let _permit = hub.stream_permit()?;
    let deadline = Instant::now() + patience;
    let mut log = hub.log().subscribe();
    loop {
        let status = self::status(hub, id)?;
        if status.asked.state.is_final() || patience.is_zero() {
            return shown(hub, id, status).await;
        }
        tokio::select! {
            changed = log.changed() => if changed.is_err() { return shown(hub, id, status).await },
            () = tokio::time::sleep_until(deadline) => return shown(hub, id, status).await,
            () = hub.shutdown().cancelled() => return Err(Code::NotReady.into()),
        }
    }
}

pub(super) fn status(hub: &Hub, id: Seq) -> Result<QuestionStatus, ApiError> {
    let found = hub.read(|fold, waiters| {
        let asked = fold.questions.get(id)?;
        Some(QuestionStatus::new(fold, waiters, id, asked))
    })?;
    found.ok_or_else(|| ApiError::new(Code::UnknownNotification, format!("no question {id}")))
}

/// `POST /questions/{id}/claim`: marks who works on the answer.
pub async fn claim(
    State(hub): State<Hub>,
    PathParam(id): PathParam<Seq>,
    caller: Caller,
    witness: Witness,
    payload: Payload,
) -> Result<Json<Question>, ApiError> {
    let asked = ("claim", id, caller, witness);
    change(&hub, asked, &payload, false, |by| Command::Claim { id, by }).await
}

/// `POST /questions/{id}/withdraw`: withdraws a question.
pub(super) async fn withdraw(
    State(hub): State<Hub>,
    PathParam(id): PathParam<Seq>,
    (caller, witness): (Caller, Witness),
    origin: Origin,
    payload: Payload,
) -> Result<Json<Question>, ApiError> {
    let origin = &origin;
    let is_kept = hub.read(|state, _| Sight { state, origin }.keeps(id))?;
    let asked = ("withdraw", id, caller, witness);
    let command = |by| Command::WithdrawQuestion { id, by };
    change(&hub, asked, &payload, is_kept, command).await
}

/// Submits a change of a question and returns the question after it.
async fn change(
    hub: &Hub,
    (what, id, caller, witness): (&'static str, Seq, Caller, Witness),
    payload: &Payload,
    is_kept: bool,
    command: impl FnOnce(InboxName) -> Command,
) -> Result<Json<Question>, ApiError> {
    let body: ByPost = payload.json()?;
    status(hub, id)?;
    let name = body.session.or(body.by);
    let attempt = AnswerAttempt {
        question: id,
        what,
        answer: None,
        name: &name.clone().unwrap_or_else(person),
    };
    let changed = async {
        let (by, kind) = answerer(hub, caller, name).await?;
        if is_kept && kind != CallerKind::Person {
            return Err(Code::NotYours.into());
        }
        Ok(hub.submit(command(by)).await?)
    };
    refused::recorded(hub, &witness, &attempt, changed.await).await?;
    let changed = status(hub, id)?;
    Ok(Json(shown(hub, id, changed).await?))
}

/// The name of the one who answers, and the kind of caller. Without a name it is the person, or `unknown` if it is not known who calls.
pub(super) async fn answerer(
    hub: &Hub,
    caller: Caller,
    name: Option<InboxName>,
) -> Result<(InboxName, CallerKind), ApiError> {
    if name.is_none() && caller.kind(hub).await? == CallerKind::Unknown {
        return Ok((InboxName::default(), CallerKind::Unknown));
    }
    let by = name.unwrap_or_else(person);
    let kind = caller.identify_as(hub, std::iter::once(&by)).await?;
    Ok((by, kind))
}

pub(super) fn person() -> InboxName {
    InboxName::PERSON.parse().expect("a constant name")
}

/// Adds the texts of the question and its answer, read from the log.
pub(super) async fn shown(
    hub: &Hub,
    id: Seq,
    status: QuestionStatus,
) -> Result<Question, ApiError> {
    let said = stored::notification(hub, id).await?;
    let Asked { text, complete } = text_of(&said);
    let request = request_of_approval(&said);
    let controls = controls(&said);
    let asked = status.asked;
    let held = status.held.filter(|_| !asked.state.is_final());
    let answer = match asked.answer {
        Some(answer) => stored::notification(hub, answer).await.ok(),
        None => None,
    };
    let (answer, answers) = answer.map(|it| (it.msg, it.answers)).unzip();
    Ok(Question {
        id,
        project: asked.project,
        from: asked.from,
        from_name: status.name,
        kind: asked.kind,
        to: said.to,
        ts: asked.ts,
        expires_at: asked.expires_at,
        state: asked.state,
        by: asked.by,
        answer_id: asked.answer,
        answer,
        answers: answers.flatten(),
        msg: said.msg,
        text,
        complete,
        options: said.options,
        controls,
        request,
        data: said.data,
        deliverable: status.deliverable,
        delivery: status.delivery,
        held_until: held.map(|it| it.until),
        delays: held.is_some_and(|it| it.delays),
        place: status.place,
    })
}
