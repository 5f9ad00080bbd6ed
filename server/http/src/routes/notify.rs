//! `POST /notify`: stores notifications.

use axum::extract::{FromRequest as _, Request, State};
use axum::http::{Extensions, HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use hub_core::command::{Command, IdempotencyKey};
use hub_core::fold::{Session, State as Fold};
use hub_core::notification::{Draft, kind_of};
use hub_engine::Hub;
use hub_engine::draft::{self, Context};
use hub_engine::refused::AnswerAttempt;
use hub_engine::writer::Done;
use hub_protocol::{InboxName, Kind, Post, ProjectName, Published, PublishedBatch};

use super::refused;
use super::{created_unless, json_of};
use crate::error::ApiError;
use crate::request::caller::{Caller, CallerKind};
use crate::request::directory;
use crate::request::evidence::Witness;
use crate::request::local::Origin;
use crate::request::params::Params;
use crate::request::payload::Payload;

mod body;

use body::{Form, Posts, TextParams};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Longest Idempotency-Key, in bytes.
const MAX_KEY: usize = 255;

/// The header of a request that was kept in a file before. The process that sends it is not the one that wrote it.
const SPOOLED: &str = "hub-spooled";

/// Whether the request says that it was kept in a file.
fn is_spooled(headers: &HeaderMap) -> Result<bool, ApiError> {
    match headers.get(SPOOLED) {
        None => Ok(false),
        Some(value) if value == "1" => Ok(true),
        Some(_) => Err(ApiError::invalid("Hub-Spooled is 1, or absent")),
    }
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
    let spooled = is_spooled(request.headers())?;
    let poster = if spooled {
        Poster::relaying(request.extensions())
    } else {
        Poster::of(request.extensions())
    };
    let Payload(bytes) = Payload::from_request(request, &()).await?;
    let once = key.map(|key| IdempotencyKey::new(&key, &bytes));
    let cwd = params.cwd.take();
    let Posts { posts, is_single } = body::parse(params, form, &bytes)?;
    let mut posts = draft::place_answers(&hub, posts)?;
    if spooled {
        posts.iter_mut().for_each(draft::without_person);
    }
    if let Some(cwd) = cwd {
        let project = Box::pin(directory::project(&hub, cwd)).await?;
        let unplaced = |post: &&mut Post| post.project.is_none() && post.reply_to.is_none();
        for post in posts.iter_mut().filter(unplaced) {
            post.project = Some(project.clone());
        }
    }
    let (project, done) = publish(&hub, poster, posts, once).await?;
    Ok(answer(is_single, project, done))
}

/// The client that posts.
#[derive(Debug, Clone)]
pub struct Poster {
    /// The caller whose rights the post has.
    speaker: Caller,
    witness: Witness,
    /// The caller that sends the request. It has fewer rights to end the questions of others if it is an agent's, also for a
    /// text that somebody else has written.
    sender: Caller,
    /// The origin, if another hub of the cluster took the request.
    origin: Option<Origin>,
}

impl Poster {
    /// The client of a request with these extensions, which speaks for itself.
    fn of(extensions: &Extensions) -> Self {
        Self {
            speaker: Caller::of(extensions),
            witness: Witness::of(extensions),
            ..Self::relaying(extensions)
        }
    }

    /// The client of a request with these extensions, which sends what somebody else has written: a model, or the writer of
    /// a file.
    pub fn relaying(extensions: &Extensions) -> Self {
        Self {
            speaker: Caller::unknown(),
            witness: Witness::default(),
            sender: Caller::of(extensions),
            origin: extensions.get::<Origin>().cloned(),
        }
    }

    /// Marks the drafts by which an agent would end what another session asks a person. This waits until the readers' fold
    /// has every record, as few posts should.
    async fn mark_others(&self, hub: &Hub, drafts: &mut [Draft]) -> Result<(), ApiError> {
        let mut drafts: Vec<_> = drafts.iter_mut().filter(|it| may_end(it)).collect();
        let is_asked = |state: &Fold, it: &Draft| {
            let (sender, about) = ended(state, it);
            sender.or(about).is_some()
        };
        let asked = hub.read(|state, _| drafts.iter().any(|it| is_asked(state, it)))?;
        if !asked || self.sender.refuse_agents(hub).await.is_ok() {
            return Ok(());
        }
        let origin = match &self.origin {
            Some(known) => known.clone(),
            None => Origin(self.sender.lineage().await),
        };
        Ok(hub.read(|state, _| {
            let is_others = |it: &Session| origin.runs(it) == Some(false);
            for draft in &mut drafts {
                let (sender, about) = ended(state, draft);
                let keeps = (sender.is_some_and(is_others), about.is_some_and(is_others));
                (draft.keeps_senders, draft.keeps_sessions) = keeps;
            }
        })?)
    }
}

/// Whether the draft may end a question, by what it says or as the next one with its key.
fn may_end(draft: &Draft) -> bool {
    draft.ends_questions() || draft.body.key.is_some()
}

/// The sessions with a question for a person that the draft may end: its sender, whose earlier question with the same key it
/// replaces, and the one of which it says that it goes on.
fn ended<'a>(state: &'a Fold, draft: &Draft) -> (Option<&'a Session>, Option<&'a Session>) {
    let it = &draft.body;
    let asking = |name: &InboxName| {
        let key = state.sessions.resolve(&it.project, name);
        let mut asked = state.questions.of(&it.project, key);
        let session = state.sessions.get(&it.project, key);
        session.filter(|_| asked.any(|(_, it)| it.is_for_person()))
    };
    let sender = it.key.as_ref().and_then(|_| asking(&it.from));
    let about = it.session.as_ref().unwrap_or(&it.from);
    let about = draft.ends_questions().then_some(about).and_then(asking);
    (sender, about)
}

/// Stores notifications, all or none. Returns the project of the first.
///
/// The futures that only few posts wait for are boxed, here and below. Without that, each post would take as much memory as
/// the largest of them.
pub async fn publish(
    hub: &Hub,
    poster: Poster,
    posts: Vec<Post>,
    once: Option<IdempotencyKey>,
) -> Result<(ProjectName, Done), ApiError> {
    let answer = posts
        .iter()
        .find(|post| kind_of(post) == Some(Kind::Answer));
    let Some((answer, id)) = answer.and_then(|it| Some((it.clone(), it.reply_to?))) else {
        return store(hub, &poster, posts, once).await;
    };
    let name = answer.from.clone().unwrap_or_default();
    let attempt = AnswerAttempt {
        question: id,
        what: "answer",
        answer: Some(&answer.msg),
        name: &name,
    };
    Box::pin(async {
        let stored = store(hub, &poster, posts, once).await;
        refused::recorded(hub, &poster.witness, &attempt, stored).await
    })
    .await
}

async fn store(
    hub: &Hub,
    poster: &Poster,
    mut posts: Vec<Post>,
    once: Option<IdempotencyKey>,
) -> Result<(ProjectName, Done), ApiError> {
    let is_person = is_person(hub, poster.speaker, &posts).await?;
    if is_person {
        let own = posts.iter_mut().filter(|post| is_own_word(post));
        own.for_each(draft::as_person);
    }
    let mut context = Context::new(hub).by_person(is_person);
    if posts.iter().any(|post| kind_of(post) == Some(Kind::Answer)) {
        context = context.observed(Box::pin(poster.witness.evidence(hub)).await?);
    }
    let mut drafts = Vec::with_capacity(posts.len());
    for post in posts {
        drafts.push(draft::prepare(post, &context)?);
    }
    if poster.sender.may_be_agent() && drafts.iter().any(may_end) {
        Box::pin(poster.mark_others(hub, &mut drafts)).await?;
    }
    let project = drafts
        .first()
        .map(|draft| draft.body.project.clone())
        .unwrap_or_default();
    let done = hub.submit(Command::Notify { drafts, once }).await?;
    Ok((project, done))
}

/// Whether a person posts these. Checked only for answers, for posts as the person, and for what may be the person's own
/// word; an agent that posts as the person is refused.
async fn is_person(hub: &Hub, caller: Caller, posts: &[Post]) -> Result<bool, ApiError> {
    let senders = || posts.iter().filter_map(|post| post.from.as_ref());
    let answers = posts.iter().any(|post| kind_of(post) == Some(Kind::Answer));
    let persons = senders().any(|from| from.as_str() == InboxName::PERSON);
    if !answers && !persons && !posts.iter().any(is_own_word) {
        return Ok(false);
    }
    let kind = Box::pin(caller.identify_as(hub, senders())).await?;
    Ok(kind == CallerKind::Person)
}

/// Whether it is the person's own word if a person posts it: `hubctl` says that it is no session's, and it reports no
/// state. What has a key, or goes to the person, comes from a script that the person runs.
fn is_own_word(post: &Post) -> bool {
    let is = |name: &Option<InboxName>, of: &str| name.as_ref().is_some_and(|it| it.as_str() == of);
    is(&post.session, InboxName::UNKNOWN)
        && !is(&post.to, InboxName::PERSON)
        && post.key.is_none()
        && matches!(kind_of(post), None | Some(Kind::Message))
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
            (status, json_of(&published)).into_response()
        }
        _ => {
            let published = PublishedBatch {
                ids,
                inboxes,
                woken,
                hint,
            };
            (status, json_of(&published)).into_response()
        }
    }
}

/// The request's Idempotency-Key, checked.
pub(super) fn once_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).iter();
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
