//! Turns a post into a draft: checked, completed with defaults, and serialised except for its number.

use bytes::Bytes;
use hub_core::asked::is_of_hook;
use hub_core::controls::controls;
use hub_core::notification::{Draft, HEAD, HOOK_KEYS, is_longer, kind_of, tail_of};
use hub_core::rejected::Rejected;
use hub_log::Log;
use hub_log::journal::JournalError;
use hub_protocol::{
    Control, Evidence, InboxName, Kind, MAX_ITEM_BYTES, Notification, Post, ProjectName, Seq,
    Timestamp, Verdict, first_bytes, single_spaced, verdict, with_ellipsis,
};

use crate::Hub;

/// The default time to live of a notification.
const TTL_MS: i64 = 7 * DAY_MS;
/// The default time to live of a question, which may have to wait longer for its reader.
const QUESTION_TTL_MS: i64 = 30 * DAY_MS;
/// The longest time to live; the log's retention drops notifications earlier in any case.
const MAX_TTL_MS: i64 = 366 * DAY_MS;
const DAY_MS: i64 = 24 * 3600 * 1000;
/// A sender's timestamp that differs by less than this counts as the time of receipt.
const SAME_TIME_MS: i64 = 1000;
/// A notification that was spooled for longer than this is stored without waking anyone.
const QUIET_AFTER_MS: i64 = 3600 * 1000;
const MAX_TITLE: usize = 512;
/// The most bytes of a question's text in the title of its answer.
const MAX_QUESTION: usize = 200;
const MAX_KEY: usize = 256;
const MAX_OPTIONS: usize = 32;
const MAX_OPTION: usize = 256;

/// Why a post cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum InvalidPost {
    /// A field has an invalid value.
    #[error("{0}")]
    Field(String),
    /// The notification is larger than [`MAX_ITEM_BYTES`].
    #[error("a notification has at most {MAX_ITEM_BYTES} bytes of JSON, this one has {0}")]
    TooLarge(usize),
    /// The notification it replies to could not be read.
    #[error(transparent)]
    Storage(#[from] JournalError),
}

/// The context of a post: the time, the log that holds the replied-to notification, and the sender's rights.
pub struct Context<'a> {
    now: Timestamp,
    log: &'a Log,
    may_approve: bool,
    spooled: bool,
    evidence: Option<Evidence>,
    answers: Option<Vec<String>>,
}

impl<'a> Context<'a> {
    /// The context of a post that arrives now.
    pub fn new(hub: &'a Hub) -> Self {
        Self {
            now: Timestamp::now(),
            log: hub.log(),
            may_approve: hub.rules().agents_may_approve,
            spooled: false,
            evidence: None,
            answers: None,
        }
    }

    /// Sets what the hub observed of the one who posts it; its answers carry it.
    #[must_use]
    pub fn observed(mut self, evidence: Evidence) -> Self {
        self.evidence = Some(evidence).filter(|it| !it.is_empty());
        self
    }

    /// Sets the answers to the questions of a dialog that has several.
    #[must_use]
    pub fn answering(mut self, answers: Option<Vec<String>>) -> Self {
        self.answers = answers;
        self
    }

    /// Sets whether a person posted it; a person may approve what agents ask for.
    #[must_use]
    pub fn by_person(mut self, is_person: bool) -> Self {
        self.may_approve |= is_person;
        self
    }

    /// The context of a post that was spooled while the hub was down; an old one wakes nobody.
    pub fn spooled(hub: &'a Hub) -> Self {
        Self {
            spooled: true,
            ..Self::new(hub)
        }
    }
}

/// Turns each reply to an open question into its answer, in the question's project.
///
/// This comes before the writer's turn, because an answer needs what only a request's own task may wait for: which process
/// sends it, what the hub sees of that process, and the question's text as title, all in its serialised JSON. The writer
/// decides something else: whether the question takes this answer. It refuses one that came second.
pub fn place_answers(hub: &Hub, mut posts: Vec<Post>) -> Result<Vec<Post>, Rejected> {
    if posts.iter().all(|post| post.reply_to.is_none()) {
        return Ok(posts);
    }
    hub.read(|state, _| state.place_answers(&mut posts))?;
    Ok(posts)
}

/// Makes it a message of the person.
pub fn as_person(post: &mut Post) {
    post.from = InboxName::PERSON.parse().ok();
    post.kind = Some(Kind::Message);
}

/// Removes the person as the sender of a post that was kept in a file: a file does not prove which process wrote it. Its
/// sender is `unknown` then.
pub fn without_person(post: &mut Post) {
    post.from.take_if(|from| from.as_str() == InboxName::PERSON);
}

/// Checks a post and completes it. Fails if a field is invalid or the result is too large.
pub fn prepare(post: Post, context: &Context<'_>) -> Result<Draft, InvalidPost> {
    check(&post)?;
    let explicit = kind_of(&post);
    let kind = explicit.unwrap_or(Kind::Complete);
    let ts = said_at(&post, context.now)?;
    let said = if context.spooled { ts } else { context.now };
    let expires_at = expiry(&post, kind, said, context.now)?;
    let replied = replied(post.reply_to, kind, context.log)?;
    let late = context.now.as_millis() - ts.as_millis();
    let own_title = post.title.is_some();
    let allows_unseen = kind == Kind::Answer && replied.is_unseen && allows(&post.msg);
    let mut notification = Notification {
        id: 0,
        ts,
        from: post
            .from
            .unwrap_or_else(|| InboxName::UNKNOWN.parse().expect("a valid name")),
        from_name: None,
        kind,
        msg: post.msg,
        to: post.to,
        project: post.project.or(replied.project).unwrap_or_default(),
        priority: post.priority.unwrap_or_default(),
        title: post.title.or(replied.question),
        data: post.data,
        session: post.session,
        parent: post.parent,
        key: post.key,
        reply_to: post.reply_to,
        expires_at,
        options: post.options,
        answers: context.answers.clone().filter(|_| kind == Kind::Answer),
        hops: replied.hops,
        received: (late.abs() > SAME_TIME_MS).then_some(context.now),
        muted_by: None,
        rides_along: None,
        evidence: context.evidence.clone().filter(|_| kind == Kind::Answer),
        turn: None,
        repeats: None,
    };
    let tail = tail(&notification).or_else(|error| {
        // An answer that would be too large with the question as its title is stored without the title.
        if own_title || notification.title.take().is_none() {
            return Err(error);
        }
        tail(&notification)
    })?;
    Ok(Draft {
        body: notification,
        tail: Some(tail),
        explicit_kind: explicit.is_some(),
        allows_unseen,
        may_approve: context.may_approve,
        keeps_senders: false,
        keeps_sessions: false,
        quiet: context.spooled && late > QUIET_AFTER_MS,
        recorded: false,
        keeps_state: false,
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
        .is_some_and(|title| is_longer(title, MAX_TITLE))
    {
        return Err(InvalidPost::Field(format!(
            "title has at most {MAX_TITLE} characters"
        )));
    }
    post.key.as_deref().map_or(Ok(()), check_key)?;
    if post.data.as_ref().is_some_and(is_of_hook) {
        return field(
            "data.via 'hook' says that an agent's hook wrote it, which only the hub can say: leave it out",
        );
    }
    let options = post.options.as_deref().unwrap_or_default();
    if options.len() > MAX_OPTIONS
        || options
            .iter()
            .any(|option| option.trim().is_empty() || is_longer(option, MAX_OPTION))
    {
        return Err(InvalidPost::Field(format!(
            "options are at most {MAX_OPTIONS} texts of 1 to {MAX_OPTION} characters"
        )));
    }
    if let Some(from) = post.from.as_ref().filter(|it| it.imitates_reserved()) {
        return Err(InvalidPost::Field(format!(
            "'{from}' looks like a reserved name: give another one"
        )));
    }
    match post.from.as_ref().map(InboxName::as_str) {
        Some(InboxName::ALL) => field("'all' is a target, not a sender"),
        Some(InboxName::HUB) => field("only the hub itself speaks as 'hub': give another name"),
        _ => Ok(()),
    }
}

/// Checks that a collapse key has a valid length, and that it is none of those by which the hub knows what the hooks of
/// agents asked: with one of those, anyone could replace or withdraw a question of an agent.
pub fn check_key(key: &str) -> Result<(), InvalidPost> {
    if key.trim_start().starts_with(HOOK_KEYS) {
        return Err(InvalidPost::Field(format!(
            "keys that begin with {HOOK_KEYS} belong to the hooks of agents"
        )));
    }
    if key.trim().is_empty() || is_longer(key, MAX_KEY) {
        return Err(InvalidPost::Field(format!(
            "key has 1 to {MAX_KEY} characters"
        )));
    }
    Ok(())
}

fn said_at(post: &Post, now: Timestamp) -> Result<Timestamp, InvalidPost> {
    let ts = post.ts.unwrap_or(now);
    if ts > now.plus_millis(Timestamp::MAX_AHEAD_MS) {
        return Err(InvalidPost::Field(format!("ts {ts} lies in the future")));
    }
    Ok(ts)
}

/// Returns the expiry time. A time to live counts from `said`.
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

/// The properties that a reply inherits from the notification that it replies to.
#[derive(Default)]
struct Replied {
    /// The number of replies before it, which is limited so that two agents cannot wake each other for ever.
    hops: u32,
    /// The project of the notification, for a reply that names none.
    project: Option<ProjectName>,
    /// The text of the answered question, because the session that receives the answer may have forgotten it.
    question: Option<String>,
    /// Whether it asks to allow a request of which the hub does not have all.
    is_unseen: bool,
}

/// Whether a notification asks to allow a request of which the hub does not have all.
fn is_unseen(asked: &Notification) -> bool {
    matches!(controls(asked)[..], [Control::Verdict { allow: false, .. }])
}

/// Whether an answer allows what it answers.
fn allows(answer: &str) -> bool {
    verdict(answer).is_some_and(|it| !matches!(it, Verdict::Deny(_)))
}

fn replied(reply_to: Option<Seq>, kind: Kind, log: &Log) -> Result<Replied, InvalidPost> {
    let Some(id) = reply_to else {
        return Ok(Replied::default());
    };
    if id == 0 || id > log.head() {
        return Err(InvalidPost::Field(format!(
            "reply_to names notification {id}, which does not exist"
        )));
    }
    if id < log.earliest() {
        return Ok(Replied {
            hops: 1,
            ..Replied::default()
        });
    }
    let event = log.get(id)?;
    match event.as_ref().and_then(|event| event.notified()) {
        Some(parent) => {
            let json = event.as_ref().filter(|_| kind == Kind::Answer);
            let json = json.and_then(|event| event.json());
            let asked: Option<Notification> =
                json.and_then(|json| serde_json::from_slice(&json).ok());
            Ok(Replied {
                hops: parent.route.hops + 1,
                project: Some(parent.route.project.clone()),
                is_unseen: asked.as_ref().is_some_and(is_unseen),
                question: asked.map(|it| shortened(&it.msg)),
            })
        }
        None => Err(InvalidPost::Field(format!(
            "reply_to names {id}, which is not a notification"
        ))),
    }
}

/// Returns the text of a stored question on one line, cut to [`MAX_QUESTION`] bytes.
fn shortened(msg: &str) -> String {
    let text = single_spaced(msg);
    with_ellipsis(first_bytes(&text, MAX_QUESTION), &text).into_owned()
}

/// Returns the JSON after `{"id":0,`; the writer prepends the number.
fn tail(notification: &Notification) -> Result<Bytes, InvalidPost> {
    let tail = tail_of(notification);
    let size = HEAD.len() + tail.len();
    if size > MAX_ITEM_BYTES {
        return Err(InvalidPost::TooLarge(size));
    }
    Ok(tail)
}
