//! The memory of one status file, and the decision whether its line is news.

use std::time::{Duration, Instant};

use hub_protocol::{Kind, SessionState, StatusLine, Timestamp};

use super::directory::Stamp;

/// How long a first line without a line feed must stay unchanged before it counts: `printf` and `echo -n` write none.
const QUIET: Duration = Duration::from_millis(500);

/// Resolution of a file system's clock in milliseconds. Two writes within it may have the same stamp, and the clock of
/// a process may differ by it.
pub(super) const GRAIN_MS: i64 = 50;

/// The log's knowledge of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// Its last state.
    pub state: Option<SessionState>,
    /// When it reported that state.
    pub said: Option<Timestamp>,
    /// When it last reported to be working.
    pub worked: Option<Timestamp>,
    /// The line of its last state, if that came from a status file.
    pub line: Option<StatusLine>,
    /// When it ended.
    pub over: Option<Timestamp>,
    /// When it began, if it is registered; the start of its process, if that was earlier.
    pub begun: Option<Timestamp>,
}

#[derive(Debug)]
struct Last {
    line: StatusLine,
    stamp: Option<Stamp>,
    /// When it was submitted, or written if it was not news.
    at: Timestamp,
}

/// The memory of one file.
#[derive(Debug)]
pub(super) struct Seen {
    /// The stamp of the last write that was read, and when the bridge first saw it.
    stamp: Option<(Stamp, Instant)>,
    /// Whether this write needs no further processing.
    settled: bool,
    /// Whether the file existed before the first scan.
    old: bool,
    /// The last line that was submitted or was not news.
    last: Option<Last>,
    complaint: Option<String>,
}

impl Seen {
    /// A file that was not read yet; `old` if it existed before the first scan.
    pub(super) fn new(old: bool) -> Self {
        Self {
            stamp: None,
            settled: false,
            old,
            last: None,
            complaint: None,
        }
    }

    /// Whether the write with this stamp has been processed.
    pub(super) fn knows(&self, stamp: &Stamp) -> bool {
        self.settled && self.stamp.is_some_and(|(known, _)| known == *stamp)
    }

    /// Records the write that is about to be read.
    pub(super) fn note(&mut self, stamp: Stamp) {
        if self.stamp.is_none_or(|(known, _)| known != stamp) {
            self.old &= self.stamp.is_none();
            self.stamp = Some((stamp, Instant::now()));
            self.settled = false;
        }
    }

    /// Whether the content is probably complete: its first line has ended, or the file has not changed for a while.
    pub(super) fn is_quiet(&self, content: &[u8]) -> bool {
        let still = self
            .stamp
            .is_some_and(|(_, since)| since.elapsed() >= QUIET);
        StatusLine::is_finished(content) || still
    }

    /// Whether `line` is news. The same line counts again once the session has worked since.
    pub(super) fn is_news(&self, line: &StatusLine, facts: &Facts) -> bool {
        if self.old && (facts.said >= self.written() || facts.line.as_ref() == Some(line)) {
            // The log has this line, or a newer state.
            return false;
        }
        if facts.over.is_some() && facts.over >= self.written() {
            // The session ended after this write, and a line of an ended session does not count.
            return false;
        }
        match &self.last {
            None => true,
            Some(last) if last.line != *line => true,
            Some(last) if last.stamp == self.stamp() => false,
            Some(_) if line.kind == Kind::Progress => facts.state != Some(SessionState::Working),
            Some(last) => facts.worked >= Some(last.at),
        }
    }

    /// Records that this line was submitted at `at`, or was not news if `at` is `None`.
    pub(super) fn settle(&mut self, line: StatusLine, at: Option<Timestamp>) {
        let before = self.last.take().filter(|last| last.line == line);
        let at = at.or(before.map(|last| last.at)).or(self.written());
        self.last = Some(Last {
            line,
            stamp: self.stamp(),
            at: at.unwrap_or_default(),
        });
        self.complaint = None;
        self.rest();
    }

    fn stamp(&self) -> Option<Stamp> {
        self.stamp.map(|(stamp, _)| stamp)
    }

    fn written(&self) -> Option<Timestamp> {
        self.stamp().map(|stamp| stamp.written())
    }

    /// Marks this write as processed.
    pub(super) fn rest(&mut self) {
        // Not if the write is very recent: a later write within the clock's resolution would have the same stamp.
        let written = self.written().unwrap_or_default().as_millis();
        let age = Timestamp::now().as_millis() - written;
        self.settled = !(0..GRAIN_MS).contains(&age);
    }

    /// Whether this write has been processed, so that no further scan is needed.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Logs why the file is ignored. The same reason is logged once.
    pub(super) fn complain(&mut self, path: &std::path::Path, why: &impl std::fmt::Display) {
        let why = why.to_string();
        if self.complaint.as_ref() != Some(&why) {
            tracing::warn!(file = %path.display(), why, "a status file is ignored");
            self.complaint = Some(why);
        }
    }
}
