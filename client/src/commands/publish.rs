//! Saying something so that it is not lost: to the hub, or into the spool until one runs.

use std::time::SystemTime;

use hub_protocol::{InboxName, InboxTouched, MAX_ITEM_BYTES, Post, Published, SpoolItem, Spooled};
use serde_json::value::RawValue;

use super::hook;
use crate::error::{Error, Unreachable};
use crate::here::Here;
use crate::hub::{Hub, Path, Request};
use crate::out::say;
use crate::random;
use crate::spool::Spool;

/// Says `post`: the hub and its answer, or `None` where it is kept until a hub runs.
pub(super) async fn publish(here: &Here, post: &Post) -> Result<Option<(Hub, String)>, Error> {
    // The key is there before the first attempt: whatever becomes of it, no repeat is stored twice.
    let key = random::key(SystemTime::now())?;
    let body = body(post)?;
    match send(here, &key, &body).await {
        Ok(sent) => Ok(Some(sent)),
        Err(error) if error.is_passing() => {
            keep(here, &SpoolItem::new(key, Spooled::Post(body)), &error)?;
            Ok(None)
        }
        Err(error) => Err(error),
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

async fn send(here: &Here, key: &str, body: &RawValue) -> Result<(Hub, String), Error> {
    let hub = here.hub()?;
    let answer = hub.text(&request(key, body)).await?;
    Ok((hub, answer))
}

fn request(key: &str, body: &RawValue) -> Request {
    Request::post(Path::new("/notify"), body.get()).header("idempotency-key", key)
}

/// Says on stderr what about the inboxes might not be meant.
pub(super) fn notes(published: &Published) {
    for inbox in &published.inboxes {
        if let Some(note) = creation_note(inbox) {
            say(note);
        }
    }
    if let Some(hint) = &published.hint {
        say(hint);
    }
}

fn creation_note(inbox: &InboxTouched) -> Option<String> {
    let expected = [InboxName::PRIMARY, InboxName::PERSON].contains(&inbox.name.as_str());
    if !inbox.created || expected {
        return None;
    }
    Some(match &inbox.nearest {
        Some(nearest) => format!(
            "'{}' is a new inbox; the nearest known one is '{nearest}'",
            inbox.name
        ),
        None => format!("'{}' is a new inbox", inbox.name),
    })
}

fn spool(here: &Here) -> Spool {
    Spool::of(&here.settings.state_dir.value)
}

fn keep(here: &Here, item: &SpoolItem, why: &Error) -> Result<(), Error> {
    if let Err(error) = spool(here).keep(item) {
        say(why);
        say(format!("not kept either: {error:#}"));
        return Err(Error::Unreachable(Unreachable {
            connected: false,
            reason: "the notification is lost".into(),
        }));
    }
    say(format!(
        "{why}; kept in the spool as {}, the hub takes it in when it runs",
        item.key
    ));
    Ok(())
}

/// Sends what this machine kept while the hub was away, where that is on another machine and cannot see the files.
pub(super) async fn send_spooled(here: &Here, hub: &Hub) {
    if !hub.is_remote() {
        return;
    }
    let spool = spool(here);
    for item in spool.items() {
        let request = match &item.said {
            Spooled::Post(body) => request(&item.key, body),
            Spooled::Hook(hook) => hook::spooled(&item.key, hook),
        };
        let sent = hub.text(&request).await;
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
