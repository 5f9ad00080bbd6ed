//! `POST /notify`: stores notifications.

use axum::Json;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use hub_protocol::{InboxName, Kind, Post, ProjectName, Published, PublishedBatch};

use super::created_unless;
use crate::core::command::{Command, IdempotencyKey};
use crate::core::notification::kind_of;
use crate::http::error::ApiError;
use crate::http::request::caller::{Caller, CallerKind};
use crate::http::request::directory;
use crate::http::request::params::Params;
use crate::http::request::payload::Payload;
use crate::hub::Hub;
use crate::hub::draft::{self, Context};
use crate::hub::writer::Done;

mod body;

use body::{Form, Posts, TextParams};

/// Longest Idempotency-Key, in bytes.
const MAX_KEY: usize = 255;

/// Stores one notification (a JSON object or text) or several (a JSON array or NDJSON), all or none.
pub(super) async fn notify(
    State(hub): State<Hub>,
    Params(mut params): Params<TextParams>,
    request: Request,
) -> Result<Response, ApiError> {
    // Read from the request directly, because a header extractor would clone all headers for each request.
    let key = once_key(request.headers())?;
    let form = Form::of(request.headers());
    let caller = Caller::of(request.extensions());
    let Payload(bytes) = Payload::from_request(request, &()).await?;
    let once = key.map(|key| IdempotencyKey::new(&key, &bytes));
    let cwd = params.cwd.take();
    let posts = body::parse(params, form, &bytes)?;
    let single = matches!(posts, Posts::One(_));
    let posts = match posts {
        Posts::One(post) => vec![*post],
        Posts::Batch(posts) => posts,
    };
    let mut posts = draft::place_answers(&hub, posts)?;
    if let Some(cwd) = cwd {
        let project = directory::project(&cwd).await?;
        let unplaced = |post: &&mut Post| post.project.is_none() && post.reply_to.is_none();
        for post in posts.iter_mut().filter(unplaced) {
            post.project = Some(project.clone());
        }
    }
    let (project, done) = publish(&hub, caller, posts, once).await?;
    Ok(answer(single, project, done))
}

/// Stores notifications, all or none. Returns the project of the first.
pub(super) async fn publish(
    hub: &Hub,
    caller: Caller,
    posts: Vec<Post>,
    once: Option<IdempotencyKey>,
) -> Result<(ProjectName, Done), ApiError> {
    let context = Context::new(hub).by_person(is_person(hub, caller, &posts).await?);
    let drafts: Vec<_> = posts
        .into_iter()
        .map(|post| draft::prepare(post, &context))
        .collect::<Result<_, _>>()?;
    let project = drafts
        .first()
        .map(|draft| draft.body.project.clone())
        .unwrap_or_default();
    let done = hub.submit(Command::Notify { drafts, once }).await?;
    Ok((project, done))
}

/// Whether a person posts these. Checked only for answers and for posts as the person; an agent that posts as the
/// person is refused.
async fn is_person(hub: &Hub, caller: Caller, posts: &[Post]) -> Result<bool, ApiError> {
    let senders = || posts.iter().filter_map(|post| post.from.as_ref());
    let answers = posts.iter().any(|post| kind_of(post) == Some(Kind::Answer));
    let persons = senders().any(|from| from.as_str() == InboxName::PERSON);
    if !answers && !persons {
        return Ok(false);
    }
    Ok(caller.identify_as(hub, senders()).await? == CallerKind::Person)
}

fn answer(single: bool, project: ProjectName, done: Done) -> Response {
    let status = created_unless(done.repeated);
    let (ids, inboxes, woken, hint) = (done.ids, done.inboxes, done.woken, done.hint);
    match ids.first() {
        Some(&id) if single => {
            let published = Published {
                id,
                project,
                inboxes,
                woken,
                hint,
            };
            (status, Json(published)).into_response()
        }
        _ => {
            let published = PublishedBatch {
                ids,
                inboxes,
                woken,
                hint,
            };
            (status, Json(published)).into_response()
        }
    }
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
