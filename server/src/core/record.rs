//! Records: the facts in the log, and how each is encoded as an entry.
//!
//! An entry is a kind byte and a payload. The payload is JSON, so `hubd export` can print it and fields can be added.
//! Only a notification differs: `[u32 LE length of route][route JSON][notification JSON]`. So readers get the
//! notification's immutable bytes without parsing, and the fold parses only the route.

use bytes::{BufMut, Bytes, BytesMut};
use hub_protocol::{InboxName, ProjectName, Seq, Timestamp};
use serde::{Deserialize, Serialize};

pub mod kinds;
mod preferences;
mod question;
mod receipt;
mod route;
mod session;
mod time;

pub use preferences::PreferencesSet;
pub use question::{QuestionClaimed, QuestionSettled};
pub use receipt::{Emitted, Escalated, Returned};
pub use route::{Route, Target};
pub use session::{
    Beginner, ListenerEnd, ListenerRemoved, ListenerSet, PrimaryTaken, SessionGone, SessionSet,
    Turn, TurnNoted,
};

/// One fact in the log.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// A notification was stored.
    Notified(Notified),
    /// Notifications stopped being pending.
    Settled(Settled),
    /// The person marked notifications as seen or unseen.
    Seen(Seen),
    /// An inbox was removed.
    InboxClosed(InboxClosed),
    /// An Idempotency-Key was used.
    KeyUsed(KeyUsed),
    /// The wall clock jumped against the boot clock.
    ClockMoved(ClockMoved),
    /// A pending notification was written again, because retention drops its block.
    Carried(Carried),
    /// Retention dropped a prefix of the log.
    Trimmed(Trimmed),
    /// A project's inboxes were emptied.
    Reset(Reset),
    /// A session began or resumed, or its properties changed.
    SessionSet(SessionSet),
    /// A hook event changed the state of a session's turn.
    TurnNoted(TurnNoted),
    /// A session's process exited.
    SessionGone(SessionGone),
    /// A session became its project's primary.
    PrimaryTaken(PrimaryTaken),
    /// A session listens for another session's next stop.
    ListenerSet(ListenerSet),
    /// A listener was removed.
    ListenerRemoved(ListenerRemoved),
    /// An answerer claimed a question.
    QuestionClaimed(QuestionClaimed),
    /// A question was answered, withdrawn, superseded, or it expired.
    QuestionSettled(QuestionSettled),
    /// A session's reader has shown notifications.
    Emitted(Emitted),
    /// Shown notifications are offered again, because no hook event proved their delivery.
    Returned(Returned),
    /// The person was notified of undeliverable notifications.
    Escalated(Escalated),
    /// The person replaced the preferences.
    PreferencesSet(PreferencesSet),
}

/// A notification and its route.
#[derive(Debug, Clone, PartialEq)]
pub struct Notified {
    /// The part of the notification that the fold reads.
    pub route: Route,
    /// The notification's immutable JSON object, one line.
    pub json: Bytes,
}

/// Notifications that stopped being pending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The notifications, ascending.
    pub ids: Vec<Seq>,
    /// The inbox in which they stopped being pending; `None` means all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inbox: Option<(ProjectName, InboxName)>,
    /// Why they are no longer pending.
    pub how: How,
    /// The waiter that acknowledged them, or the notification that replaced them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When they stopped being pending.
    pub at: Timestamp,
}

/// Why a notification is no longer pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// A reader acknowledged it.
    Acked,
    /// It reached its expiry time.
    Expired,
    /// Retention dropped it, because the log reached its byte cap.
    Evicted,
    /// A newer notification with the same key replaced it.
    Superseded,
    /// It was withdrawn.
    Withdrawn,
    /// Its inbox was closed, or its project reset.
    Dropped,
    /// Its question was answered before this inbox's reader received it.
    Answered,
}

impl How {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acked => "acked",
            Self::Expired => "expired",
            Self::Evicted => "evicted",
            Self::Superseded => "superseded",
            Self::Withdrawn => "withdrawn",
            Self::Dropped => "dropped",
            Self::Answered => "answered",
        }
    }
}

/// The person's mark on notifications: seen or unseen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The notifications, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<Seq>,
    /// Every notification up to and including this one is marked too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Seq>,
    /// Whether they are marked as seen; `false` removes the mark.
    pub seen: bool,
    /// When the person marked them.
    pub at: Timestamp,
}

/// An inbox that was removed; its pending notifications are dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxClosed {
    /// The project of the inbox.
    pub project: ProjectName,
    /// The inbox that was removed.
    pub inbox: InboxName,
    /// When the inbox was removed.
    pub at: Timestamp,
}

/// An Idempotency-Key and the result of its request, so that a retry is stored only once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyUsed {
    /// The Idempotency-Key.
    pub key: String,
    /// SHA-256 of the request, in hexadecimal.
    pub digest: String,
    /// The notifications that the request stored.
    pub ids: Vec<Seq>,
    /// When the request was carried out.
    pub at: Timestamp,
}

/// A jump of the wall clock against the boot clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockMoved {
    /// The jump in milliseconds, positive if forward; pending deadlines move by as much.
    pub delta_ms: i64,
    /// The wall clock's time after the jump.
    pub at: Timestamp,
}

/// A pending notification, written again at the head so that its old block can be dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    /// The notification's own number, which stays the same.
    pub id: Seq,
    /// The notification's immutable JSON.
    pub json: Bytes,
}

/// A prefix of the log that retention dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trimmed {
    /// The first number that the log keeps.
    pub below: Seq,
    /// When the prefix was dropped.
    pub at: Timestamp,
}

/// A project whose inboxes were emptied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reset {
    /// The project that was emptied.
    pub project: ProjectName,
    /// Whether readers no longer see the project's notifications below this record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub history: bool,
    /// When the project was reset.
    pub at: Timestamp,
}

/// Why an entry could not be decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The kind byte is not known to this build.
    #[error("record kind {0} is not known to this version of hubd; install a newer one")]
    UnknownKind(u8),
    /// The payload does not match its kind.
    #[error("broken record of kind {kind}: {reason}")]
    Broken {
        /// The kind byte.
        kind: u8,
        /// The parser's error message.
        reason: String,
    },
}

impl Record {
    /// Encodes this record as the kind byte and payload of an entry.
    pub fn encode(&self) -> (u8, Bytes) {
        match self {
            Self::Notified(it) => (kinds::NOTIFIED, framed(&json(&it.route), &it.json)),
            Self::Settled(it) => (kinds::SETTLED, json(it).into()),
            Self::Seen(it) => (kinds::SEEN, json(it).into()),
            Self::InboxClosed(it) => (kinds::INBOX_CLOSED, json(it).into()),
            Self::KeyUsed(it) => (kinds::KEY_USED, json(it).into()),
            Self::ClockMoved(it) => (kinds::CLOCK_MOVED, json(it).into()),
            Self::Carried(it) => (
                kinds::CARRIED,
                framed(it.id.to_string().as_bytes(), &it.json),
            ),
            Self::Trimmed(it) => (kinds::TRIMMED, json(it).into()),
            Self::Reset(it) => (kinds::RESET, json(it).into()),
            Self::SessionSet(it) => (kinds::SESSION_SET, json(it).into()),
            Self::TurnNoted(it) => (kinds::TURN_NOTED, json(it).into()),
            Self::SessionGone(it) => (kinds::SESSION_GONE, json(it).into()),
            Self::PrimaryTaken(it) => (kinds::PRIMARY_TAKEN, json(it).into()),
            Self::ListenerSet(it) => (kinds::LISTENER_SET, json(it).into()),
            Self::ListenerRemoved(it) => (kinds::LISTENER_REMOVED, json(it).into()),
            Self::QuestionClaimed(it) => (kinds::QUESTION_CLAIMED, json(it).into()),
            Self::QuestionSettled(it) => (kinds::QUESTION_SETTLED, json(it).into()),
            Self::Emitted(it) => (kinds::EMITTED, json(it).into()),
            Self::Returned(it) => (kinds::RETURNED, json(it).into()),
            Self::Escalated(it) => (kinds::ESCALATED, json(it).into()),
            Self::PreferencesSet(it) => (kinds::PREFERENCES_SET, json(it).into()),
        }
    }

    /// Decodes an entry. Fails if the kind is unknown or the payload does not match it.
    pub fn decode(kind: u8, payload: &Bytes) -> Result<Self, DecodeError> {
        Ok(match kind {
            kinds::NOTIFIED => {
                let (route, json) = unframed(kind, payload)?;
                Self::Notified(Notified {
                    route: parse(kind, route)?,
                    json: payload.slice_ref(json),
                })
            }
            kinds::SETTLED => Self::Settled(parse(kind, payload)?),
            kinds::SEEN => Self::Seen(parse(kind, payload)?),
            kinds::INBOX_CLOSED => Self::InboxClosed(parse(kind, payload)?),
            kinds::KEY_USED => Self::KeyUsed(parse(kind, payload)?),
            kinds::CLOCK_MOVED => Self::ClockMoved(parse(kind, payload)?),
            kinds::CARRIED => {
                let (id, json) = unframed(kind, payload)?;
                Self::Carried(Carried {
                    id: parse(kind, id)?,
                    json: payload.slice_ref(json),
                })
            }
            kinds::TRIMMED => Self::Trimmed(parse(kind, payload)?),
            kinds::RESET => Self::Reset(parse(kind, payload)?),
            kinds::SESSION_SET => Self::SessionSet(parse(kind, payload)?),
            kinds::TURN_NOTED => Self::TurnNoted(parse(kind, payload)?),
            kinds::SESSION_GONE => Self::SessionGone(parse(kind, payload)?),
            kinds::PRIMARY_TAKEN => Self::PrimaryTaken(parse(kind, payload)?),
            kinds::LISTENER_SET => Self::ListenerSet(parse(kind, payload)?),
            kinds::LISTENER_REMOVED => Self::ListenerRemoved(parse(kind, payload)?),
            kinds::QUESTION_CLAIMED => Self::QuestionClaimed(parse(kind, payload)?),
            kinds::QUESTION_SETTLED => Self::QuestionSettled(parse(kind, payload)?),
            kinds::EMITTED => Self::Emitted(parse(kind, payload)?),
            kinds::RETURNED => Self::Returned(parse(kind, payload)?),
            kinds::ESCALATED => Self::Escalated(parse(kind, payload)?),
            kinds::PREFERENCES_SET => Self::PreferencesSet(parse(kind, payload)?),
            unknown => return Err(DecodeError::UnknownKind(unknown)),
        })
    }

    /// Returns the inboxes whose readers this record concerns.
    pub fn touches(&self) -> Box<dyn Iterator<Item = (&ProjectName, &InboxName)> + '_> {
        match self {
            Self::Notified(it) => Box::new(
                it.route
                    .targets
                    .iter()
                    .map(|target| (&it.route.project, &target.inbox)),
            ),
            Self::Settled(it) => Box::new(it.inbox.iter().map(|(project, inbox)| (project, inbox))),
            Self::InboxClosed(it) => Box::new(std::iter::once((&it.project, &it.inbox))),
            Self::Emitted(it) => Box::new(std::iter::once((&it.project, &it.inbox))),
            Self::Returned(it) => Box::new(std::iter::once((&it.project, &it.inbox))),
            _ => Box::new(std::iter::empty()),
        }
    }
}

/// Returns the notification's JSON in an entry's payload, or `None` if the kind carries none.
pub fn notification_json(kind: u8, payload: &[u8]) -> Option<&[u8]> {
    if kind != kinds::NOTIFIED && kind != kinds::CARRIED {
        return None;
    }
    unframed(kind, payload).ok().map(|(_, json)| json)
}

fn json<T: Serialize>(value: &T) -> Vec<u8> {
    // Records hold only strings, numbers and lists of them, so serde_json cannot fail.
    serde_json::to_vec(value).expect("a record is JSON")
}

fn parse<T: for<'de> Deserialize<'de>>(kind: u8, bytes: &[u8]) -> Result<T, DecodeError> {
    serde_json::from_slice(bytes).map_err(|error| DecodeError::Broken {
        kind,
        reason: error.to_string(),
    })
}

fn framed(head: &[u8], json: &[u8]) -> Bytes {
    let mut payload = BytesMut::with_capacity(4 + head.len() + json.len());
    payload.put_u32_le(u32::try_from(head.len()).expect("a head is far below 4 GiB"));
    payload.put_slice(head);
    payload.put_slice(json);
    payload.freeze()
}

fn unframed(kind: u8, payload: &[u8]) -> Result<(&[u8], &[u8]), DecodeError> {
    let broken = || DecodeError::Broken {
        kind,
        reason: "cut short".into(),
    };
    let (length, rest) = payload.split_first_chunk::<4>().ok_or_else(broken)?;
    let length = u32::from_le_bytes(*length) as usize;
    rest.split_at_checked(length).ok_or_else(broken)
}
