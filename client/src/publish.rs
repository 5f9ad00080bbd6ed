//! Sends notifications to the hub, or stores them on this machine until a hub accepts them. Uses the connection, the
//! sender of [`crate::identity`] and [`crate::spool`].

pub(crate) mod status_file;

use std::time::SystemTime;

use hub_protocol::{
    InboxName, InboxTouched, MAX_ITEM_BYTES, Post, Published, SpoolItem, SpoolKey, Spooled,
    SpooledHook,
};
use serde_json::value::RawValue;

use crate::error::{Error, Unreachable};
use crate::hub::{Hub, Path, Request};
use crate::identity::Context;
use crate::identity::sender::from_environment;
use crate::output::say;
use crate::spool::Spool;
use crate::system::random;

/// The result of an attempt to publish.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// The hub has stored the notification.
    Sent(Sent),
    /// The hub cannot accept the notification now.
    Unsent(Unsent),
}

/// A notification that the hub has stored.
#[derive(Debug)]
pub(crate) struct Sent {
    /// The body of the hub's answer.
    pub answer: String,
    /// The hub that has stored it.
    pub hub: Hub,
}

/// A notification that the hub did not accept, and the reason.
#[derive(Debug)]
pub(crate) struct Unsent {
    item: SpoolItem,
    why: Error,
}

/// Sends `post` under a new key.
pub(crate) async fn publish(context: &Context, post: &Post) -> Result<Attempt, Error> {
    // The key is made before the first attempt, so that no later attempt is stored twice.
    publish_once(context, random::key(SystemTime::now())?, post).await
}

/// Sends `post` under `key`, so that the hub stores it once.
pub(crate) async fn publish_once(
    context: &Context,
    key: SpoolKey,
    post: &Post,
) -> Result<Attempt, Error> {
    attempt(context, key.clone().as_str(), key, post).await
}

/// Sends `post` under `key`, which is not a key of the spool: if it cannot be sent, it is kept under a new one.
pub(crate) async fn publish_as(
    context: &Context,
    key: &str,
    post: &Post,
) -> Result<Attempt, Error> {
    attempt(context, key, random::key(SystemTime::now())?, post).await
}

async fn attempt(
    context: &Context,
    key: &str,
    kept_as: SpoolKey,
    post: &Post,
) -> Result<Attempt, Error> {
    let body = body(post)?;
    let sent = async {
        let hub = context.hub()?;
        let answer = hub.text(&request(key, &body)).await?;
        Ok(Sent { answer, hub })
    };
    match sent.await {
        Ok(sent) => Ok(Attempt::Sent(sent)),
        Err(why) if Error::is_passing(&why) => {
            let item = SpoolItem::new(kept_as, Spooled::Post(body));
            Ok(Attempt::Unsent(Unsent { item, why }))
        }
        Err(error) => Err(error),
    }
}

/// Sends the spooled requests for `hub`, which was just reached, unless that hub reads the spool itself.
pub(crate) async fn send_spooled(hub: &Hub, context: &Context) {
    let spool = Spool::of(&context.settings);
    if spool.elsewhere().is_none() {
        return;
    }
    spool.reached();
    for item in spool.items() {
        let request = match &item.request {
            Spooled::Post(body) => request(item.key.as_str(), body),
            Spooled::Hook(hook) => spooled_hook(item.key.as_str(), hook),
        };
        // The hub must not take this process for the one that wrote the file.
        let sent = hub.text(&request.header("hub-spooled", "1")).await;
        let done = match sent {
            Ok(_) => spool.remove(&item.key).map_err(anyhow::Error::from),
            Err(error) if error.is_passing() => return,
            Err(error) => {
                say(format!(
                    "the hub refused the spooled request {}: {error}",
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

impl Unsent {
    /// Leaves the notification where the hub will find it. If sockets are blocked, that is the session's status file,
    /// because then only the worktree is writable; else it is the spool. A hub elsewhere does not read the status files
    /// of this machine.
    pub(crate) fn leave(&self, context: &Context, post: &Post) -> Result<(), Error> {
        let persons = post.from.as_ref().map(InboxName::as_str) == Some(InboxName::PERSON);
        if persons && from_environment(&context.env)?.is_some() {
            return Err(Error::Usage(
                "an agent cannot speak as 'person': give the session's own name".into(),
            ));
        }
        if !matches!(self.why, Error::Blocked(_)) || !context.settings.is_own_hub() {
            return self.keep(context);
        }
        match status_file::write_state(context, post) {
            Some(Ok(path)) => {
                let (why, path) = (&self.why, path.display());
                say(format!(
                    "{why}; written into {path}, which the hub reads if it knows the session"
                ));
                Ok(())
            }
            Some(Err(error)) => {
                say(format!("no status file: {error:#}"));
                self.keep(context)
            }
            None => self.keep(context),
        }
    }

    /// Writes the notification to the spool, and reports that on stderr.
    pub(crate) fn keep(&self, context: &Context) -> Result<(), Error> {
        let spool = Spool::of(&context.settings);
        if let Err(error) = spool.keep(&self.item) {
            say(&self.why);
            say(format!("could not write it to the spool either: {error:#}"));
            return Err(Error::Unreachable(Unreachable {
                connected: false,
                reason: "the notification is lost".into(),
            }));
        }
        let (why, key) = (&self.why, &self.item.key);
        say(match spool.elsewhere() {
            None => format!("{why}; kept in the spool as {key}; the hub reads it when it starts"),
            Some(hub) => format!(
                "{why}; kept in the spool as {key}; the next `hubctl notify` that reaches {hub} sends it"
            ),
        });
        Ok(())
    }
}

/// Warns on stderr about inboxes that the sender may not have meant.
pub(crate) fn warn_about(published: &Published) {
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
    // The hub's own hint covers sessions that are over.
    if !inbox.created || expected || inbox.session.is_some() || inbox.over {
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

fn body(post: &Post) -> Result<Box<RawValue>, Error> {
    let body = serde_json::value::to_raw_value(post).map_err(anyhow::Error::from)?;
    if body.get().len() > MAX_ITEM_BYTES {
        return Err(Error::Failed(anyhow::anyhow!(
            "the notification has {} bytes as JSON; the limit is {MAX_ITEM_BYTES}",
            body.get().len()
        )));
    }
    Ok(body)
}

/// The request that sends a spooled hook. Its answer is discarded.
fn spooled_hook(key: &str, hook: &SpooledHook) -> Request {
    let path = Path::with_query("/hooks", &hook.agent, &hook.query);
    Request::post(path, hook.body.get()).header("idempotency-key", key)
}

fn request(key: &str, body: &RawValue) -> Request {
    Request::post(Path::new("/notify"), body.get()).header("idempotency-key", key)
}
