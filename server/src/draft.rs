//! From what somebody posted to what can be stored: checked, completed, and serialised but for its number.

use bytes::Bytes;
use hub_protocol::{InboxName, Kind, MAX_ITEM_BYTES, Notification, Post, Seq, Timestamp};

use crate::command::Draft;
use crate::hub::Hub;
use crate::journal::JournalError;
use crate::log::Log;

/// Notifications expire after this, unless they say otherwise.
const TTL_MS: i64 = 7 * DAY_MS;
/// Questions are waited for longer.
const QUESTION_TTL_MS: i64 = 30 * DAY_MS;
/// Nothing is kept for longer than this: the log's retention comes first in any case.
const MAX_TTL_MS: i64 = 366 * DAY_MS;
const DAY_MS: i64 = 24 * 3600 * 1000;
/// A sender's clock may be ahead of ours by this.
const MAX_AHEAD_MS: i64 = DAY_MS;
/// A time of its own that differs by less than this is the time of its receipt.
const SAME_TIME_MS: i64 = 1000;
/// Spooled for longer than this, it is stored without waking anybody.
const QUIET_AFTER_MS: i64 = 3600 * 1000;
const MAX_TITLE: usize = 512;
const MAX_KEY: usize = 256;
const MAX_OPTIONS: usize = 32;
const MAX_OPTION: usize = 256;

/// Why a post cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum InvalidPost {
    /// A field that is not what it must be.
    #[error("{0}")]
    Field(String),
    /// Larger than [`MAX_ITEM_BYTES`].
    #[error("a notification has at most {MAX_ITEM_BYTES} bytes of JSON, this one has {0}")]
    TooLarge(usize),
    /// The notification it replies to could not be read.
    #[error(transparent)]
    Storage(#[from] JournalError),
}

/// What a post is completed from.
pub struct Context<'a> {
    now: Timestamp,
    log: &'a Log,
    may_approve: bool,
    spooled: bool,
}

impl<'a> Context<'a> {
    /// Posted now.
    pub fn new(hub: &'a Hub) -> Self {
        Self {
            now: Timestamp::now(),
            log: hub.log(),
            may_approve: hub.rules().agents_may_approve,
            spooled: false,
        }
    }

    /// Posted while the hub was down: late ones wake nobody.
    pub fn spooled(hub: &'a Hub) -> Self {
        Self {
            spooled: true,
            ..Self::new(hub)
        }
    }
}

/// Checks and completes a post.
pub fn prepare(post: Post, context: &Context<'_>) -> Result<Draft, InvalidPost> {
    check(&post)?;
    let explicit = kind_of(&post);
    let kind = explicit.unwrap_or(Kind::Complete);
    let ts = said_at(&post, context.now)?;
    let said = if context.spooled { ts } else { context.now };
    let expires_at = expiry(&post, kind, said, context.now)?;
    let late = context.now.as_millis() - ts.as_millis();
    let notification = Notification {
        id: 0,
        ts,
        from: post
            .from
            .unwrap_or_else(|| InboxName::UNKNOWN.parse().expect("a valid name")),
        kind,
        msg: post.msg,
        to: post.to,
        project: post.project.unwrap_or_default(),
        priority: post.priority.unwrap_or_default(),
        title: post.title,
        data: post.data,
        session: post.session,
        parent: post.parent,
        key: post.key,
        reply_to: post.reply_to,
        expires_at,
        options: post.options,
        hops: hops(post.reply_to, context.log)?,
        received: (late.abs() > SAME_TIME_MS).then_some(context.now),
    };
    Ok(Draft {
        tail: tail(&notification)?,
        project: notification.project,
        from: notification.from,
        kind,
        explicit_kind: explicit.is_some(),
        to: notification.to,
        parent: notification.parent,
        session: notification.session,
        priority: notification.priority,
        key: notification.key,
        reply_to: notification.reply_to,
        may_approve: context.may_approve,
        hops: notification.hops,
        ts,
        expires_at,
        quiet: context.spooled && late > QUIET_AFTER_MS,
        recorded: false,
    })
}

fn check(post: &Post) -> Result<(), InvalidPost> {
    let field = |text: &str| Err(InvalidPost::Field(text.into()));
    if post.msg.trim().is_empty() {
        return field("msg is empty");
    }
    let texts = [Some(&post.msg), post.title.as_ref(), post.key.as_ref()];
    if texts.into_iter().flatten().any(|text| text.contains('\0')) {
        return field("msg, title and key must not contain NUL");
    }
    if post
        .title
        .as_ref()
        .is_some_and(|title| title.len() > MAX_TITLE)
    {
        return Err(InvalidPost::Field(format!(
            "title has at most {MAX_TITLE} bytes"
        )));
    }
    if post
        .key
        .as_ref()
        .is_some_and(|key| key.trim().is_empty() || key.len() > MAX_KEY)
    {
        return Err(InvalidPost::Field(format!("key has 1 to {MAX_KEY} bytes")));
    }
    let options = post.options.as_deref().unwrap_or_default();
    if options.len() > MAX_OPTIONS
        || options
            .iter()
            .any(|option| option.trim().is_empty() || option.len() > MAX_OPTION)
    {
        return Err(InvalidPost::Field(format!(
            "options are at most {MAX_OPTIONS} texts of 1 to {MAX_OPTION} bytes"
        )));
    }
    if post
        .from
        .as_ref()
        .is_some_and(|from| from.as_str() == InboxName::ALL)
    {
        return field("'all' is a target, not a sender");
    }
    Ok(())
}

/// The type that a post names.
pub fn kind_of(post: &Post) -> Option<Kind> {
    post.kind.or_else(|| kind_in_data(post))
}

/// Other tools put the type into the metadata; what is no type there is only data.
fn kind_in_data(post: &Post) -> Option<Kind> {
    post.data.as_ref()?.get("type")?.as_str()?.parse().ok()
}

fn said_at(post: &Post, now: Timestamp) -> Result<Timestamp, InvalidPost> {
    let ts = post.ts.unwrap_or(now);
    if ts > now.plus_millis(MAX_AHEAD_MS) {
        return Err(InvalidPost::Field(format!("ts {ts} lies in the future")));
    }
    Ok(ts)
}

/// A time to live counts from when it was `said`.
fn expiry(
    post: &Post,
    kind: Kind,
    said: Timestamp,
    now: Timestamp,
) -> Result<Timestamp, InvalidPost> {
    let field = |text: &str| Err(InvalidPost::Field(text.into()));
    let expires_at = match (post.expires_at, post.ttl) {
        (Some(_), Some(_)) => return field("give expires_at or ttl, not both"),
        (Some(at), None) => at,
        (None, Some(0)) => return field("ttl is at least 1 second"),
        (None, Some(seconds)) => {
            let millis = i64::try_from(seconds)
                .unwrap_or(i64::MAX)
                .saturating_mul(1000);
            said.plus_millis(millis.min(MAX_TTL_MS + 1))
        }
        (None, None) if kind == Kind::Question => said.plus_millis(QUESTION_TTL_MS),
        (None, None) => said.plus_millis(TTL_MS),
    };
    if expires_at <= now {
        return Err(InvalidPost::Field(format!(
            "expires_at {expires_at} lies in the past"
        )));
    }
    if expires_at > now.plus_millis(MAX_TTL_MS) {
        return field("it expires in more than a year; the hub keeps nothing for that long");
    }
    Ok(expires_at)
}

/// Replies are counted, so that two agents cannot wake each other for ever.
fn hops(reply_to: Option<Seq>, log: &Log) -> Result<u32, InvalidPost> {
    let Some(id) = reply_to else { return Ok(0) };
    if id == 0 || id > log.head() {
        return Err(InvalidPost::Field(format!(
            "reply_to names notification {id}, which does not exist"
        )));
    }
    if id < log.earliest() {
        return Ok(1);
    }
    let event = log.get(id)?;
    match event.as_ref().and_then(|event| event.notified()) {
        Some(parent) => Ok(parent.route.hops + 1),
        None => Err(InvalidPost::Field(format!(
            "reply_to names {id}, which is not a notification"
        ))),
    }
}

/// The JSON from after `{"id":0,`, which the writer completes with the number.
fn tail(notification: &Notification) -> Result<Bytes, InvalidPost> {
    let tail = tail_of(notification);
    let size = HEAD.len() + tail.len();
    if size > MAX_ITEM_BYTES {
        return Err(InvalidPost::TooLarge(size));
    }
    Ok(tail)
}

/// [`tail`] of what the hub itself says, which has bounds of its own.
pub(crate) fn tail_of(notification: &Notification) -> Bytes {
    // A notification holds only what JSON can say.
    let json = serde_json::to_vec(notification).expect("a notification is JSON");
    Bytes::from(json).slice(HEAD.len()..)
}

/// How the JSON of a notification without a number begins.
const HEAD: &str = r#"{"id":0,"#;
