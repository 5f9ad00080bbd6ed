//! Cursors: positions in the log, and the journal that each belongs to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The number of a record in the log; the first is 1.
pub type Seq = u64;

/// The random identity of one journal, written as 16 lower-case hexadecimal digits. A cursor of another journal is not
/// valid in this one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Epoch(pub u64);

/// A position in the log: the reader has every record up to `seq`. Written `EPOCH-SEQ`, or a bare `SEQ`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The journal that the cursor belongs to; `None` for a bare `SEQ`.
    pub epoch: Option<Epoch>,
    /// The last record that the reader has; 0 stands for a position before the earliest record.
    pub seq: Seq,
}

/// The error for a text that is not a cursor or an epoch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "malformed cursor (expected EPOCH-SEQ as in an event's id, a bare SEQ, or 0 for the earliest kept)"
)]
pub struct ParseCursorError;

impl FromStr for Epoch {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<Self, ParseCursorError> {
        let sound = text.len() == 16
            && text
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !sound {
            return Err(ParseCursorError);
        }
        u64::from_str_radix(text, 16)
            .map(Self)
            .map_err(|_| ParseCursorError)
    }
}

impl TryFrom<String> for Epoch {
    type Error = ParseCursorError;

    fn try_from(text: String) -> Result<Self, ParseCursorError> {
        text.parse()
    }
}

impl From<Epoch> for String {
    fn from(epoch: Epoch) -> Self {
        epoch.to_string()
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Cursor {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<Self, ParseCursorError> {
        let (epoch, seq) = match text.split_once('-') {
            Some((epoch, seq)) => (Some(epoch.parse()?), seq),
            None => (None, text),
        };
        let digits = !seq.is_empty() && seq.len() <= 16 && seq.bytes().all(|b| b.is_ascii_digit());
        if !digits {
            return Err(ParseCursorError);
        }
        let seq = seq.parse().map_err(|_| ParseCursorError)?;
        Ok(Self { epoch, seq })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.epoch {
            Some(epoch) => write!(f, "{epoch}-{}", self.seq),
            None => write!(f, "{}", self.seq),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_written_as_it_was_read() {
        for text in ["00ff00ff00ff00ff-12", "12", "0"] {
            assert_eq!(text.parse::<Cursor>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_malformed_cursor_is_refused() {
        for bad in [
            "",
            "-1",
            "x",
            "1-",
            "ff-1",
            "00FF00FF00FF00FF-1",
            "+1",
            "99999999999999999",
            "1 ",
        ] {
            assert!(bad.parse::<Cursor>().is_err(), "{bad:?}");
        }
    }
}
