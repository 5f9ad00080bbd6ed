//! Records: the facts in the log, and their form in an entry.
//!
//! An entry is a kind byte and a payload. The payload is JSON, so that `hubd export` shows it and fields can be added;
//! only a notification differs: `[u32 LE length of route][route JSON][notification JSON]`, so that readers get the
//! notification's immutable bytes without parsing and the fold never parses the notification.

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

/// One fact.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// Somebody said something.
    Notified(Notified),
    /// Notifications stopped being pending.
    Settled(Settled),
    /// The person marked notifications.
    Seen(Seen),
    /// An inbox was removed.
    InboxClosed(InboxClosed),
    /// An Idempotency-Key was used.
    KeyUsed(KeyUsed),
    /// The wall clock jumped.
    ClockMoved(ClockMoved),
    /// A pending notification whose block is about to be dropped, written again.
    Carried(Carried),
    /// Everything below this is no longer in the log.
    Trimmed(Trimmed),
    /// A project was emptied.
    Reset(Reset),
    /// Something is newly known of a session.
    SessionSet(SessionSet),
    /// A hook told of a session's turn.
    TurnNoted(TurnNoted),
    /// A session's process is gone.
    SessionGone(SessionGone),
    /// A session became its project's primary.
    PrimaryTaken(PrimaryTaken),
    /// A session wants to hear of another.
    ListenerSet(ListenerSet),
    /// A listener is no more.
    ListenerRemoved(ListenerRemoved),
    /// Somebody is on a question.
    QuestionClaimed(QuestionClaimed),
    /// A question is settled.
    QuestionSettled(QuestionSettled),
    /// A session's reader has shown notifications.
    Emitted(Emitted),
    /// Nothing proved that they arrived.
    Returned(Returned),
    /// The person was told of it.
    Escalated(Escalated),
    /// The person wants something else.
    PreferencesSet(PreferencesSet),
}

/// A notification and where it went.
#[derive(Debug, Clone, PartialEq)]
pub struct Notified {
    /// What the fold needs to know of it.
    pub route: Route,
    /// The notification's immutable JSON object, one line.
    pub json: Bytes,
}

/// Notifications that stopped being pending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The notifications, ascending.
    pub ids: Vec<Seq>,
    /// In this inbox; everywhere they are pending when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inbox: Option<(ProjectName, InboxName)>,
    /// Why.
    pub how: How,
    /// The waiter or the notification that did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// Why a notification is no longer pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Its reader has it.
    Acked,
    /// Its time was over.
    Expired,
    /// The log reached its byte cap.
    Evicted,
    /// A newer one with the same key took its place.
    Superseded,
    /// It was taken back.
    Withdrawn,
    /// Its inbox was closed, or its project reset.
    Dropped,
    /// The question was answered before some reader had it.
    Answered,
}

impl How {
    /// The name on the wire.
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

/// The person's mark on notifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The notifications, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<Seq>,
    /// And every one up to this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Seq>,
    /// Seen, or unseen again.
    pub seen: bool,
    /// When.
    pub at: Timestamp,
}

/// An inbox that was removed; what was pending there is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxClosed {
    /// The project.
    pub project: ProjectName,
    /// The inbox.
    pub inbox: InboxName,
    /// When.
    pub at: Timestamp,
}

/// A request that must not be done twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyUsed {
    /// The Idempotency-Key.
    pub key: String,
    /// SHA-256 of the request, in hexadecimal.
    pub digest: String,
    /// What it made.
    pub ids: Vec<Seq>,
    /// When.
    pub at: Timestamp,
}

/// A jump of the wall clock against the boot clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockMoved {
    /// How far, in milliseconds; pending deadlines move by as much.
    pub delta_ms: i64,
    /// The time after the jump.
    pub at: Timestamp,
}

/// A pending notification, written again so that its old place can be dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    /// Its number, which stays.
    pub id: Seq,
    /// Its immutable JSON.
    pub json: Bytes,
}

/// A prefix that retention dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trimmed {
    /// The first number that is kept.
    pub below: Seq,
    /// When.
    pub at: Timestamp,
}

/// A project whose inboxes were emptied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reset {
    /// The project.
    pub project: ProjectName,
    /// What was said in it before this record is not shown any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub history: bool,
    /// When.
    pub at: Timestamp,
}

/// Why an entry is no record.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// A kind that this build does not know.
    #[error("record kind {0} is not known to this version of hubd; install a newer one")]
    UnknownKind(u8),
    /// A payload that is not what its kind says.
    #[error("broken record of kind {kind}: {reason}")]
    Broken {
        /// The kind byte.
        kind: u8,
        /// What is wrong.
        reason: String,
    },
}

impl Record {
    /// The kind byte and payload of this record's entry.
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

    /// Reads an entry back.
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

    /// The inboxes whose readers this concerns.
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

/// The notification's JSON in an entry's payload; `None` where the kind carries none.
pub fn notification_json(kind: u8, payload: &[u8]) -> Option<&[u8]> {
    if kind != kinds::NOTIFIED && kind != kinds::CARRIED {
        return None;
    }
    unframed(kind, payload).ok().map(|(_, json)| json)
}

fn json<T: Serialize>(value: &T) -> Vec<u8> {
    // Records hold only strings, numbers and lists of them: there is no value that serde_json refuses.
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
