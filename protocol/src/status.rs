//! Status files: a session reports its state with one line in a file that has the session's name.
//!
//! The first line is `STATE message`. The message is optional, and further lines are ignored. Writing one needs no
//! socket, no program and no JSON: `echo "needs_input Which port?" > "$HUB_STATUS_FILE"`.

use std::fmt;
use std::str::FromStr;

use crate::{InboxName, Kind, first_bytes, single_spaced};

/// The first line of a status file, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusLine {
    /// The state, as the type of notification that reports it.
    pub kind: Kind,
    /// The message; if the line has none, the state in words.
    pub msg: String,
}

/// Why the content of a file is not a status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatusError {
    /// The first line has no text.
    #[error("it is empty")]
    Empty,
    /// The file has more than [`StatusLine::MAX_FILE_BYTES`].
    #[error("it has more than {} bytes", StatusLine::MAX_FILE_BYTES)]
    TooLarge,
    /// The first line has more than [`StatusLine::MAX_BYTES`].
    #[error("its first line has more than {} bytes", StatusLine::MAX_BYTES)]
    TooLong,
    /// The first line is not UTF-8, or contains NUL.
    #[error("its first line is not text in UTF-8")]
    NotText,
    /// The first word is not a state.
    #[error(
        "its first word is no state (expected completed, needs_input, needs_testing, error or working)"
    )]
    NoState,
}

impl StatusLine {
    /// The largest size of a file, in bytes.
    pub const MAX_FILE_BYTES: usize = 64 * 1024;
    /// The longest first line in bytes, without its line feed.
    pub const MAX_BYTES: usize = 8 * 1024;

    /// Parses the content of a status file. A caller may pass only its first `MAX_FILE_BYTES + 1` bytes, enough to
    /// refuse a larger file.
    pub fn read(content: &[u8]) -> Result<Self, StatusError> {
        if content.len() > Self::MAX_FILE_BYTES {
            return Err(StatusError::TooLarge);
        }
        // PowerShell and Windows' editors begin a text with a byte order mark.
        let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
        let line = first_line(content);
        if line.len() > Self::MAX_BYTES {
            return Err(StatusError::TooLong);
        }
        let line = std::str::from_utf8(line).map_err(|_| StatusError::NotText)?;
        line.parse()
    }

    /// Whether the first line ends with a line feed. Without one, the writer may not have finished.
    pub fn is_finished(content: &[u8]) -> bool {
        content.contains(&b'\n')
    }

    /// The Idempotency-Key of this line from one write of the file of `session`: the inode number, and the seconds and
    /// nanoseconds of the last change. Every program that reports a write uses this key, so the hub stores it once.
    pub fn key(&self, session: &InboxName, (file, seconds, nanos): (u64, i64, i64)) -> String {
        // FNV-1a of the line, because two writes within the resolution of a file system's clock differ only by their
        // lines.
        let hash = self
            .to_string()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        format!("status-file:{session}:{file:x}.{seconds:x}.{nanos:x}.{hash:x}")
    }

    /// Returns the line that reports `kind`, or `None` if no documented state stands for it. A long message is cut.
    pub fn of(kind: Kind, msg: &str) -> Option<Self> {
        word(kind)?;
        let msg = single_spaced(msg);
        // Leave room for the longest state.
        let msg = first_bytes(&msg, Self::MAX_BYTES - 16).to_owned();
        Some(Self { kind, msg })
    }
}

impl FromStr for StatusLine {
    type Err = StatusError;

    fn from_str(line: &str) -> Result<Self, StatusError> {
        let line = line.trim();
        if line.contains('\0') {
            return Err(StatusError::NotText);
        }
        let (state, msg) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if state.is_empty() {
            return Err(StatusError::Empty);
        }
        let kind: Kind = state.parse().map_err(|_| StatusError::NoState)?;
        let default = in_words(kind).ok_or(StatusError::NoState)?;
        let msg = match msg.trim_start() {
            "" => default,
            msg => msg,
        };
        let msg = msg.to_owned();
        Ok(Self { kind, msg })
    }
}

/// Writes the line as in a file, without the line feed.
impl fmt::Display for StatusLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = word(self.kind).unwrap_or(self.kind.as_str());
        write!(f, "{state} {}", self.msg)
    }
}

fn first_line(content: &[u8]) -> &[u8] {
    let end = content.iter().position(|&byte| byte == b'\n');
    &content[..end.unwrap_or(content.len())]
}

/// The documented state for a type, if there is one.
fn word(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Complete => Some("completed"),
        Kind::Question => Some("needs_input"),
        Kind::Testing => Some("needs_testing"),
        Kind::Error => Some("error"),
        Kind::Progress => Some("working"),
        _ => None,
    }
}

/// The message for a state without one; `None` for a type that reports no state.
fn in_words(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Complete => "completed",
        Kind::Waiting => "waiting",
        Kind::Question => "needs input",
        Kind::Approval => "needs approval",
        Kind::Testing => "needs testing",
        Kind::Error => "error",
        Kind::Progress => "working",
        Kind::Ended => "ended",
        Kind::Message | Kind::Answer => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Kind, String) {
        let line = StatusLine::read(text.as_bytes()).unwrap();
        (line.kind, line.msg)
    }

    #[test]
    fn the_first_word_is_the_state_and_the_rest_is_the_message() {
        for (text, kind, msg) in [
            (
                "completed Implemented the login feature\n",
                Kind::Complete,
                "Implemented the login feature",
            ),
            (
                "needs_input Should I delete these 5 files?\n",
                Kind::Question,
                "Should I delete these 5 files?",
            ),
            (
                "needs_testing try \"it\", it's \\n\n",
                Kind::Testing,
                "try \"it\", it's \\n",
            ),
            (
                "error Build failed - missing dependency\n",
                Kind::Error,
                "Build failed - missing dependency",
            ),
            ("working on it", Kind::Progress, "on it"),
            ("idle\ttab\r\nmore\n", Kind::Waiting, "tab"),
            ("done two  spaces\n", Kind::Complete, "two  spaces"),
        ] {
            assert_eq!(read(text), (kind, msg.into()), "{text:?}");
        }
    }

    #[test]
    fn a_state_without_a_message_gets_a_default_message() {
        for (text, kind, msg) in [
            ("completed\n", Kind::Complete, "completed"),
            ("needs_input \n", Kind::Question, "needs input"),
            ("needs_testing\r\n", Kind::Testing, "needs testing"),
            ("error", Kind::Error, "error"),
            ("working\n\n", Kind::Progress, "working"),
            ("\u{feff}error a\r\n", Kind::Error, "a"),
        ] {
            assert_eq!(read(text), (kind, msg.into()), "{text:?}");
        }
    }

    #[test]
    fn content_that_is_not_a_status_is_refused_with_the_reason() {
        let long = format!("error {}\n", "x".repeat(StatusLine::MAX_BYTES));
        let large = format!("error\n{}", "x".repeat(StatusLine::MAX_FILE_BYTES));
        for (content, why) in [
            (&b""[..], StatusError::Empty),
            (b"\ncompleted\n", StatusError::Empty),
            (b"  \n", StatusError::Empty),
            (b"Everything is fine\n", StatusError::NoState),
            (b"{\"state\":\"completed\"}\n", StatusError::NoState),
            (b"message hello\n", StatusError::NoState),
            (b"answer yes\n", StatusError::NoState),
            (b"error \xff\n", StatusError::NotText),
            (b"error a\0b\n", StatusError::NotText),
            (long.as_bytes(), StatusError::TooLong),
            (large.as_bytes(), StatusError::TooLarge),
        ] {
            let shown = String::from_utf8_lossy(&content[..content.len().min(40)]).into_owned();
            assert_eq!(StatusLine::read(content), Err(why), "{shown}");
        }
    }

    #[test]
    fn a_line_that_was_written_is_read_back() {
        for kind in Kind::ALL {
            let Some(line) = StatusLine::of(kind, "a\nb  c") else {
                continue;
            };
            let read = StatusLine::read(format!("{line}\n").as_bytes()).unwrap();
            assert_eq!((read.kind, read.msg.as_str()), (kind, "a b c"));
        }
        let long = StatusLine::of(Kind::Error, &"é".repeat(StatusLine::MAX_BYTES)).unwrap();
        assert_eq!(StatusLine::read(long.to_string().as_bytes()), Ok(long));
    }

    #[test]
    fn a_type_that_changes_no_state_has_no_line() {
        assert_eq!(StatusLine::of(Kind::Message, "x"), None);
        assert_eq!(StatusLine::of(Kind::Answer, "x"), None);
    }
}
