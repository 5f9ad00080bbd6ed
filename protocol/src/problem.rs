//! Error responses of the API.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An error as `application/problem+json` (RFC 9457), with a stable code and a hint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// The HTTP status code.
    pub status: u16,
    /// The stable name of the error, for programs.
    pub code: String,
    /// The error in words; the same for every error with this code.
    pub title: String,
    /// The cause in this case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The next step for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Further members that depend on the error (the holder of an inbox, the nearest name …).
    #[serde(flatten)]
    pub more: Map<String, Value>,
}
