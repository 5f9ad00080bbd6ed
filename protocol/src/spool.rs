//! The spool: requests that could not be sent to the hub, as files.

use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One file in `STATE_DIR/spool`, named by its key: a request that could not be sent.
#[derive(Debug, Clone, Serialize)]
#[serde(into = "ItemFile")]
pub struct SpoolItem {
    /// The Idempotency-Key of every attempt to send it. Keys sort by the time they were made, so the files do too.
    pub key: String,
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
    key: String,
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
}

impl SpoolItem {
    /// The version of this format.
    pub const VERSION: u32 = 1;

    /// Returns the item that sends `request` under `key`.
    pub fn new(key: String, request: Spooled) -> Self {
        Self { key, request }
    }

    /// Parses the content `bytes` of the file `name`.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, SpoolError> {
        let text = std::str::from_utf8(bytes).map_err(serde_json::Error::custom)?;
        let file: ItemFile = serde_json::from_str(text)?;
        if file.v != Self::VERSION {
            return Err(SpoolError::Unsupported(file.v));
        }
        if file.key != name {
            return Err(SpoolError::Misnamed);
        }
        match (file.post, file.hook) {
            (Some(post), None) => Ok(Self::new(file.key, Spooled::Post(post))),
            (None, Some(hook)) => Ok(Self::new(file.key, Spooled::Hook(hook))),
            _ => Err(SpoolError::Ambiguous),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.into()).unwrap()
    }

    fn item(json: &str) -> SpoolItem {
        SpoolItem::new("k1".into(), Spooled::Post(raw(json)))
    }

    #[test]
    fn an_item_preserves_the_body_byte_for_byte() {
        let body = r#"{"msg":"a \u001b",  "ts":"2026-11-21T21:46:08.042Z"}"#;
        let file = serde_json::to_vec(&item(body)).unwrap();
        let read = SpoolItem::parse("k1", &file).unwrap();
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
        let item = SpoolItem::new("k1".into(), Spooled::Hook(hook));
        let file = serde_json::to_vec(&item).unwrap();
        let Spooled::Hook(read) = SpoolItem::parse("k1", &file).unwrap().request else {
            panic!("no hook");
        };
        assert_eq!(read.body.get(), body);
        assert_eq!(read.query, "project=%2Fsrc&pid=7");
        assert_eq!(read.ts, 1_800_000_000_042);
    }

    #[test]
    fn a_file_of_another_name_version_or_format_is_refused() {
        let file = serde_json::to_string(&item("{}")).unwrap();
        assert!(SpoolItem::parse("k2", file.as_bytes()).is_err());
        assert!(SpoolItem::parse("k1", file.replace(":1,", ":2,").as_bytes()).is_err());
        assert!(SpoolItem::parse("k1", b"{}").is_err());
        assert!(SpoolItem::parse("k1", &file.as_bytes()[..9]).is_err());
        for neither in [
            r#"{"v":1,"key":"k1"}"#,
            r#"{"v":1,"key":"k1","post":{},"hook":{"agent":"a","query":"","ts":1,"body":{}}}"#,
        ] {
            let error = SpoolItem::parse("k1", neither.as_bytes()).unwrap_err();
            assert!(matches!(error, SpoolError::Ambiguous), "{error}");
        }
    }
}
