//! The way of a notification out of this process: to the hub, or into the spool until a hub takes it.

use std::time::SystemTime;

use hub_protocol::{MAX_ITEM_BYTES, Post, SpoolItem, Spooled};
use serde_json::value::RawValue;

use crate::commands::hook;
use crate::error::{Error, Unreachable};
use crate::here::Here;
use crate::hub::{Hub, Path, Request};
use crate::out::say;
use crate::random;
use crate::spool::Spool;
use crate::status_file;

/// What became of an attempt to say something.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// The hub has it.
    Sent(Sent),
    /// The hub cannot take it now.
    Unsent(Unsent),
}

/// The hub has it.
#[derive(Debug)]
pub(crate) struct Sent {
    /// What the hub answered.
    pub answer: String,
    hub: Hub,
}

/// Said, and not heard yet.
#[derive(Debug)]
pub(crate) struct Unsent {
    item: SpoolItem,
    why: Error,
}

/// Sends `post` under a new key.
pub(crate) async fn publish(here: &Here, post: &Post) -> Result<Attempt, Error> {
    // The key is there before the first attempt: whatever becomes of it, no repeat is stored twice.
    publish_once(here, random::key(SystemTime::now())?, post).await
}

/// Sends `post` under `key`, which sorts by the time it was made: the hub stores it once.
pub(crate) async fn publish_once(here: &Here, key: String, post: &Post) -> Result<Attempt, Error> {
    let body = body(post)?;
    let sent = async {
        let hub = here.hub()?;
        let answer = hub.text(&request(&key, &body)).await?;
        Ok(Sent { answer, hub })
    };
    match sent.await {
        Ok(sent) => Ok(Attempt::Sent(sent)),
        Err(why) if Error::is_passing(&why) => {
            let item = SpoolItem::new(key, Spooled::Post(body));
            Ok(Attempt::Unsent(Unsent { item, why }))
        }
        Err(error) => Err(error),
    }
}

impl Sent {
    /// Sends what this machine kept while the hub was away: a hub on another machine cannot see the files.
    pub(crate) async fn send_spooled(&self, here: &Here) {
        if !self.hub.is_remote() {
            return;
        }
        let spool = spool(here);
        for item in spool.items() {
            let request = match &item.said {
                Spooled::Post(body) => request(&item.key, body),
                Spooled::Hook(hook) => hook::spooled(&item.key, hook),
            };
            let sent = self.hub.text(&request).await;
            let done = match sent {
                Ok(_) => spool.remove(&item.key).map_err(anyhow::Error::from),
                Err(error) if error.is_passing() => return,
                Err(error) => {
                    say(format!(
                        "what was spooled as {} is refused: {error}",
                        item.key
                    ));
                    spool.reject(&item.key)
                }
            };
            if let Err(error) = done {
                say(format!("spool: {error:#}"));
            }
        }
    }
}

impl Unsent {
    /// Leaves it where the hub finds it: in the session's status file where sockets are blocked, as then nothing but the
    /// worktree can be written; else in the spool.
    pub(crate) fn leave(&self, here: &Here, post: &Post) -> Result<(), Error> {
        if !matches!(self.why, Error::Blocked(_)) {
            return self.keep(here);
        }
        match status_file::tell(here, post) {
            Some(Ok(path)) => {
                let (why, path) = (&self.why, path.display());
                say(format!("{why}; written into {path}, where the hub looks"));
                Ok(())
            }
            Some(Err(error)) => {
                say(format!("no status file: {error:#}"));
                self.keep(here)
            }
            None => self.keep(here),
        }
    }

    /// Keeps it in the spool, and says so.
    pub(crate) fn keep(&self, here: &Here) -> Result<(), Error> {
        if let Err(error) = spool(here).keep(&self.item) {
            say(&self.why);
            say(format!("not kept either: {error:#}"));
            return Err(Error::Unreachable(Unreachable {
                connected: false,
                reason: "the notification is lost".into(),
            }));
        }
        say(format!(
            "{}; kept in the spool as {}, the hub takes it in when it runs",
            self.why, self.item.key
        ));
        Ok(())
    }
}

fn body(post: &Post) -> Result<Box<RawValue>, Error> {
    let body = serde_json::value::to_raw_value(post).map_err(anyhow::Error::from)?;
    if body.get().len() > MAX_ITEM_BYTES {
        return Err(Error::Failed(anyhow::anyhow!(
            "the notification has {} bytes as JSON; at most {MAX_ITEM_BYTES} are taken",
            body.get().len()
        )));
    }
    Ok(body)
}

fn request(key: &str, body: &RawValue) -> Request {
    Request::post(Path::new("/notify"), body.get()).header("idempotency-key", key)
}

fn spool(here: &Here) -> Spool {
    Spool::of(&here.settings.state_dir.value)
}
