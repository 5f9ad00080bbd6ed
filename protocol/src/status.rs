//! Status files: a session tells its state with one line in a file of its own name.
//!
//! The first line is `STATE message`; the message may be missing, further lines mean nothing. Whoever writes needs no
//! socket, no program and no JSON: `echo "needs_input Which port?" > "$HUB_STATUS_FILE"`.

use std::fmt;
use std::str::FromStr;

use crate::Kind;

/// What the first line of a status file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusLine {
    /// The state, as the type of notification that tells it.
    pub kind: Kind,
    /// The message; the state in words where none was given.
    pub msg: String,
}

/// Why a file tells no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatusError {
    /// No text in the first line.
    #[error("it is empty")]
    Empty,
    /// More than [`StatusLine::MAX_FILE_BYTES`].
    #[error("it has more than {} bytes", StatusLine::MAX_FILE_BYTES)]
    TooLarge,
    /// More than [`StatusLine::MAX_BYTES`].
    #[error("its first line has more than {} bytes", StatusLine::MAX_BYTES)]
    TooLong,
    /// Not UTF-8, or with NUL.
    #[error("its first line is not text in UTF-8")]
    NotText,
    /// The first word is no state.
    #[error(
        "its first word is no state (expected completed, needs_input, needs_testing, error or working)"
    )]
    NoState,
}

impl StatusLine {
    /// The largest file.
    pub const MAX_FILE_BYTES: usize = 64 * 1024;
    /// The longest first line, without its end.
    pub const MAX_BYTES: usize = 8 * 1024;

    /// Reads the content of a status file, or as much of it as shows that it is too large.
    pub fn read(content: &[u8]) -> Result<Self, StatusError> {
        if content.len() > Self::MAX_FILE_BYTES {
            return Err(StatusError::TooLarge);
        }
        let line = first_line(content);
        if line.len() > Self::MAX_BYTES {
            return Err(StatusError::TooLong);
        }
        let line = std::str::from_utf8(line).map_err(|_| StatusError::NotText)?;
        line.parse()
    }

    /// Whether the first line has its end: without one, somebody may still be writing it.
    pub fn is_finished(content: &[u8]) -> bool {
        content.contains(&b'\n')
    }

    /// The line that tells `kind`, if a status file can tell it.
    pub fn of(kind: Kind, msg: &str) -> Option<Self> {
        word(kind)?;
        let mut msg = msg.split_whitespace().collect::<Vec<_>>().join(" ");
        // Room for the longest state.
        let mut end = msg.len().min(Self::MAX_BYTES - 16);
        while !msg.is_char_boundary(end) {
            end -= 1;
        }
        msg.truncate(end);
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

/// As a file holds it, without the end of the line.
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

/// The states that a status file is documented to hold.
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

/// What a state alone says; nothing for a type that tells no state.
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
    fn every_state_is_a_type_and_the_rest_of_the_line_is_the_message() {
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
    fn a_state_alone_has_a_message_too() {
        for (text, kind, msg) in [
            ("completed\n", Kind::Complete, "completed"),
            ("needs_input \n", Kind::Question, "needs input"),
            ("needs_testing\r\n", Kind::Testing, "needs testing"),
            ("error", Kind::Error, "error"),
            ("working\n\n", Kind::Progress, "working"),
        ] {
            assert_eq!(read(text), (kind, msg.into()), "{text:?}");
        }
    }

    #[test]
    fn what_tells_no_state_says_why() {
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
    fn what_is_written_is_read_back() {
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
    fn a_type_that_changes_no_state_is_not_written() {
        assert_eq!(StatusLine::of(Kind::Message, "x"), None);
        assert_eq!(StatusLine::of(Kind::Answer, "x"), None);
    }
}
