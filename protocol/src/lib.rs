//! Wire types of the hub: the JSON that `hubd` and `hubctl` exchange.
//!
//! Types have the names of `openapi.yaml`. All of them are plain data without I/O or a clock, except [`git`],
//! [`process`] and [`regular_file`]: both programs must resolve a directory to the same project, and know a process by the same
//! start and boot.
//! [`Quiet::apply`] reads the time zone database.

mod control;
mod conversation;
mod count;
mod cursor;
mod evidence;
mod framing;
pub mod git;
mod history;
mod hub;
mod inbox;
mod kind;
mod name;
mod named;
mod need;
mod notification;
mod null;
mod own_words;
mod phase;
mod preferences;
mod priority;
mod problem;
pub mod process;
mod question;
pub mod regular_file;
mod rule;
mod session;
mod span;
mod spool;
mod status;
mod text;
mod timestamp;
mod wait;
mod why;

pub use control::{
    Answer, AnswerPost, Choice, Chosen, Control, Decision, Edit, Field, FieldChoice, FieldKind,
    FileChange, Offer, RequestPart, ToolRequest,
};
pub use conversation::{Conversation, ConversationEntry, EntryKind, GivenAnswer};
pub use count::Counted;
pub use cursor::{Cursor, Epoch, ParseCursorError, Seq};
pub use evidence::Evidence;
pub use framing::{Frame, Framed, answer_in_refusal, denial, telling};
pub use history::{
    HistoryMarks, HistoryPage, NotificationId, SeenReply, SeenRequest, Status, Step, Trace,
    Withdrawn,
};
pub use hub::{
    About, ClusterInfo, Device, Devices, ForwardInfo, Hello, NodeInfo, PhoneAccess, PhonePairing,
    Ready, ResetEvent, SignInCode, Takeover,
};
pub use inbox::{Dropped, Holder, InboxInfo, InboxTouched, Inboxes};
pub use kind::{Kind, SessionState, UnknownKind};
pub use name::{InboxName, InvalidName, ProjectName, is_unprintable, looks_reserved};
pub use need::{Need, NeedKind, Needs, Quick, Resume, Settled, Snooze, Whole};
pub use notification::{CUT_MARK, MAX_ITEM_BYTES, Notification, Post, Published, PublishedBatch};
pub use own_words::{OwnWords, Quoted, Said};
pub use phase::{Phase, PhaseName, ToolCall};
pub use preferences::{
    Alert, InvalidTimeOfDay, Mute, Preferences, Quiet, TimeOfDay, UnknownZone, Zone,
};
pub use priority::{Priority, UnknownPriority};
pub use problem::Problem;
pub use process::Process;
pub use question::{
    AnswerDelivery, ByPost, Place, Question, QuestionState, Questions, Verdict, verdict,
};
pub use rule::{RuleInfo, RuleList, RuleMatch};
pub use session::{
    Listener, Listening, Session, SessionInfo, Sessions, ShownPane, Source, Unlistened, Wake,
};
pub use span::Span;
pub use spool::{
    InvalidSpoolKey, Listed, ListingError, MAX_ENTRIES, MAX_LISTING_BYTES, SpoolError, SpoolItem,
    SpoolKey, SpoolListing, Spooled, SpooledHook,
};
pub use status::{StatusError, StatusLine};
pub use text::{
    escaped, first_bytes, first_chars, for_model, is_hidden, one_line, reveal, single_spaced,
    visible, with_ellipsis,
};
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use wait::{
    AckRequest, Acked, BarrierReport, WAKE_FILE, WAKE_MARK, WAKE_TEST_KEY, WaitReply, Way, WhyWoken,
};
pub use why::{FailedWay, Reason, Why, WhyDetail, WhyItem};
