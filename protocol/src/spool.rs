//! Notifications that were said while the hub was down, as files.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One file in `STATE_DIR/spool`, named by its key: a `POST /notify` that could not be made.
#[derive(Debug, Serialize, Deserialize)]
pub struct SpoolItem {
    /// The version of this format, [`SpoolItem::VERSION`].
    pub v: u32,
    /// The Idempotency-Key of every attempt to send it. Keys sort by the time they were made, so that files do.
    pub key: String,
    /// The request's body, byte for byte, so that a repeat is known as one: a [`crate::Post`] with its `ts`.
    pub post: Box<RawValue>,
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
    /// A name that is not the key inside.
    #[error("the file's name is not the key inside")]
    Misnamed,
}

impl SpoolItem {
    /// The version of the format.
    pub const VERSION: u32 = 1;

    /// The item that sends `post` under `key`.
    pub fn new(key: String, post: Box<RawValue>) -> Self {
        Self {
            v: Self::VERSION,
            key,
            post,
        }
    }

    /// Reads the file `name` with these `bytes`.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, SpoolError> {
        let item: Self = serde_json::from_slice(bytes)?;
        if item.v != Self::VERSION {
            return Err(SpoolError::Unsupported(item.v));
        }
        if item.key != name {
            return Err(SpoolError::Misnamed);
        }
        Ok(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(json: &str) -> SpoolItem {
        SpoolItem::new("k1".into(), RawValue::from_string(json.into()).unwrap())
    }

    #[test]
    fn an_item_keeps_the_body_byte_for_byte() {
        let body = r#"{"msg":"a \u001b",  "ts":"2026-11-21T21:46:08.042Z"}"#;
        let file = serde_json::to_vec(&item(body)).unwrap();
        let read = SpoolItem::parse("k1", &file).unwrap();
        assert_eq!(read.post.get(), body);
    }

    #[test]
    fn a_file_of_another_name_version_or_form_is_refused() {
        let file = serde_json::to_string(&item("{}")).unwrap();
        assert!(SpoolItem::parse("k2", file.as_bytes()).is_err());
        assert!(SpoolItem::parse("k1", file.replace(":1,", ":2,").as_bytes()).is_err());
        assert!(SpoolItem::parse("k1", b"{}").is_err());
        assert!(SpoolItem::parse("k1", &file.as_bytes()[..9]).is_err());
    }
}
