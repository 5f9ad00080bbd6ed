//! The spool: requests that could not be sent to the hub, as files.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Timestamp, first_chars, one_line};

mod listing;

pub use listing::{Listed, ListingError, MAX_ENTRIES, MAX_LISTING_BYTES, SpoolListing};

/// The name of a file in a spool, and the Idempotency-Key of every attempt to send it: 1 to 64 of `A-Z a-z 0-9 - _`, but
/// not the name of the directory of refused files.
///
/// Files in a spool are opened by nothing but this type. Its names are one step of a path, cannot leave the directory, and
/// are the same in a line, in a URL and in a shell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SpoolKey(String);

/// The error for a text that is not a [`SpoolKey`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a key of the spool (1 to {max} of A-Z a-z 0-9 - _, not '{REJECTED}')",
    max = SpoolKey::MAX_BYTES,
    REJECTED = SpoolKey::REJECTED
)]
pub struct InvalidSpoolKey(String);

impl SpoolKey {
    /// The longest key, in bytes.
    pub const MAX_BYTES: usize = 64;
    /// A draft of this age was left by a process that was killed: writing one takes milliseconds.
    pub const OLD_DRAFT: Duration = Duration::from_secs(3600);
    /// The directory in a spool to which files are moved that the hub refuses. No key has this name.
    pub const REJECTED: &str = "rejected";

    /// The key of a request that was made `nanos` nanoseconds after 1970, so that keys sort by time. `unique` tells it from
    /// others of that time.
    pub fn new(nanos: u64, unique: u64) -> Self {
        Self(format!("{nanos:016x}{unique:016x}"))
    }

    /// The key as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file's name, as a path in the directory of the spool.
    pub fn path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// The name of the file while it is being written. It is no key, so nothing reads it.
    pub fn draft(&self) -> String {
        format!(".{}{DRAFT_SUFFIX}", self.0)
    }

    /// Whether a file with this name is a draft.
    pub fn is_draft(name: &str) -> bool {
        name.starts_with('.') && name.ends_with(DRAFT_SUFFIX)
    }
}

const DRAFT_SUFFIX: &str = ".tmp";

impl FromStr for SpoolKey {
    type Err = InvalidSpoolKey;

    fn from_str(text: &str) -> Result<Self, InvalidSpoolKey> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let fits = (1..=Self::MAX_BYTES).contains(&text.len());
        if fits && text.bytes().all(plain) && text != Self::REJECTED {
            return Ok(Self(text.into()));
        }
        let beginning = first_chars(text, Self::MAX_BYTES);
        Err(InvalidSpoolKey(one_line(beginning).into_owned()))
    }
}

impl TryFrom<String> for SpoolKey {
    type Error = InvalidSpoolKey;

    fn try_from(text: String) -> Result<Self, InvalidSpoolKey> {
        text.parse()
    }
}

impl From<SpoolKey> for String {
    fn from(key: SpoolKey) -> Self {
        key.0
    }
}

impl fmt::Display for SpoolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One file in `STATE_DIR/spool`, named by its key: a request that could not be sent.
#[derive(Debug, Clone, Serialize)]
#[serde(into = "ItemFile")]
pub struct SpoolItem {
    /// The Idempotency-Key of every attempt to send it. Keys sort by the time they were made, so the files do too.
    pub key: SpoolKey,
    /// The request.
    pub request: Spooled,
}

/// A request that could not be sent.
#[derive(Debug, Clone)]
pub enum Spooled {
    /// `POST /notify` with this body, a [`crate::Post`] with its `ts`. It is sent byte for byte, so that the hub
    /// recognises a repeat.
    Post(Box<RawValue>),
    /// `POST /hooks/{agent}` with its query and body.
    Hook(SpooledHook),
}

/// A `POST /hooks/{agent}` that could not be sent. Its answer is discarded, because the hook has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpooledHook {
    /// The agent: the last segment of the path.
    pub agent: String,
    /// The query string, percent-encoded, without the question mark.
    pub query: String,
    /// When the event occurred, in milliseconds since 1970: a number, so that clients need no date parser.
    pub ts: i64,
    /// The hook's JSON.
    pub body: Box<RawValue>,
}

/// The content of a file: exactly one of `post` and `hook`.
#[derive(Serialize, Deserialize)]
struct ItemFile {
    /// The version of this format, [`SpoolItem::VERSION`].
    v: u32,
    key: SpoolKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    post: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hook: Option<SpooledHook>,
}

impl From<SpoolItem> for ItemFile {
    fn from(item: SpoolItem) -> Self {
        let (post, hook) = match item.request {
            Spooled::Post(post) => (Some(post), None),
            Spooled::Hook(hook) => (None, Some(hook)),
        };
        Self {
            v: SpoolItem::VERSION,
            key: item.key,
            post,
            hook,
        }
    }
}

/// Why a file in the spool is not a valid item.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The file has more than [`SpoolItem::MAX_BYTES`].
    #[error("larger than {} bytes", SpoolItem::MAX_BYTES)]
    TooLarge,
    /// The file is not in this format.
    #[error("not a spool item: {0}")]
    Malformed(#[from] serde_json::Error),
    /// The file has another version of the format.
    #[error(
        "spool format {0} is not known (this version reads up to {known})",
        known = SpoolItem::VERSION
    )]
    Unsupported(u32),
    /// The file has neither `post` nor `hook`, or both.
    #[error("expected either post or hook")]
    Ambiguous,
    /// The file's name differs from its key.
    #[error("the file's name is not the key inside")]
    Misnamed,
    /// The request was made more than [`Timestamp::MAX_AHEAD_MS`] after now.
    #[error("its ts {0} lies in the future")]
    Future(Timestamp),
}

impl SpoolItem {
    /// The version of this format.
    pub const VERSION: u32 = 1;
    /// The largest file in bytes: the largest request that the hub accepts.
    pub const MAX_BYTES: usize = 1024 * 1024;

    /// Returns the item that sends `request` under `key`.
    pub fn new(key: SpoolKey, request: Spooled) -> Self {
        Self { key, request }
    }

    /// Parses the content `bytes` of the file `key`. A caller may pass only its first `MAX_BYTES + 1` bytes, enough to
    /// refuse a larger file.
    pub fn parse(key: &SpoolKey, bytes: &[u8]) -> Result<Self, SpoolError> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(SpoolError::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(serde_json::Error::custom)?;
        let file: ItemFile = serde_json::from_str(text)?;
        if file.v != Self::VERSION {
            return Err(SpoolError::Unsupported(file.v));
        }
        if file.key != *key {
            return Err(SpoolError::Misnamed);
        }
        match (file.post, file.hook) {
            (Some(post), None) => Ok(Self::new(file.key, Spooled::Post(post))),
            (None, Some(hook)) => Ok(Self::new(file.key, Spooled::Hook(hook))),
            _ => Err(SpoolError::Ambiguous),
        }
    }

    /// Checks the time of a request that another machine has made.
    pub fn check_time(&self, now: Timestamp) -> Result<(), SpoolError> {
        let made = match &self.request {
            Spooled::Post(post) => serde_json::from_str::<Made>(post.get())?.ts,
            Spooled::Hook(hook) => Some(Timestamp::from_millis(hook.ts)),
        };
        match made {
            Some(made) if made > now.plus_millis(Timestamp::MAX_AHEAD_MS) => {
                Err(SpoolError::Future(made))
            }
            _ => Ok(()),
        }
    }
}

/// When a post was made.
#[derive(Deserialize)]
struct Made {
    ts: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.into()).unwrap()
    }

    fn key(text: &str) -> SpoolKey {
        text.parse().unwrap()
    }

    fn item(json: &str) -> SpoolItem {
        SpoolItem::new(key("k1"), Spooled::Post(raw(json)))
    }

    fn hook_at(ts: &str) -> String {
        format!(r#"{{"v":1,"key":"k1","hook":{{"agent":"a","query":"","ts":{ts},"body":{{}}}}}}"#)
    }

    #[test]
    fn an_item_preserves_the_body_byte_for_byte() {
        let body = r#"{"msg":"a \u001b",  "ts":"2026-11-21T21:46:08.042Z"}"#;
        let file = serde_json::to_vec(&item(body)).unwrap();
        let read = SpoolItem::parse(&key("k1"), &file).unwrap();
        assert!(matches!(read.request, Spooled::Post(post) if post.get() == body));
    }

    #[test]
    fn a_hook_is_stored_with_its_query_and_time() {
        let body = r#"{"hook_event_name":"Stop",  "n":1.0}"#;
        let hook = SpooledHook {
            agent: "claude".into(),
            query: "project=%2Fsrc&pid=7".into(),
            ts: 1_800_000_000_042,
            body: raw(body),
        };
        let item = SpoolItem::new(key("k1"), Spooled::Hook(hook));
        let file = serde_json::to_vec(&item).unwrap();
        let Spooled::Hook(read) = SpoolItem::parse(&key("k1"), &file).unwrap().request else {
            panic!("no hook");
        };
        assert_eq!(read.body.get(), body);
        assert_eq!(read.query, "project=%2Fsrc&pid=7");
        assert_eq!(read.ts, 1_800_000_000_042);
    }

    #[test]
    fn a_file_of_another_name_version_or_format_is_refused() {
        let file = serde_json::to_string(&item("{}")).unwrap();
        assert!(SpoolItem::parse(&key("k2"), file.as_bytes()).is_err());
        assert!(SpoolItem::parse(&key("k1"), file.replace(":1,", ":2,").as_bytes()).is_err());
        assert!(SpoolItem::parse(&key("k1"), b"{}").is_err());
        assert!(SpoolItem::parse(&key("k1"), &file.as_bytes()[..9]).is_err());
        for neither in [
            r#"{"v":1,"key":"k1"}"#,
            r#"{"v":1,"key":"k1","post":{},"hook":{"agent":"a","query":"","ts":1,"body":{}}}"#,
        ] {
            let error = SpoolItem::parse(&key("k1"), neither.as_bytes()).unwrap_err();
            assert!(matches!(error, SpoolError::Ambiguous), "{error}");
        }
    }

    #[test]
    fn a_key_is_one_step_of_a_path_and_one_word_of_a_line() {
        let long = "k".repeat(SpoolKey::MAX_BYTES + 1);
        for bad in [
            "",
            ".",
            "..",
            "/",
            "a/b",
            "../a",
            "a\nb",
            "a\0",
            "a\\b",
            "a b",
            ".a",
            "é",
            "a.b",
            "~",
            "$HOME",
            SpoolKey::REJECTED,
            &long,
        ] {
            let error = bad.parse::<SpoolKey>().unwrap_err().to_string();
            assert!(
                !error.contains(['\n', '\0']) && error.len() < 400,
                "{error}"
            );
            let inside = serde_json::json!({"v": 1, "key": bad, "post": {}}).to_string();
            assert!(
                SpoolItem::parse(&key("k1"), inside.as_bytes()).is_err(),
                "{bad}"
            );
        }
        assert_eq!(key(&long[1..]).as_str().len(), SpoolKey::MAX_BYTES);
    }

    #[test]
    fn a_key_begins_with_its_time_and_its_draft_is_no_key() {
        let made = SpoolKey::new(0x1d, 7);
        assert_eq!(made.as_str(), "000000000000001d0000000000000007");
        assert_eq!(key(made.as_str()), made);
        assert!(SpoolKey::is_draft(&made.draft()) && !SpoolKey::is_draft(made.as_str()));
        assert!(made.draft().parse::<SpoolKey>().is_err());
    }

    #[test]
    fn a_file_of_more_than_the_largest_request_is_refused() {
        let body = format!(r#"{{"msg":"{}"}}"#, "x".repeat(SpoolItem::MAX_BYTES));
        let file = serde_json::to_vec(&item(&body)).unwrap();
        let error = SpoolItem::parse(&key("k1"), &file).unwrap_err();
        assert!(matches!(error, SpoolError::TooLarge), "{error}");
    }

    #[test]
    fn a_time_in_the_future_is_refused() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        let checked = |file: &str| SpoolItem::parse(&key("k1"), file.as_bytes())?.check_time(now);
        let post = |ts: &str| format!(r#"{{"v":1,"key":"k1","post":{{"msg":"a","ts":{ts}}}}}"#);
        for sound in [
            hook_at("1800000000042"),
            hook_at("-1"),
            post("null"),
            post(r#""2026-11-21T21:46:08Z""#),
        ] {
            checked(&sound).unwrap();
        }
        for future in [
            hook_at("1800090000000"),
            hook_at("9223372036854775807"),
            post(r#""2027-06-01T00:00:00Z""#),
        ] {
            let error = checked(&future).unwrap_err();
            assert!(matches!(error, SpoolError::Future(_)), "{error}");
        }
        for malformed in [
            hook_at("18446744073709551615"),
            post("18446744073709551615"),
            post(r#""18446744073709551615""#),
        ] {
            let error = checked(&malformed).unwrap_err();
            assert!(matches!(error, SpoolError::Malformed(_)), "{error}");
        }
        assert!(checked(r#"{"v":1,"key":"k1","post":[]}"#).is_err());
    }
}
