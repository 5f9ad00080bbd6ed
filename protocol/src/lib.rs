//! Wire types of the hub: what `hubd` and `hubctl` say to each other as JSON.
//!
//! Names here are the names of `openapi.yaml`. Everything is plain data: no I/O, no clock.

mod cursor;
mod framing;
mod inbox;
mod kind;
mod name;
mod notification;
mod preferences;
mod priority;
mod problem;
mod question;
mod session;
mod spool;
mod status;
mod text;
mod timestamp;
mod wait;

pub use cursor::{Cursor, Epoch, ParseCursorError, Seq};
pub use framing::Framed;
pub use inbox::{Holder, InboxInfo, InboxTouched};
pub use kind::{Kind, SessionState, UnknownKind};
pub use name::{InboxName, InvalidName, ProjectName, is_unprintable};
pub use notification::{MAX_ITEM_BYTES, Notification, Post, Published, PublishedBatch};
pub use preferences::{InvalidTimeOfDay, Mute, Preferences, Quiet, TimeOfDay, UnknownZone, Zone};
pub use priority::{Priority, UnknownPriority};
pub use problem::Problem;
pub use question::{AnswerPost, ByPost, Place, Question, QuestionState};
pub use session::{Listener, Listening, Process, Session, SessionInfo, Source, Unlistened, Wake};
pub use spool::{SpoolError, SpoolItem, Spooled, SpooledHook};
pub use status::{StatusError, StatusLine};
pub use text::for_model;
pub use timestamp::Timestamp;
pub use wait::{Acked, BarrierReport, WaitReply, Way, WhyWoken};
