//! The arguments of the tools, as `tools.json` describes them.

use std::time::Duration;

use hub_protocol::{InboxName, Kind, Priority, Seq};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use hub_http::error::ApiError;

/// Longest wait of a call, in seconds, as for `hubctl wait`.
pub(super) const LONGEST: u64 = 570;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NotifyArguments {
    pub(super) message: String,
    pub(super) to: Option<InboxName>,
    #[serde(rename = "type")]
    pub(super) kind: Option<Kind>,
    pub(super) priority: Option<Priority>,
    pub(super) key: Option<String>,
    pub(super) data: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskArguments {
    pub(super) question: String,
    pub(super) options: Option<Vec<String>>,
    pub(super) to: Option<InboxName>,
    #[serde(default)]
    pub(super) approval: bool,
    pub(super) key: Option<String>,
    #[serde(default)]
    pub(super) seconds: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerArguments {
    pub(super) id: Seq,
    pub(super) answer: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimArguments {
    pub(super) id: Seq,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InboxArguments {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionsArguments {
    #[serde(default)]
    pub(super) all: bool,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitArguments {
    pub(super) seconds: Option<u64>,
    pub(super) types: Option<Vec<Kind>>,
    pub(super) from: Option<InboxName>,
    #[serde(default)]
    pub(super) all: Vec<InboxName>,
    #[serde(default)]
    pub(super) any: Vec<InboxName>,
}

pub(super) fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, ApiError> {
    serde_json::from_value(arguments)
        .map_err(|error| ApiError::invalid(format!("the arguments are wrong: {error}")))
}

/// A number of seconds, at most `longest`.
pub(super) fn seconds(seconds: u64, longest: u64) -> Result<Duration, ApiError> {
    if seconds > longest {
        return Err(ApiError::invalid(format!("seconds is at most {longest}")));
    }
    Ok(Duration::from_secs(seconds))
}
