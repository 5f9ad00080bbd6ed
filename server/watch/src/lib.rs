//! The watchers of this machine: for the spool, status files, agents' session files and processes. They submit commands like
//! any client.

use hub_core::command::{Command, IdempotencyKey};
use hub_core::notification::kind_of;
use hub_core::rejected::Rejected;
use hub_engine::Hub;
use hub_engine::draft::{self, Context, InvalidPost};
use hub_engine::hooks::{self, HookError};
use hub_engine::refused::AnswerAttempt;
use hub_protocol::{Evidence, Kind, Post, SpoolItem, Spooled};

pub mod claude_sessions;
pub mod codex_rollouts;
mod dir_watcher;
pub mod local_sessions;
pub mod lost_answers;
pub mod process_env;
pub mod spool;
pub mod status_files;
pub mod untrusted_dir;

/// The outcome of submitting a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is durable, from this attempt or an earlier one.
    Stored,
    /// It was refused for good, for this reason.
    Refused(String),
    /// It could not be stored now; submit it again later.
    Later,
}

/// Stores a spooled item as if its request had arrived now.
pub async fn submit(hub: &Hub, item: SpoolItem) -> Verdict {
    let mut verdict = attempt(hub, &item).await;
    if matches!(verdict, Verdict::Refused(_)) && hub.is_standby() {
        // The question may be stored, and not have arrived here.
        verdict = match hub.catch_up().await {
            Ok(()) => attempt(hub, &item).await,
            Err(rejected) => rejected.into(),
        };
    }
    if let (Verdict::Refused(_), Spooled::Post(body)) = (&verdict, &item.request) {
        record_refused(hub, body.get()).await;
    }
    verdict
}

/// Records that a spooled post was refused, if it answers an open question that is for a person.
async fn record_refused(hub: &Hub, body: &str) {
    let placed = placed(hub, body).ok();
    let answer = placed.filter(|it| kind_of(it) == Some(Kind::Answer));
    let Some((answer, id)) = answer.and_then(|it| it.reply_to.map(|id| (it, id))) else {
        return;
    };
    let is_open = hub.read(|state, _| {
        state
            .questions
            .get(id)
            .is_some_and(|it| !it.state.is_final())
    });
    if is_open.unwrap_or(false) {
        let refused = AnswerAttempt {
            question: id,
            what: "answer",
            answer: Some(&answer.msg),
            name: &answer.from.clone().unwrap_or_default(),
        };
        // The process that wrote the file is not known.
        refused.record(hub, &Evidence::default()).await;
    }
}

async fn attempt(hub: &Hub, item: &SpoolItem) -> Verdict {
    let submitted = match &item.request {
        Spooled::Post(body) => submit_post(hub, item.key.as_str(), body.get()).await,
        Spooled::Hook(hook) => {
            let submitted = hooks::submit_spooled(hub, item.key.as_str(), hook).await;
            submitted.map_err(Verdict::from)
        }
    };
    submitted.err().unwrap_or(Verdict::Stored)
}

/// Stores a spooled post; a retry with the same key is stored once.
async fn submit_post(hub: &Hub, key: &str, body: &str) -> Result<(), Verdict> {
    let post = placed(hub, body)?;
    let once = IdempotencyKey::new(key, body.as_bytes());
    try_store(hub, post, &Context::spooled(hub), once).await
}

/// A post of the spool; as an answer, if it replies to an open question.
fn placed(hub: &Hub, body: &str) -> Result<Post, Verdict> {
    let post: Result<Post, _> = serde_json::from_str(body);
    let mut post = post.map_err(|error| Verdict::Refused(error.to_string()))?;
    draft::without_person(&mut post);
    Ok(draft::place_answers(hub, vec![post])?.remove(0))
}

/// Stores `post`; a retry with the same key is stored once.
pub async fn store(hub: &Hub, post: Post, context: &Context<'_>, once: IdempotencyKey) -> Verdict {
    let stored = try_store(hub, post, context, once).await;
    stored.err().unwrap_or(Verdict::Stored)
}

async fn try_store(
    hub: &Hub,
    post: Post,
    context: &Context<'_>,
    once: IdempotencyKey,
) -> Result<(), Verdict> {
    let drafts = vec![draft::prepare(post, context)?];
    let once = Some(once);
    hub.submit(Command::Notify { drafts, once }).await?;
    Ok(())
}

impl From<Rejected> for Verdict {
    fn from(rejected: Rejected) -> Self {
        match rejected {
            Rejected::Refused(refusal) => Self::Refused(refusal.to_string()),
            Rejected::Full
            | Rejected::Storage
            | Rejected::Busy
            | Rejected::NoActiveHub
            | Rejected::TooManyStreams
            | Rejected::ShuttingDown => Self::Later,
        }
    }
}

impl From<InvalidPost> for Verdict {
    fn from(error: InvalidPost) -> Self {
        match error {
            InvalidPost::Storage(_) => Self::Later,
            InvalidPost::Field(_) | InvalidPost::TooLarge(_) => Self::Refused(error.to_string()),
        }
    }
}

impl From<HookError> for Verdict {
    fn from(error: HookError) -> Self {
        match error {
            HookError::Rejected(rejected) => rejected.into(),
            HookError::UnknownAgent(_) | HookError::Invalid(_) => Self::Refused(error.to_string()),
        }
    }
}
