//! Kind bytes of entry format 1. Sessions start at 16, listeners at 32, questions at 48, receipts at 64, and the
//! person's preferences at 80.

/// [`super::Record::Notified`].
pub const NOTIFIED: u8 = 1;
/// [`super::Record::Settled`].
pub const SETTLED: u8 = 2;
/// [`super::Record::Seen`].
pub const SEEN: u8 = 3;
/// [`super::Record::InboxClosed`].
pub const INBOX_CLOSED: u8 = 4;
/// [`super::Record::KeyUsed`].
pub const KEY_USED: u8 = 5;
/// [`super::Record::ClockMoved`].
pub const CLOCK_MOVED: u8 = 6;
/// [`super::Record::Carried`].
pub const CARRIED: u8 = 7;
/// [`super::Record::Trimmed`].
pub const TRIMMED: u8 = 8;
/// [`super::Record::Reset`].
pub const RESET: u8 = 9;
/// [`super::Record::SessionSet`].
pub const SESSION_SET: u8 = 16;
/// [`super::Record::TurnNoted`].
pub const TURN_NOTED: u8 = 17;
/// [`super::Record::SessionGone`].
pub const SESSION_GONE: u8 = 18;
/// [`super::Record::PrimaryTaken`].
pub const PRIMARY_TAKEN: u8 = 19;
/// [`super::Record::ListenerSet`].
pub const LISTENER_SET: u8 = 32;
/// [`super::Record::ListenerRemoved`].
pub const LISTENER_REMOVED: u8 = 33;
/// [`super::Record::QuestionClaimed`].
pub const QUESTION_CLAIMED: u8 = 48;
/// [`super::Record::QuestionSettled`].
pub const QUESTION_SETTLED: u8 = 49;
/// [`super::Record::Emitted`].
pub const EMITTED: u8 = 64;
/// [`super::Record::Returned`].
pub const RETURNED: u8 = 65;
/// [`super::Record::Escalated`].
pub const ESCALATED: u8 = 66;
/// [`super::Record::PreferencesSet`].
pub const PREFERENCES_SET: u8 = 80;
