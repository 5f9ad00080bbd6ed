//! How a forward is doing, for `GET /hub`. It starts anew with the process; the position in the log is a record.

use std::sync::Mutex;

use hub_core::sync::lock;
use hub_protocol::{ForwardInfo, Seq, Timestamp, one_line};

/// The counts and the last error of a forward.
#[derive(Debug, Default)]
pub(super) struct ForwardProgress(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    up_to: Seq,
    sent: u64,
    refused: u64,
    sent_at: Option<Timestamp>,
    failed_at: Option<Timestamp>,
    error: Option<String>,
    /// Why the answers of its buttons cannot be read.
    answers_error: Option<String>,
}

impl ForwardProgress {
    /// Notes the last record that the forward is done with.
    pub(super) fn reached(&self, up_to: Seq) {
        lock(&self.0).up_to = up_to;
    }

    /// Notes that the target has accepted a notification.
    pub(super) fn accepted(&self) {
        let mut counts = lock(&self.0);
        counts.sent += 1;
        counts.sent_at = Some(Timestamp::now());
        counts.error = None;
    }

    /// Notes that the target has refused a notification for good.
    pub(super) fn refused(&self, why: &str) {
        self.failed(why);
        lock(&self.0).refused += 1;
    }

    /// Notes a failed attempt. Returns whether the one before was not a failure.
    pub(super) fn failed(&self, why: &str) -> bool {
        let mut counts = lock(&self.0);
        counts.failed_at = Some(Timestamp::now());
        counts.error.replace(one_line(why).into_owned()).is_none()
    }

    /// Notes whether answers can be read: `None`, or why not. Returns whether this has changed.
    pub(super) fn answers(&self, error: Option<&str>) -> bool {
        let mut counts = lock(&self.0);
        let error = error.map(|why| one_line(why).into_owned());
        let changed = counts.answers_error.is_some() != error.is_some();
        counts.answers_error = error;
        changed
    }

    /// Describes the forward `name` with a target of this kind, while the log ends at `head`.
    pub(super) fn info(&self, name: &str, kind: &str, head: Seq) -> ForwardInfo {
        let counts = lock(&self.0);
        let answers = counts.answers_error.as_ref();
        let answers = answers.map(|error| format!("its buttons do not work: {error}"));
        ForwardInfo {
            name: name.into(),
            kind: kind.into(),
            behind: head.saturating_sub(counts.up_to),
            sent: counts.sent,
            refused: counts.refused,
            sent_at: counts.sent_at,
            failed_at: counts.failed_at,
            error: counts.error.clone().or(answers),
        }
    }
}
