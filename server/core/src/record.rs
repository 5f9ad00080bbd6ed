//! Records: the facts in the log, and how each is encoded as an entry.
//!
//! An entry is a kind byte and a payload. The payload is JSON, so `hubd export` can print it and fields can be added.
//! Only a notification differs: `[u32 LE length of route][route JSON][notification JSON]`. So readers get the
//! notification's immutable bytes without parsing, and the fold parses only the route.

use bytes::{BufMut, Bytes, BytesMut};
use hub_protocol::{InboxName, Preferences, ProjectName, Seq, Timestamp};
use serde::{Deserialize, Serialize};

mod concerned;
mod delivery;
mod forward;
mod notification;
mod question;
mod rule;
mod session;

pub use delivery::{Emitted, Escalated, Returned, SettleReason, Settled};
pub use forward::ForwardNoted;
pub use hub_agents::TurnCause;
pub use notification::{Notified, Rewritten, Route, Target};
pub use question::{QuestionClaimed, QuestionSettled};
pub use rule::{RuleAction, RuleFired, RuleNote, RuleNoted};

pub use session::{
    ListenerEnd, ListenerRemoved, ListenerSet, NeedClosed, PrimaryTaken, SessionEnded, SessionSet,
    Turn, TurnNoted,
};

/// Defines [`Record`], the kind byte of each variant, and the stored forms. Kind bytes of format 1: sessions start at 16,
/// listeners at 32, questions at 48, deliveries at 64, preferences at 80, forwards at 96, rules at 97.
macro_rules! records {
    (
        framed { $($(#[$framed_doc:meta])* $FRAMED:ident = $framed_kind:literal => $Framed:ident,)* }
        json { $($(#[$json_doc:meta])* $JSON:ident = $json_kind:literal => $Json:ident,)* }
    ) => {
        /// One fact in the log.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(clippy::large_enum_variant)] // a commit has few records, and none is kept
        pub enum Record {
            $($(#[$framed_doc])* $Framed($Framed),)*
            $($(#[$json_doc])* $Json($Json),)*
        }

        /// The kind bytes of entry format 1.
        pub mod kinds {
            $(#[doc = concat!("[`super::Record::", stringify!($Framed), "`].")] pub const $FRAMED: u8 = $framed_kind;)*
            $(#[doc = concat!("[`super::Record::", stringify!($Json), "`].")] pub const $JSON: u8 = $json_kind;)*
        }

        impl Record {
            /// Encodes this record as the kind byte and payload of an entry.
            pub fn encode(&self) -> (u8, Bytes) {
                match self {
                    $(Self::$Framed(it) => (kinds::$FRAMED, it.encode()),)*
                    $(Self::$Json(it) => (kinds::$JSON, json(it).into()),)*
                }
            }

            /// Whether this version knows entries of this kind.
            pub fn is_known(kind: u8) -> bool {
                matches!(kind, $(kinds::$FRAMED)|* | $(kinds::$JSON)|*)
            }

            /// Decodes an entry. Fails if the kind is unknown or the payload does not match it.
            pub fn decode(kind: u8, payload: &Bytes) -> Result<Self, DecodeError> {
                Ok(match kind {
                    $(kinds::$FRAMED => Self::$Framed($Framed::decode(payload)?),)*
                    $(kinds::$JSON => Self::$Json(parse(kind, payload)?),)*
                    unknown => return Err(DecodeError::UnknownKind(unknown)),
                })
            }

            /// Returns the record's time: for a notification, when it was sent. `None` for a rewritten notification,
            /// because it is only a copy of an older one.
            pub fn at(&self) -> Option<Timestamp> {
                match self {
                    Self::Notified(it) => Some(it.route.ts),
                    Self::Rewritten(_) => None,
                    $(Self::$Json(it) => Some(it.at),)*
                }
            }
        }
    };
}

records! {
    framed {
        /// A notification was stored.
        NOTIFIED = 1 => Notified,
        /// A pending notification was written again, because retention drops its block.
        REWRITTEN = 7 => Rewritten,
    }
    json {
        /// Notifications stopped being pending.
        SETTLED = 2 => Settled,
        /// The person marked notifications as seen or unseen.
        SEEN = 3 => Seen,
        /// An inbox was removed.
        INBOX_CLOSED = 4 => InboxClosed,
        /// An Idempotency-Key was used.
        KEY_USED = 5 => KeyUsed,
        /// The wall clock jumped against the boot clock.
        CLOCK_MOVED = 6 => ClockMoved,
        /// Retention dropped a prefix of the log.
        TRIMMED = 8 => Trimmed,
        /// A project's inboxes were emptied.
        RESET = 9 => Reset,
        /// A hub became the active one of its cluster.
        LED = 10 => Led,
        /// A session began or resumed, or its properties changed.
        SESSION_SET = 16 => SessionSet,
        /// A hook event changed the state of a session's turn.
        TURN_NOTED = 17 => TurnNoted,
        /// A session's process exited.
        SESSION_ENDED = 18 => SessionEnded,
        /// A session became its project's primary.
        PRIMARY_TAKEN = 19 => PrimaryTaken,
        /// The person closed what a session needs of them.
        NEED_CLOSED = 20 => NeedClosed,
        /// A session listens for another session's next stop.
        LISTENER_SET = 32 => ListenerSet,
        /// A listener was removed.
        LISTENER_REMOVED = 33 => ListenerRemoved,
        /// An answerer claimed a question.
        QUESTION_CLAIMED = 48 => QuestionClaimed,
        /// A question was answered, withdrawn, superseded, or it expired.
        QUESTION_SETTLED = 49 => QuestionSettled,
        /// A session's reader has shown notifications.
        EMITTED = 64 => Emitted,
        /// Shown notifications are offered again, because no hook event proved their delivery.
        RETURNED = 65 => Returned,
        /// The person was notified of undeliverable notifications.
        ESCALATED = 66 => Escalated,
        /// The person replaced the preferences.
        PREFERENCES_SET = 80 => PreferencesSet,
        /// A forward has passed notifications on.
        FORWARD_NOTED = 96 => ForwardNoted,
        /// A rule fired.
        RULE_FIRED = 97 => RuleFired,
        /// A rule began, its program started, or its escalation is over.
        RULE_NOTED = 98 => RuleNoted,
    }
}

/// The person's mark on notifications: seen or unseen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The notifications, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<Seq>,
    /// Every notification up to and including this one is marked too. New records have `ranges` instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Seq>,
    /// The notifications in these ranges are marked too: the first and last number of each, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<(Seq, Seq)>,
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

/// A prefix of the log that retention dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trimmed {
    /// The first number that the log keeps.
    pub below: Seq,
    /// When the prefix was dropped.
    pub at: Timestamp,
}

/// A hub that became the active one of its cluster. The record's number is the term of its lead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Led {
    /// The hub's node name.
    pub node: String,
    /// When it became active, by its own clock.
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

/// The person's complete preferences, valid from this record on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreferencesSet {
    /// The new preferences.
    pub preferences: Preferences,
    /// When the person changed them.
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
    /// Whether it stores a notification.
    pub fn is_notification(&self) -> bool {
        matches!(self, Self::Notified(_))
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
            Self::Seen(_)
            | Self::KeyUsed(_)
            | Self::ClockMoved(_)
            | Self::Rewritten(_)
            | Self::Trimmed(_)
            | Self::Reset(_)
            | Self::Led(_)
            | Self::SessionSet(_)
            | Self::TurnNoted(_)
            | Self::SessionEnded(_)
            | Self::PrimaryTaken(_)
            | Self::NeedClosed(_)
            | Self::ListenerSet(_)
            | Self::ListenerRemoved(_)
            | Self::QuestionClaimed(_)
            | Self::QuestionSettled(_)
            | Self::Escalated(_)
            | Self::PreferencesSet(_)
            | Self::ForwardNoted(_)
            | Self::RuleFired(_)
            | Self::RuleNoted(_) => Box::new(std::iter::empty()),
        }
    }
}

/// Returns the notification's JSON in an entry's payload, or `None` if the kind carries none.
pub fn notification_json(kind: u8, payload: &[u8]) -> Option<&[u8]> {
    if kind != kinds::NOTIFIED && kind != kinds::REWRITTEN {
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
