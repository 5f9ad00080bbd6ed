//! Decides which changes a session file reports that no hook has reported.
//!
//! Which one is newer: the hub's state is as old as its report ([`KnownSession::since`]), a file's status as old as its
//! `statusUpdatedAt`.
//!
//! - A status newer than the hub's state counts. Claude Code runs the hooks of a turn's end before it changes the file,
//!   so nothing that a hook will still report is taken from the file.
//! - An older status, or one of the future, does not count: the hooks win. But if the file says `idle` or `waiting` for
//!   [`OLDER_DELAY`], without a report of a hook in between, it counts: it was only written late.
//! - A prompt that follows a turn at once may be reported before the file says that the turn has ended, so `idle` counts after
//!   [`IDLE_DELAY`].
//! - A dialog is shown while its hook still runs, so a new one counts after [`DIALOG_DELAY`].
//! - The writer thread ignores the event if the session's state was reported again since the bridge read it.

use std::time::{Duration, Instant};

use hub_core::command::AgentEvent;
use hub_core::fold::SessionKey;
use hub_protocol::{Process, Seq, Timestamp};
use serde_json::json;

use super::session_file::{SessionFile, Status};

/// An older status is believed after this delay, because the file may be written late.
pub(super) const OLDER_DELAY: Duration = Duration::from_secs(2);

/// A turn without a report of its end is believed to be over after this delay: the file may still say what was before it.
pub(super) const IDLE_DELAY: Duration = Duration::from_millis(200);

/// A dialog without a report of a hook is believed after this delay.
pub(super) const DIALOG_DELAY: Duration = Duration::from_secs(1);

/// A session as the hub knows it from its hooks.
#[derive(Debug, Clone)]
pub(super) struct KnownSession {
    pub(super) key: SessionKey,
    pub(super) process: Process,
    /// The record that reported its state, and when the state, or its dialog, began.
    pub(super) seq: Seq,
    pub(super) since: Timestamp,
    /// Whether it is in a turn.
    pub(super) in_turn: bool,
    /// Whether its state says that it needs a person.
    pub(super) blocked: bool,
    /// For a form that shows a question of the hub: when that was settled, or the end of time.
    pub(super) form_until: Option<Timestamp>,
    /// The start of its dialog.
    pub(super) dialog: Option<Timestamp>,
}

impl KnownSession {
    /// Whether it may change without a hook: in a turn or a dialog, which Escape may end.
    pub(super) fn is_active(&self) -> bool {
        self.in_turn || self.dialog.is_some()
    }
}

/// A status that differs from the hub's state, and when the bridge first read it beside this state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Difference {
    status: Status,
    seq: Seq,
    since: Timestamp,
    pub(super) noticed: Instant,
}

/// Returns the event that the file implies and no hook has reported: an interruption, a dialog that was answered, or a
/// dialog. `difference` is kept from call to call.
pub(super) fn unreported_event(
    session: &KnownSession,
    file: &SessionFile,
    now: Timestamp,
    difference: &mut Option<Difference>,
) -> Option<AgentEvent> {
    let event = match file.status {
        Status::Idle if session.is_active() => Some(AgentEvent::Interrupted),
        Status::Busy if session.dialog.is_some() => Some(AgentEvent::Worked),
        Status::Waiting if session.dialog.is_none() && !session.blocked => dialog(session, file),
        Status::Idle | Status::Busy | Status::Waiting | Status::Unknown => None,
    };
    let Some(event) = event else {
        *difference = None;
        return None;
    };
    let same = |it: &Difference| {
        (it.status, it.seq, it.since) == (file.status, session.seq, session.since)
    };
    let known = difference.filter(same).unwrap_or(Difference {
        status: file.status,
        seq: session.seq,
        since: session.since,
        noticed: Instant::now(),
    });
    *difference = Some(known);
    let updated = Timestamp::from_millis(file.status_updated_at);
    let newer = updated > session.since && updated <= now;
    let delay = match (file.status, newer) {
        (Status::Waiting, true) => DIALOG_DELAY,
        (Status::Idle, true) => IDLE_DELAY,
        (_, true) => Duration::ZERO,
        (Status::Idle | Status::Waiting, false) => OLDER_DELAY,
        (Status::Busy | Status::Unknown, false) => return None,
    };
    (known.noticed.elapsed() >= delay).then_some(event)
}

/// The event of a dialog that no hook has reported. A file's own words are not passed on.
fn dialog(session: &KnownSession, file: &SessionFile) -> Option<AgentEvent> {
    let asks = |text: &str, waiting_for: &str| AgentEvent::Asks {
        text: text.into(),
        options: Vec::new(),
        data: json!({ "waiting_for": waiting_for }),
    };
    let began = Timestamp::from_millis(file.status_updated_at);
    if session.form_until.is_some_and(|until| began <= until) {
        return None;
    }
    match file.waiting_for.as_deref()? {
        "permission prompt" | "sandbox request" | "worker request" | "goal proposal" => {
            Some(AgentEvent::Permission {
                text: String::new(),
                data: None,
            })
        }
        it @ "input needed" => Some(asks("its terminal shows a question", it)),
        // Outside of a turn, the person has opened it.
        it @ "dialog open" if session.in_turn => Some(asks("its terminal shows a dialog", it)),
        _ => None,
    }
}
