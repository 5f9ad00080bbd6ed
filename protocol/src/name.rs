//! Names that are safe in URLs, file names, terminals and logs.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The most characters of a project's name.
const MAX_PROJECT: usize = 1024;

/// The error for a text that is not a valid name or project.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    /// The text is not a valid name of a session or an inbox.
    #[error(
        "invalid name '{0}' (1 to 64 of A-Z a-z 0-9 . _ - : @ +, beginning with a letter or digit, without '..')"
    )]
    Name(String),
    /// The text is not a valid project.
    #[error(
        "invalid project '{0}' (1 to 1024 characters, none of them a control or invisible one)"
    )]
    Project(String),
}

/// The name of an inbox, a session or a sender: 1 to 64 of `A-Z a-z 0-9 . _ - : @ +`, beginning with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct InboxName(Arc<str>);

impl InboxName {
    /// The inbox of the session that the person talks to; the default target.
    pub const PRIMARY: &str = "primary";
    /// The person's own inbox.
    pub const PERSON: &str = "person";
    /// As a target: primary, person and the live sessions, without the sender.
    pub const ALL: &str = "all";
    /// The hub itself.
    pub const HUB: &str = "hub";
    /// The sender of a notification that names none.
    pub const UNKNOWN: &str = "unknown";

    /// The name as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name is reserved, so that no session can have it.
    pub fn is_reserved(&self) -> bool {
        looks_reserved(&self.0)
    }

    /// Whether the name only looks like a reserved one.
    pub fn imitates_reserved(&self) -> bool {
        self.is_reserved() && !RESERVED.contains(&self.as_str())
    }

    /// The name `primary`, the default target.
    pub fn primary() -> Self {
        Self(Self::PRIMARY.into())
    }
}

/// The names that no session can have.
const RESERVED: [&str; 5] = [
    InboxName::PRIMARY,
    InboxName::PERSON,
    InboxName::ALL,
    InboxName::UNKNOWN,
    InboxName::HUB,
];

/// Whether a text looks like a reserved name: whatever the case, and with characters that look alike. A name has no others
/// than those of ASCII. Digits at its end are a number, as in `a11`.
pub fn looks_reserved(text: &str) -> bool {
    let own = skeleton(text);
    RESERVED.iter().any(|it| skeleton(it).eq(own.clone()))
}

/// The bytes of a text without the difference between characters that look alike. Each notification's sender is compared, so
/// nothing is allocated.
fn skeleton(text: &str) -> impl Iterator<Item = u8> + Clone {
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let word = text.len() - digits;
    let alike = move |(at, byte): (usize, u8)| match byte.to_ascii_lowercase() {
        b'0' if at < word => b'o',
        b'1' if at < word => b'l',
        b'5' if at < word => b's',
        b'i' => b'l',
        other => other,
    };
    let mut bytes = text.bytes().enumerate().map(alike).peekable();
    std::iter::from_fn(move || {
        let byte = bytes.next()?;
        let (pair, joined) = match byte {
            b'r' => (b'n', b'm'),
            b'v' => (b'v', b'w'),
            _ => return Some(byte),
        };
        Some(bytes.next_if_eq(&pair).map_or(byte, |_| joined))
    })
}

/// The sender of a notification that names none.
impl Default for InboxName {
    fn default() -> Self {
        Self(Self::UNKNOWN.into())
    }
}

fn is_name(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b':' | b'@' | b'+')
        })
        && !text.as_bytes().windows(2).any(|pair| pair == b"..")
}

impl FromStr for InboxName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        if is_name(text) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidName::Name(printable(text)))
        }
    }
}

impl TryFrom<String> for InboxName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl Borrow<str> for InboxName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InboxName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The project that an inbox belongs to: usually the real path of a repository's main worktree, or any other text of 1
/// to 1024 characters without control or invisible ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ProjectName(Arc<str>);

impl ProjectName {
    /// The project of a request that names none.
    pub const DEFAULT: &str = "default";

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ProjectName {
    fn default() -> Self {
        Self(Self::DEFAULT.into())
    }
}

impl FromStr for ProjectName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let sound = !text.trim().is_empty()
            && text.chars().nth(MAX_PROJECT).is_none()
            && !text.chars().any(is_unprintable);
        if sound {
            Ok(Self(text.into()))
        } else {
            Err(InvalidName::Project(printable(text)))
        }
    }
}

impl TryFrom<String> for ProjectName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Whether `c` can move a cursor, hide, or turn the direction of text: C0, DEL, C1, bidi controls, zero-width and tag
/// characters.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{061c}'
            | '\u{e0000}'..='\u{e007f}')
}

/// At most the first 64 characters of `text`, with each unprintable one as `\u{…}`.
fn printable(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().take(64) {
        if is_unprintable(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_escape_a_path_or_a_line_are_refused() {
        let long = "a".repeat(65);
        for bad in [
            "",
            "a/b",
            "..",
            "a..b",
            "a\nb",
            "\u{1b}[0m",
            "a\u{202e}b",
            ".git",
            "-x",
            " a",
            "é",
            &long,
        ] {
            assert!(bad.parse::<InboxName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn common_names_are_accepted() {
        for good in [
            "primary",
            "agent-abc123",
            "worker.2",
            "0b1c-4f",
            "ci@host:8080",
            &"a".repeat(64),
        ] {
            assert!(good.parse::<InboxName>().is_ok(), "{good:?}");
        }
    }

    #[test]
    fn what_looks_like_a_reserved_name_is_reserved() {
        for taken in [
            "person", "Person", "PERS0N", "per5on", "prirnary", "pr1mary", "AII", "a1l", "HUB",
            "unknovvn",
        ] {
            assert!(looks_reserved(taken), "{taken}");
        }
        for free in [
            "persons", "hub-2", "ally", "worker1", "parson", "a11", "al1",
        ] {
            assert!(!looks_reserved(free), "{free}");
        }
        let imitates = |it: &str| it.parse::<InboxName>().unwrap().imitates_reserved();
        assert!(imitates("Person") && !imitates("person") && !imitates("worker"));
    }

    #[test]
    fn a_project_may_be_a_path() {
        assert!("/home/me/src/hub".parse::<ProjectName>().is_ok());
        assert!("/home/me\n".parse::<ProjectName>().is_err());
        assert!(" ".parse::<ProjectName>().is_err());
    }
}
