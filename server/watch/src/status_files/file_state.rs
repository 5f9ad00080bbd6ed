//! The state of one status file, and the decision whether its line is new.

use std::fmt::Display;
use std::path::Path;
use std::time::{Duration, Instant};

use hub_protocol::{Kind, SessionState, StatusLine, Timestamp};

use super::scanner::warn_once;
use super::{DEBOUNCE, SCAN_INTERVAL};
use crate::untrusted_dir::FileVersion;

/// How long a first line without a line feed must stay unchanged before it counts: `printf` and `echo -n` write none.
const QUIET: Duration = Duration::from_millis(500);

/// Resolution of a file system's clock in milliseconds. Two writes within it may have the same version, and the clock of
/// a process may differ by it.
pub(super) const CLOCK_RESOLUTION_MS: i64 = 50;

/// The log's knowledge of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionFacts {
    /// Its last state.
    pub state: Option<SessionState>,
    /// When it reported that state.
    pub state_at: Option<Timestamp>,
    /// When it last reported to be working.
    pub worked_at: Option<Timestamp>,
    /// The line of its last state, if that came from a status file.
    pub line: Option<StatusLine>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// When it began, if it is registered; the start of its process, if that was earlier.
    pub started_at: Option<Timestamp>,
}

#[derive(Debug)]
struct LastLine {
    line: StatusLine,
    version: Option<FileVersion>,
    /// When it was submitted, or written if it was not new.
    at: Timestamp,
}

/// The state of one file.
#[derive(Debug)]
pub(super) struct FileState {
    /// The last version that was read, and when the bridge first saw it.
    version: Option<(FileVersion, Instant)>,
    /// Whether this version needs no further processing.
    processed: bool,
    /// Whether the file existed before the first scan.
    old: bool,
    /// The last line that was submitted or was not new.
    last: Option<LastLine>,
    warned: Option<String>,
}

impl FileState {
    /// A file that was not read yet; `old` if it existed before the first scan.
    pub(super) fn new(old: bool) -> Self {
        Self {
            version: None,
            processed: false,
            old,
            last: None,
            warned: None,
        }
    }

    /// Whether this version has been processed.
    pub(super) fn has_processed(&self, version: &FileVersion) -> bool {
        self.processed && self.version().as_ref() == Some(version)
    }

    /// Records the version that has been read.
    pub(super) fn observe(&mut self, version: FileVersion) {
        if self.version() != Some(version) {
            self.old &= self.version.is_none();
            self.version = Some((version, Instant::now()));
            self.processed = false;
        }
    }

    /// Whether the content is probably complete: its first line has ended, or the file has not changed for a while.
    pub(super) fn is_complete(&self, content: &[u8]) -> bool {
        let unchanged = |(_, since): (_, Instant)| since.elapsed() >= QUIET;
        StatusLine::is_finished(content) || self.version.is_some_and(unchanged)
    }

    /// Whether `line` is new. The same line counts again once the session has worked since.
    pub(super) fn is_new(&self, line: &StatusLine, facts: &SessionFacts) -> bool {
        if self.old && (facts.state_at >= self.modified_at() || facts.line.as_ref() == Some(line)) {
            // The log has this line, or a newer state.
            return false;
        }
        if facts.ended_at.is_some() && facts.ended_at >= self.modified_at() {
            // The session ended after this write, and a line of an ended session does not count.
            return false;
        }
        match &self.last {
            None => true,
            Some(last) if last.line != *line => true,
            Some(last) if last.version == self.version() => false,
            Some(_) if line.kind == Kind::Progress => facts.state != Some(SessionState::Working),
            Some(last) => facts.worked_at >= Some(last.at),
        }
    }

    /// Records that this line was submitted at `at`, or was not new if `at` is `None`.
    pub(super) fn set_last(&mut self, line: StatusLine, at: Option<Timestamp>) {
        let same = self.last.take().filter(|last| last.line == line);
        let at = at.or(same.map(|last| last.at)).or(self.modified_at());
        self.last = Some(LastLine {
            line,
            version: self.version(),
            at: at.unwrap_or_default(),
        });
        self.warned = None;
        self.finish();
    }

    fn version(&self) -> Option<FileVersion> {
        self.version.map(|(version, _)| version)
    }

    fn modified_at(&self) -> Option<Timestamp> {
        self.version().map(|version| version.modified_at())
    }

    /// Marks this version as processed.
    pub(super) fn finish(&mut self) {
        // Not if the write is very recent: a later write within the clock's resolution would have the same version.
        let written = self.modified_at().unwrap_or_default().as_millis();
        let age = Timestamp::now().as_millis() - written;
        self.processed = !(0..CLOCK_RESOLUTION_MS).contains(&age);
    }

    /// The delay until the file's next scan.
    pub(super) fn next_scan(&self) -> Duration {
        if self.processed {
            SCAN_INTERVAL
        } else {
            DEBOUNCE
        }
    }

    /// Logs why the file is ignored. The same reason is logged once.
    pub(super) fn warn(&mut self, path: &Path, reason: &impl Display) {
        warn_once(&mut self.warned, path, reason);
    }
}
