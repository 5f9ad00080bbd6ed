//! What was seen of one status file, and whether what it says now is news.

use std::time::{Duration, Instant};

use hub_protocol::{Kind, SessionState, StatusLine, Timestamp};

use super::directory::Stamp;

/// How long a first line without an end must lie still before it counts: `printf` and `echo -n` write no end.
const QUIET: Duration = Duration::from_millis(500);

/// Two writes within the grain of a file system's clock can look like one.
const GRAIN_MS: i64 = 50;

/// What the hub knows of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// Its last state.
    pub state: Option<SessionState>,
    /// When it said that.
    pub said: Option<Timestamp>,
    /// When it last said that it works.
    pub worked: Option<Timestamp>,
    /// What it said last, if it was by a status file.
    pub line: Option<StatusLine>,
}

#[derive(Debug)]
struct Last {
    line: StatusLine,
    stamp: Option<Stamp>,
    /// When it was told, or written.
    at: Timestamp,
}

/// One file.
#[derive(Debug)]
pub(super) struct Seen {
    /// The write that was read last, and since when.
    stamp: Option<(Stamp, Instant)>,
    /// Nothing is to be done about that write any more.
    settled: bool,
    /// It was there before the hub looked for the first time.
    old: bool,
    /// The last line that was told, or was old.
    last: Option<Last>,
    complaint: Option<String>,
}

impl Seen {
    /// Nothing yet; `old` if the file was there before the hub looked for the first time.
    pub(super) fn new(old: bool) -> Self {
        Self {
            stamp: None,
            settled: false,
            old,
            last: None,
            complaint: None,
        }
    }

    /// Whether a file with this stamp needs no look.
    pub(super) fn knows(&self, stamp: &Stamp) -> bool {
        self.settled && self.stamp.is_some_and(|(known, _)| known == *stamp)
    }

    /// Takes note of the write that is about to be read.
    pub(super) fn note(&mut self, stamp: Stamp) {
        if self.stamp.is_none_or(|(known, _)| known != stamp) {
            self.old &= self.stamp.is_none();
            self.stamp = Some((stamp, Instant::now()));
            self.settled = false;
        }
    }

    /// Whether nobody is writing this content any more, as far as one can tell.
    pub(super) fn is_quiet(&self, content: &[u8]) -> bool {
        let still = self
            .stamp
            .is_some_and(|(_, since)| since.elapsed() >= QUIET);
        StatusLine::is_finished(content) || still
    }

    /// Whether `line` is news. A line counts again once the session has worked since.
    pub(super) fn is_news(&self, line: &StatusLine, facts: &Facts) -> bool {
        if self.old && (facts.said >= self.written() || facts.line.as_ref() == Some(line)) {
            // The log has it, or something newer.
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

    /// This line was told at `at`; without `at`, it was no news.
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

    /// There is nothing to be told about this write.
    pub(super) fn rest(&mut self) {
        // A later write may have the same stamp as long as the clock of the file system stands still.
        let written = self.written().unwrap_or_default().as_millis();
        let age = Timestamp::now().as_millis() - written;
        self.settled = !(0..GRAIN_MS).contains(&age);
    }

    /// Whether there is another look to come at this write.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Logs why the file is ignored, once.
    pub(super) fn complain(&mut self, path: &std::path::Path, why: &impl std::fmt::Display) {
        let why = why.to_string();
        if self.complaint.as_ref() != Some(&why) {
            tracing::warn!(file = %path.display(), why, "a status file is ignored");
            self.complaint = Some(why);
        }
    }
}
