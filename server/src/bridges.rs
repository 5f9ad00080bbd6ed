//! Bridges between the hub and files or processes. They use the log like any client; the core does not know them.

use hub_protocol::{InboxName, Post, SpoolItem, Spooled};

use crate::api::{ApiError, hooks, notify};
use crate::command::{Command, Once};
use crate::draft::{self, Context};
use crate::hub::Hub;

pub mod claude_sessions;
pub mod local_sessions;
pub mod spool;
pub mod status_files;

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
    let body = match &item.request {
        Spooled::Post(body) => body.get(),
        Spooled::Hook(hook) => return verdict(hooks::spooled(hub, &item.key, hook).await),
    };
    let mut post: Post = match serde_json::from_str(body) {
        Ok(post) => post,
        Err(error) => return Verdict::Refused(error.to_string()),
    };
    // A file does not prove which process wrote it, so a spooled item cannot be from the person: its sender is
    // `unknown`.
    post.from = post.from.filter(|it| it.as_str() != InboxName::PERSON);
    let once = Once::new(&item.key, body.as_bytes());
    match notify::place_answers(hub, vec![post]).await {
        Ok(mut posts) => store(hub, posts.remove(0), &Context::spooled(hub), once).await,
        Err(_) => Verdict::Later,
    }
}

/// Stores `post`; a retry with the same key is stored once.
async fn store(hub: &Hub, post: Post, context: &Context<'_>, once: Once) -> Verdict {
    let draft = match draft::prepare(post, context) {
        Ok(draft) => draft,
        Err(draft::InvalidPost::Storage(_)) => return Verdict::Later,
        Err(error) => return Verdict::Refused(error.to_string()),
    };
    let drafts = vec![draft];
    let once = Some(once);
    let done = hub.submit(Command::Notify { drafts, once }).await;
    verdict(done.map(drop).map_err(ApiError::from))
}

fn verdict(done: Result<(), ApiError>) -> Verdict {
    match done {
        Ok(()) => Verdict::Stored,
        Err(error) if error.code().status().is_server_error() => Verdict::Later,
        Err(error) => Verdict::Refused(error.problem().detail.unwrap_or_default()),
    }
}
