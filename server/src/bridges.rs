//! Bridges: they read and write the log like anyone else, and the core knows none of them.

use hub_protocol::{Post, SpoolItem, Spooled};

use crate::api::{ApiError, hooks};
use crate::command::{Command, Once};
use crate::draft::{self, Context};
use crate::hub::Hub;

pub mod processes;
pub mod spool;

use spool::Verdict;

/// Takes a spooled notification in, as if its request had come now.
pub async fn submit(hub: &Hub, item: SpoolItem) -> Verdict {
    let body = match &item.said {
        Spooled::Post(body) => body.get(),
        Spooled::Hook(hook) => return verdict(hooks::spooled(hub, hook).await),
    };
    let post: Post = match serde_json::from_str(body) {
        Ok(post) => post,
        Err(error) => return Verdict::Refused(error.to_string()),
    };
    let draft = match draft::prepare(post, &Context::spooled(hub)) {
        Ok(draft) => draft,
        Err(draft::InvalidPost::Storage(_)) => return Verdict::Later,
        Err(error) => return Verdict::Refused(error.to_string()),
    };
    let once = Some(Once::new(&item.key, body.as_bytes()));
    let drafts = vec![draft];
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
