//! `/questions`: questions and permission requests, and their answers.

use std::collections::VecDeque;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub_protocol::{
    AnswerDelivery, AnswerPost, AnswerText, ByPost, InboxName, Kind, Place, Post, ProjectName,
    Question, Questions, Seq, Timestamp,
};
use serde::Deserialize;
use tokio::time::Instant;

use super::history::MAX_PAGE_BYTES;
use super::refused;
use super::stored;
use crate::core::answer::{fill_form, fitted};
use crate::core::asked::{Asked, asked as text_of, parts};
use crate::core::command::Command;
use crate::fold::{AnswerPath, Question as FoldQuestion, State as Fold, place_of};
use crate::http::error::{ApiError, Code};
use crate::http::request::caller::{Caller, CallerKind};
use crate::http::request::evidence::Witness;
use crate::http::request::params::{Params, PathParam};
use crate::http::request::payload::Payload;
use crate::hub::Hub;
use crate::hub::draft::{self, Context};
use crate::hub::refused::AnswerAttempt;
use crate::waiters::SharedWaiters;

/// At most this many questions are in one page.
const MAX_LIMIT: usize = 2_000;

/// Longest wait for a question in one request, in seconds.
const MAX_TIMEOUT: u64 = 3600;

/// Longest wait until a held hook has passed an answer on.
const HAND_OVER: Duration = Duration::from_secs(2);

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QuestionListParams {
    project: Option<ProjectName>,
    #[serde(default)]
    state: QuestionStates,
    before: Option<Seq>,
    limit: Option<usize>,
}

impl QuestionListParams {
    /// The first page of the open questions of a project.
    pub(super) fn open_of(project: ProjectName) -> Self {
        Self {
            project: Some(project),
            ..Self::default()
        }
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum QuestionStates {
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
struct QuestionStatus {
    asked: FoldQuestion,
    /// The name of the asker's session, if it differs from `from`.
    name: Option<String>,
    deliverable: bool,
    delivery: Option<AnswerDelivery>,
    held_until: Option<Timestamp>,
    is_held: bool,
    place: Option<Place>,
}

impl QuestionStatus {
    fn new(fold: &Fold, waiters: &SharedWaiters, id: Seq, asked: &FoldQuestion) -> Self {
        let held_until = waiters.read().held_until(id);
        let deliverable = match fold.reach(asked) {
            AnswerPath::Inbox => true,
            AnswerPath::Request => held_until.is_some(),
            AnswerPath::Nowhere => false,
        };
        let name = fold.other_name(&asked.project, &asked.from);
        Self {
            asked: asked.clone(),
            name: name.map(str::to_owned),
            deliverable,
            delivery: fold.answer_delivery(asked, held_until.is_some()),
            is_held: held_until.is_some(),
            held_until: held_until.filter(|_| !asked.state.is_final()),
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
    fn passes_on(&self) -> bool {
        self.is_held && self.delivery == Some(AnswerDelivery::Stored)
    }
}

/// The location of the asker's session, as far as the session reported it.
fn place(fold: &Fold, asked: &FoldQuestion) -> Option<Place> {
    let key = fold.resolve(&asked.project, &asked.from);
    let place = place_of(fold.session(&asked.project, key)?.info()?);
    (place != Place::default()).then_some(place)
}

/// `GET /questions`: a page of the questions of a project, or of all. Oldest first, and the page with the newest ones first, so
/// that a client that reads only one sees those.
pub(super) async fn list(
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
        QuestionStates::All => fold.questions(true).into_iter().filter(is_chosen).collect(),
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
pub(super) async fn settled(hub: &Hub, id: Seq, patience: Duration) -> Result<Question, ApiError> {
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

fn status(hub: &Hub, id: Seq) -> Result<QuestionStatus, ApiError> {
    let found = hub.read(|fold, waiters| {
        let asked = fold.question(id)?;
        Some(QuestionStatus::new(fold, waiters, id, asked))
    })?;
    found.ok_or_else(|| ApiError::new(Code::UnknownNotification, format!("no question {id}")))
}

/// `POST /questions/{id}/answer`: answers a question. Only the first answer is accepted.
pub(super) async fn answer(
    State(hub): State<Hub>,
    PathParam(id): PathParam<Seq>,
    caller: Caller,
    witness: Witness,
    payload: Payload,
) -> Result<(StatusCode, Json<Question>), ApiError> {
    let body: AnswerPost = payload.json()?;
    let name = body.session.clone().or_else(|| body.by.clone());
    let given = body.text().ok_or_else(|| {
        let detail = "give answer, or answers with a text for each question of a dialog";
        ApiError::new(Code::Invalid, detail)
    })?;
    let said = given.to_string();
    let attempt = AnswerAttempt {
        question: id,
        what: "answer",
        answer: Some(&said),
        name: &name.clone().unwrap_or_else(person),
    };
    let answered = try_answer(&hub, id, (caller, &witness), (body, given), name).await;
    let question = refused::recorded(&hub, &witness, &attempt, answered).await?;
    Ok((StatusCode::CREATED, Json(question)))
}

async fn try_answer(
    hub: &Hub,
    id: Seq,
    (caller, witness): (Caller, &Witness),
    (body, given): (AnswerPost, AnswerText),
    name: Option<InboxName>,
) -> Result<Question, ApiError> {
    let status = self::status(hub, id)?;
    let (from, kind) = if body.dialog {
        (person(), caller.identify_dialog(hub).await?)
    } else {
        answerer(hub, caller, name).await?
    };
    // What is refused anyway is refused for the reason that helps.
    let given = if status.deliverable {
        filled(hub, id, given).await?
    } else {
        given
    };
    let post = Post {
        msg: given.to_string(),
        from: Some(from),
        kind: Some(Kind::Answer),
        project: Some(status.asked.project),
        data: body.data,
        reply_to: Some(id),
        ..Post::default()
    };
    let by_person = kind == CallerKind::Person && !body.dialog;
    let evidence = witness.evidence(hub).await?;
    let answers = match given {
        AnswerText::Whole(_) => None,
        AnswerText::Each(all) => Some(all),
    };
    let context = Context::new(hub).by_person(by_person).observed(evidence);
    let context = context.answering(answers);
    let draft = draft::prepare(post, &context)?;
    let drafts = vec![draft];
    hub.submit(Command::Notify { drafts, once: None }).await?;
    let answered = handed_over(hub, id).await?;
    // `deliverable` is from before the answer: storing the answer releases the held request.
    let answered = QuestionStatus {
        deliverable: status.deliverable,
        place: status.place,
        ..answered
    };
    shown(hub, id, answered).await
}

/// The words of an answer as its question takes them; for an MCP server's form, the complete content that the person's words
/// stand for.
async fn filled(hub: &Hub, id: Seq, answer: AnswerText) -> Result<AnswerText, ApiError> {
    let asked = stored::notification(hub, id).await?;
    let invalid =
        |error: String| ApiError::new(Code::Invalid, error).with(|it| it.question = Some(id));
    let answer = fitted(&parts(&asked), answer).map_err(invalid)?;
    let data = asked.data;
    let schema =
        data.and_then(|mut it| Some(it.get_mut("dialog")?.get_mut("requested_schema")?.take()));
    match (schema, answer) {
        (Some(schema), AnswerText::Whole(text)) => {
            let filled = fill_form(&schema, &text).map_err(invalid)?;
            Ok(AnswerText::Whole(filled))
        }
        (_, answer) => Ok(answer),
    }
}

/// An answered question as soon as the held hook has passed the answer on or lost it; for another question, its status
/// now.
async fn handed_over(hub: &Hub, id: Seq) -> Result<QuestionStatus, ApiError> {
    let deadline = Instant::now() + HAND_OVER;
    let mut log = hub.log().subscribe();
    loop {
        let status = self::status(hub, id)?;
        if !status.passes_on() {
            return Ok(status);
        }
        tokio::select! {
            changed = log.changed() => if changed.is_err() { return Ok(status) },
            () = tokio::time::sleep_until(deadline) => return Ok(status),
        }
    }
}

/// `POST /questions/{id}/claim`: marks who works on the answer.
pub(super) async fn claim(
    State(hub): State<Hub>,
    PathParam(id): PathParam<Seq>,
    caller: Caller,
    witness: Witness,
    payload: Payload,
) -> Result<Json<Question>, ApiError> {
    let asked = ("claim", id, caller, witness);
    change(&hub, asked, &payload, |by| Command::Claim { id, by }).await
}

/// `POST /questions/{id}/withdraw`: withdraws a question.
pub(super) async fn withdraw(
    State(hub): State<Hub>,
    PathParam(id): PathParam<Seq>,
    caller: Caller,
    witness: Witness,
    payload: Payload,
) -> Result<Json<Question>, ApiError> {
    let asked = ("withdraw", id, caller, witness);
    change(&hub, asked, &payload, |by| Command::WithdrawQuestion {
        id,
        by,
    })
    .await
}

/// Submits a change of a question and returns the question after it.
async fn change(
    hub: &Hub,
    (what, id, caller, witness): (&'static str, Seq, Caller, Witness),
    payload: &Payload,
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
        let (by, _) = answerer(hub, caller, name).await?;
        Ok(hub.submit(command(by)).await?)
    };
    refused::recorded(hub, &witness, &attempt, changed.await).await?;
    let changed = status(hub, id)?;
    Ok(Json(shown(hub, id, changed).await?))
}

/// The name of the one who answers, and the kind of caller. Without a name it is the person, or `unknown` if it is not known who calls.
async fn answerer(
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

fn person() -> InboxName {
    InboxName::PERSON.parse().expect("a constant name")
}

/// Adds the texts of the question and its answer, read from the log.
async fn shown(hub: &Hub, id: Seq, status: QuestionStatus) -> Result<Question, ApiError> {
    let said = stored::notification(hub, id).await?;
    let Asked { text, complete } = text_of(&said);
    let parts = parts(&said);
    let asked = status.asked;
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
        parts,
        data: said.data,
        deliverable: status.deliverable,
        delivery: status.delivery,
        held_until: status.held_until,
        place: status.place,
    })
}
