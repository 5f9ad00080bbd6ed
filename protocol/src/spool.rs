//! Notifications that were said while the hub was down, as files.

use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One file in `STATE_DIR/spool`, named by its key: a request that could not be made.
#[derive(Debug, Clone, Serialize)]
#[serde(into = "File")]
pub struct SpoolItem {
    /// The Idempotency-Key of every attempt to send it. Keys sort by the time they were made, so that files do.
    pub key: String,
    /// What could not be sent.
    pub said: Spooled,
}

/// A request that could not be made.
#[derive(Debug, Clone)]
pub enum Spooled {
    /// `POST /notify` with this body, byte for byte, so that a repeat is known as one: a [`crate::Post`] with its `ts`.
    Post(Box<RawValue>),
    /// `POST /hooks/{agent}`.
    Hook(SpooledHook),
}

/// A `POST /hooks/{agent}` that could not be made. Nobody is left to read its answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpooledHook {
    /// Which agent: the path's last segment.
    pub agent: String,
    /// The query, encoded, without the question mark.
    pub query: String,
    /// When the event was, in milliseconds since 1970: a number, so that no client has to read dates.
    pub ts: i64,
    /// The body.
    pub body: Box<RawValue>,
}

/// A file as it is written: exactly one of `post` and `hook`.
#[derive(Serialize, Deserialize)]
struct File {
    /// The version of this format, [`SpoolItem::VERSION`].
    v: u32,
    key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    post: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hook: Option<SpooledHook>,
}

impl From<SpoolItem> for File {
    fn from(item: SpoolItem) -> Self {
        let (post, hook) = match item.said {
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

/// Why a file in the spool is not an item.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// Not this format.
    #[error("not a spool item: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A format of another version.
    #[error(
        "spool format {0} is not known (this version reads up to {known})",
        known = SpoolItem::VERSION
    )]
    Unsupported(u32),
    /// Neither of what can be kept, or both.
    #[error("expected either post or hook")]
    Ambiguous,
    /// A name that is not the key inside.
    #[error("the file's name is not the key inside")]
    Misnamed,
}

impl SpoolItem {
    /// The version of the format.
    pub const VERSION: u32 = 1;

    /// The item that sends `said` under `key`.
    pub fn new(key: String, said: Spooled) -> Self {
        Self { key, said }
    }

    /// Reads the file `name` with these `bytes`.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, SpoolError> {
        let text = std::str::from_utf8(bytes).map_err(serde_json::Error::custom)?;
        let file: File = serde_json::from_str(text)?;
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
    fn an_item_keeps_the_body_byte_for_byte() {
        let body = r#"{"msg":"a \u001b",  "ts":"2026-11-21T21:46:08.042Z"}"#;
        let file = serde_json::to_vec(&item(body)).unwrap();
        let read = SpoolItem::parse("k1", &file).unwrap();
        assert!(matches!(read.said, Spooled::Post(post) if post.get() == body));
    }

    #[test]
    fn a_hook_is_kept_with_its_query_and_time() {
        let body = r#"{"hook_event_name":"Stop",  "n":1.0}"#;
        let hook = SpooledHook {
            agent: "claude".into(),
            query: "project=%2Fsrc&pid=7".into(),
            ts: 1_800_000_000_042,
            body: raw(body),
        };
        let item = SpoolItem::new("k1".into(), Spooled::Hook(hook));
        let file = serde_json::to_vec(&item).unwrap();
        let Spooled::Hook(read) = SpoolItem::parse("k1", &file).unwrap().said else {
            panic!("no hook");
        };
        assert_eq!(read.body.get(), body);
        assert_eq!(read.query, "project=%2Fsrc&pid=7");
        assert_eq!(read.ts, 1_800_000_000_042);
    }

    #[test]
    fn a_file_of_another_name_version_or_form_is_refused() {
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
