//! `POST /notify`: somebody says something.

use std::collections::HashMap;

use axum::Json;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use hub_protocol::{Kind, Post, ProjectName, Published, PublishedBatch, Seq};
use serde::Deserialize;

use super::params::Params;
use super::payload::{self, Payload};
use super::{ApiError, Code};
use crate::command::{Command, Once};
use crate::draft::{self, Context};
use crate::hub::Hub;
use crate::writer::Done;

/// Notifications in one request.
const MAX_ITEMS: usize = 1000;
/// Bytes of an Idempotency-Key.
const MAX_KEY: usize = 255;

/// What a text body says of itself in the query string.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextParams {
    #[serde(rename = "type")]
    kind: Option<String>,
    from: Option<String>,
    to: Option<String>,
    project: Option<String>,
    priority: Option<String>,
    title: Option<String>,
    key: Option<String>,
    session: Option<String>,
    parent: Option<String>,
    reply_to: Option<u64>,
    ttl: Option<u64>,
}

/// What a request asks to store.
enum Posts {
    One(Box<Post>),
    Batch(Vec<Post>),
}

/// Stores one notification (a JSON object, or text) or several (a JSON array, or NDJSON), all or none.
pub(super) async fn notify(
    State(hub): State<Hub>,
    Params(params): Params<TextParams>,
    request: Request,
) -> Result<Response, ApiError> {
    // Looked at in place: as an extractor of its own the headers would be cloned for every notification.
    let (key, ndjson) = (once_key(request.headers())?, is_ndjson(request.headers()));
    let Payload(bytes) = Payload::from_request(request, &()).await?;
    let once = key.map(|key| Once::new(&key, &bytes));
    let posts = parse(params, ndjson, &bytes)?;
    let single = matches!(posts, Posts::One(_));
    let mut posts = match posts {
        Posts::One(post) => vec![*post],
        Posts::Batch(posts) => posts,
    };
    place_answers(&hub, &mut posts).await?;
    let context = Context::new(&hub);
    let drafts: Vec<_> = posts
        .into_iter()
        .map(|post| draft::prepare(post, &context))
        .collect::<Result<_, _>>()?;
    let project = drafts
        .first()
        .map(|draft| draft.project.clone())
        .unwrap_or_default();
    let done = hub.submit(Command::Notify { drafts, once }).await?;
    Ok(answer(single, project, done))
}

/// An answer that names no project belongs to that of its question.
async fn place_answers(hub: &Hub, posts: &mut [Post]) -> Result<(), ApiError> {
    let is_answer = |post: &&mut Post| draft::kind_of(post) == Some(Kind::Answer);
    let answers = posts.iter_mut().filter(is_answer);
    let answers = answers.filter(|post| post.project.is_none());
    let mut answers: Vec<(Seq, &mut Post)> = answers
        .filter_map(|post| Some((post.reply_to?, post)))
        .collect();
    if answers.is_empty() {
        return Ok(());
    }
    let ids: Vec<Seq> = answers.iter().map(|(id, _)| *id).collect();
    let asked = hub.query(move |state, _| {
        let project = |id| Some((id, state.question(id)?.project.clone()));
        ids.into_iter().filter_map(project).collect()
    });
    let asked: HashMap<Seq, ProjectName> = asked.await?;
    for (id, post) in &mut answers {
        post.project = asked.get(id).cloned();
    }
    Ok(())
}

fn answer(single: bool, project: ProjectName, done: Done) -> Response {
    let status = if done.repeated {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    let Done {
        ids,
        inboxes,
        woken,
        hint,
        ..
    } = done;
    match ids.first() {
        Some(&id) if single => (
            status,
            Json(Published {
                id,
                project,
                inboxes,
                woken,
                hint,
            }),
        )
            .into_response(),
        _ => (
            status,
            Json(PublishedBatch {
                ids,
                inboxes,
                woken,
                hint,
            }),
        )
            .into_response(),
    }
}

fn is_ndjson(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-ndjson"))
}

fn parse(params: TextParams, ndjson: bool, bytes: &[u8]) -> Result<Posts, ApiError> {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Err(ApiError::invalid(
            "the body is empty: send a text, or JSON with msg",
        )),
        Some(b'[') => {
            let posts: Vec<Post> =
                serde_json::from_slice(bytes).map_err(|error| not_json(&error))?;
            bounded(posts).map(Posts::Batch)
        }
        Some(b'{') => {
            let lines = serde_json::Deserializer::from_slice(bytes).into_iter::<Post>();
            let mut posts: Vec<Post> = lines
                .collect::<Result<_, _>>()
                .map_err(|error| not_json(&error))?;
            if posts.len() == 1 && !ndjson {
                return Ok(Posts::One(Box::new(posts.remove(0))));
            }
            bounded(posts).map(Posts::Batch)
        }
        Some(_) => text(params, bytes).map(Box::new).map(Posts::One),
    }
}

/// A text may begin like JSON: who sent one is told how to send it.
fn not_json(error: &serde_json::Error) -> ApiError {
    let told = payload::bad_json(error);
    if error.is_data() {
        return told;
    }
    let text = r#"what begins with { or [ is read as JSON: send such a text as {"msg": "..."}"#;
    ApiError::new(told.code(), format!("{error}; {text}"))
}

fn bounded(posts: Vec<Post>) -> Result<Vec<Post>, ApiError> {
    match posts.len() {
        0 => Err(ApiError::invalid("the batch is empty")),
        1..=MAX_ITEMS => Ok(posts),
        _ => Err(ApiError::invalid(format!(
            "a batch has at most {MAX_ITEMS} notifications"
        ))),
    }
}

fn text(params: TextParams, bytes: &[u8]) -> Result<Post, ApiError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| ApiError::new(Code::Malformed, "the body is not UTF-8"))?;
    if text.starts_with('\u{feff}') {
        return Err(ApiError::new(
            Code::Malformed,
            "the body begins with a byte order mark",
        ));
    }
    Ok(Post {
        msg: text.trim_end_matches(['\r', '\n']).to_owned(),
        from: parsed(params.from)?,
        to: parsed(params.to)?,
        kind: kind(params.kind)?,
        priority: parsed(params.priority)?,
        project: parsed(params.project)?,
        title: params.title,
        key: params.key,
        session: parsed(params.session)?,
        parent: parsed(params.parent)?,
        reply_to: params.reply_to,
        ttl: params.ttl,
        ..Post::default()
    })
}

fn kind(text: Option<String>) -> Result<Option<Kind>, ApiError> {
    text.map(|text| {
        text.parse()
            .map_err(|error| ApiError::new(Code::UnknownType, error))
    })
    .transpose()
}

fn parsed<T>(text: Option<String>) -> Result<Option<T>, ApiError>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    text.map(|text| {
        text.parse()
            .map_err(|error: T::Err| ApiError::invalid(error))
    })
    .transpose()
}

/// The Idempotency-Key of a request.
pub(super) fn once_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut keys = headers.get_all("idempotency-key").iter();
    let Some(key) = keys.next() else {
        return Ok(None);
    };
    let key = key
        .to_str()
        .ok()
        .filter(|key| !key.trim().is_empty() && key.len() <= MAX_KEY);
    match (key, keys.next()) {
        (Some(key), None) => Ok(Some(key.to_owned())),
        _ => Err(ApiError::invalid(format!(
            "Idempotency-Key must be one header of 1 to {MAX_KEY} visible characters"
        ))),
    }
}
