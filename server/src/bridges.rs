//! Bridges: they read and write the log like anyone else, and the core knows none of them.

use hub_protocol::{Post, SpoolItem, Spooled};

use crate::api::{ApiError, hooks};
use crate::command::{Command, Once};
use crate::draft::{self, Context};
use crate::hub::Hub;

pub mod local_sessions;
pub mod spool;
pub mod status_files;

/// What became of a notification that a bridge submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is durable, now or since an earlier attempt.
    Stored,
    /// It will never be taken, for this reason.
    Refused(String),
    /// Not now: it is to be offered again.
    Later,
}

/// Takes a spooled notification in, as if its request had come now.
pub async fn submit(hub: &Hub, item: SpoolItem) -> Verdict {
    let body = match &item.said {
        Spooled::Post(body) => body.get(),
        Spooled::Hook(hook) => return verdict(hooks::spooled(hub, &item.key, hook).await),
    };
    let post: Post = match serde_json::from_str(body) {
        Ok(post) => post,
        Err(error) => return Verdict::Refused(error.to_string()),
    };
    let once = Once::new(&item.key, body.as_bytes());
    store(hub, post, &Context::spooled(hub), once).await
}

/// Stores `post`, once.
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
