//! Errors on the wire.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An error as `application/problem+json` (RFC 9457), with a stable code and a hint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The stable name of the error.
    pub code: String,
    /// What the error is, the same for each of its kind.
    pub title: String,
    /// What was wrong this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What else this error tells (the holder of an inbox, the nearest name …).
    #[serde(flatten)]
    pub more: Map<String, Value>,
}
