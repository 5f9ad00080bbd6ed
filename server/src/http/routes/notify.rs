//! `POST /notify`: stores notifications.

use axum::Json;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use hub_protocol::{InboxName, Kind, Post, ProjectName, Published, PublishedBatch};
use serde::Deserialize;

use super::directory;
use super::params::Params;
use super::payload::{self, Payload};
use super::requester::{Origin, Requester};
use super::strict::Sound;
use super::{ApiError, Code};
use crate::core::command::{Command, IdempotencyKey};
use crate::core::notification::kind_of;
use crate::core::rejected::Rejected;
use crate::hub::Hub;
use crate::hub::draft::{self, Context};
use crate::hub::writer::Done;

/// At most this many notifications are stored in one request.
const MAX_ITEMS: usize = 1000;
/// Longest Idempotency-Key, in bytes.
const MAX_KEY: usize = 255;

/// The query: the fields of a text body, and the directory of any body.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextParams {
    #[serde(rename = "type")]
    kind: Option<String>,
    from: Option<String>,
    to: Option<String>,
    project: Option<String>,
    /// The directory whose project is used for notifications that name no project.
    cwd: Option<String>,
    priority: Option<String>,
    title: Option<String>,
    key: Option<String>,
    session: Option<String>,
    parent: Option<String>,
    reply_to: Option<u64>,
    ttl: Option<u64>,
}

/// The parsed body.
enum Posts {
    One(Box<Post>),
    Batch(Vec<Post>),
}

/// Stores one notification (a JSON object or text) or several (a JSON array or NDJSON), all or none.
pub(super) async fn notify(
    State(hub): State<Hub>,
    Params(mut params): Params<TextParams>,
    request: Request,
) -> Result<Response, ApiError> {
    // Read from the request directly, because a header extractor would clone all headers for each request.
    let key = once_key(request.headers())?;
    let form = Form::of(request.headers());
    let origin = Origin::of(request.extensions());
    let Payload(bytes) = Payload::from_request(request, &()).await?;
    let once = key.map(|key| IdempotencyKey::new(&key, &bytes));
    let cwd = params.cwd.take();
    let posts = parse(params, form, &bytes)?;
    let single = matches!(posts, Posts::One(_));
    let posts = match posts {
        Posts::One(post) => vec![*post],
        Posts::Batch(posts) => posts,
    };
    let mut posts = place_answers(&hub, posts).await?;
    if let Some(cwd) = cwd {
        let project = directory::project(&cwd).await?;
        let unplaced = |post: &&mut Post| post.project.is_none() && post.reply_to.is_none();
        for post in posts.iter_mut().filter(unplaced) {
            post.project = Some(project.clone());
        }
    }
    let context = Context::new(&hub).by_person(is_person(&hub, origin, &posts).await?);
    let drafts: Vec<_> = posts
        .into_iter()
        .map(|post| draft::prepare(post, &context))
        .collect::<Result<_, _>>()?;
    let project = drafts
        .first()
        .map(|draft| draft.body.project.clone())
        .unwrap_or_default();
    let done = hub.submit(Command::Notify { drafts, once }).await?;
    Ok(answer(single, project, done))
}

/// Whether a person posts these. Checked only for answers and for posts as the person; an agent that posts as the
/// person is refused.
async fn is_person(hub: &Hub, origin: Origin, posts: &[Post]) -> Result<bool, ApiError> {
    let senders = || posts.iter().filter_map(|post| post.from.as_ref());
    let answers = posts.iter().any(|post| kind_of(post) == Some(Kind::Answer));
    let persons = senders().any(|from| from.as_str() == InboxName::PERSON);
    if !answers && !persons {
        return Ok(false);
    }
    Ok(origin.speaks_as(hub, senders()).await? == Requester::Person)
}

/// Turns each reply to an open question into its answer, in the question's project.
pub(crate) async fn place_answers(hub: &Hub, mut posts: Vec<Post>) -> Result<Vec<Post>, Rejected> {
    if posts.iter().all(|post| post.reply_to.is_none()) {
        return Ok(posts);
    }
    hub.query(move |state, _| {
        state.place_answers(&mut posts);
        posts
    })
    .await
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

/// The body formats that a content type can demand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Lines,
    /// Any other content type; the body decides. curl sends text as `application/x-www-form-urlencoded`.
    Any,
}

impl Form {
    fn of(headers: &HeaderMap) -> Self {
        let essence = headers.get(CONTENT_TYPE).map_or(&b""[..], |kind| {
            let kind = kind.as_bytes().split(|byte| *byte == b';').next();
            kind.unwrap_or_default().trim_ascii()
        });
        if essence.eq_ignore_ascii_case(b"application/json") {
            Self::Json
        } else if essence.eq_ignore_ascii_case(b"application/x-ndjson") {
            Self::Lines
        } else {
            Self::Any
        }
    }
}

fn parse(params: TextParams, form: Form, bytes: &[u8]) -> Result<Posts, ApiError> {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Err(ApiError::invalid(
            "the body is empty: send a text, or JSON with msg",
        )),
        Some(b'[') => {
            let Sound(posts) = serde_json::from_slice(bytes).map_err(|error| not_json(&error))?;
            bounded(posts).map(Posts::Batch)
        }
        Some(b'{') => {
            let lines = serde_json::Deserializer::from_slice(bytes).into_iter::<Sound<Post>>();
            let mut posts: Vec<Post> = lines
                .map(|line| line.map(|Sound(post)| post))
                .collect::<Result<_, _>>()
                .map_err(|error| not_json(&error))?;
            if posts.len() == 1 && form != Form::Lines {
                return Ok(Posts::One(Box::new(posts.remove(0))));
            }
            bounded(posts).map(Posts::Batch)
        }
        Some(_) if form != Form::Any => Err(no_object(bytes)),
        Some(_) => text(params, bytes).map(Box::new).map(Posts::One),
    }
}

/// The error for a JSON body that is neither an object nor an array.
fn no_object(bytes: &[u8]) -> ApiError {
    match serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
        Ok(_) => ApiError::invalid("what is sent as JSON is an object, or an array of objects"),
        Err(error) => payload::bad_json(&error),
    }
}

/// The error for broken JSON. A text may begin like JSON, so it explains how to send such a text.
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

/// The request's Idempotency-Key, checked.
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
