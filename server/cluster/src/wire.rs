//! Forwarded requests and their answers as NATS messages: one line of JSON, then the body.

use axum::body::Bytes;
use axum::http::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use hub_core::command::Command;
use hub_http::peer::CallerKind;
use hub_http::request::caller::Lineage;
use hub_protocol::Seq;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The id of a forwarded call, unique for its node: the run of the node, and the number of the call in it.
pub(super) type CallId = String;

/// The first line of a message to the active hub.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum CallHead {
    /// A request.
    Open(CallRequest),
    /// A command of the sender's own bridges.
    Submit { id: CallId, command: Box<Command> },
    /// The hub that receives this shall hand over to `node`.
    HandOver { id: CallId, node: String },
    /// The client of this call has gone.
    Cancel(CallId),
}

impl CallHead {
    /// The id of the call.
    pub(super) fn id(&self) -> &CallId {
        match self {
            Self::Open(CallRequest { id, .. })
            | Self::Submit { id, .. }
            | Self::HandOver { id, .. }
            | Self::Cancel(id) => id,
        }
    }
}

/// A request without its body.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CallRequest {
    pub(super) id: CallId,
    pub(super) method: String,
    pub(super) uri: String,
    pub(super) headers: Vec<(String, String)>,
    /// The caller, as the hub that took the request determined it.
    pub(super) dashboard: bool,
    pub(super) caller: CallerKind,
    /// The process that made it and its ancestors, if they say whose session it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lineage: Option<Lineage>,
}

/// The outcome of a command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Submitted {
    /// It is durable; these are its notifications.
    Done { ids: Vec<Seq>, head: Seq },
    /// It was refused for good, for this reason.
    Refused(String),
    /// It could not be stored now.
    Later,
}

/// An answer without its body.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// The head of the active hub's log.
    pub(super) head: Seq,
    /// Whether the call was not signed with the key by which the active hub knows its sender.
    #[serde(default)]
    pub(super) unsigned: bool,
    /// Whether the hub is not the active one any more, so that it neither did nor refused what was asked.
    #[serde(default)]
    pub(super) passive: bool,
}

/// Headers of one connection, and the credentials for one hub.
const NOT_FORWARDED: [HeaderName; 5] = [
    AUTHORIZATION,
    CONNECTION,
    CONTENT_LENGTH,
    HOST,
    TRANSFER_ENCODING,
];

pub(super) fn to_pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        // A header may have bytes that are not UTF-8; each is one character here.
        let value = value
            .as_bytes()
            .iter()
            .map(|&byte| char::from(byte))
            .collect();
        (name.to_string(), value)
    };
    let forwarded = headers
        .iter()
        .filter(|(name, _)| !NOT_FORWARDED.contains(name));
    forwarded.map(text).collect()
}

pub(super) fn from_pairs(pairs: &[(String, String)]) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let bytes: Option<Vec<u8>> = value.chars().map(|it| u8::try_from(it).ok()).collect();
        let name: HeaderName = name.parse().ok()?;
        if !NOT_FORWARDED.contains(&name) {
            headers.append(name, HeaderValue::from_bytes(&bytes?).ok()?);
        }
    }
    Some(headers)
}

impl CallRequest {
    /// Returns the method, target and headers; `None` if they are not valid.
    pub(super) fn parts(&self) -> Option<(Method, Uri, HeaderMap)> {
        let method = self.method.parse().ok()?;
        let uri: Uri = self.uri.parse().ok()?;
        let is_path = uri.path().starts_with('/') && uri.authority().is_none();
        Some((method, uri, from_pairs(&self.headers)?)).filter(|_| is_path)
    }
}

impl ResponseHead {
    /// Returns the status and headers; `None` if they are not valid.
    pub(super) fn parts(&self) -> Option<(StatusCode, HeaderMap)> {
        let status = StatusCode::from_u16(self.status).ok()?;
        Some((status, from_pairs(&self.headers)?))
    }
}

/// Joins a head and a body.
pub(super) fn encode(head: &impl Serialize, body: &[u8]) -> Bytes {
    let mut message = serde_json::to_vec(head).unwrap_or_default();
    message.push(b'\n');
    message.extend_from_slice(body);
    message.into()
}

/// Splits a message into head and body; `None` if it is not valid.
pub(super) fn decode<T: DeserializeOwned>(message: &Bytes) -> Option<(T, Bytes)> {
    let end = memchr::memchr(b'\n', message)?;
    let head = serde_json::from_slice(&message[..end]).ok()?;
    Some((head, message.slice(end + 1..)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_arrive_unchanged_except_those_of_one_connection() {
        let mut headers = HeaderMap::new();
        headers.insert(
            "idempotency-key",
            HeaderValue::from_bytes(b"k\xe9").unwrap(),
        );
        headers.append("x-two", HeaderValue::from_static("1"));
        headers.append("x-two", HeaderValue::from_static("2"));
        let kept = headers.clone();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer secret"));
        headers.insert(HOST, HeaderValue::from_static("127.0.0.1:1"));
        assert_eq!(from_pairs(&to_pairs(&headers)).unwrap(), kept);
    }

    #[test]
    fn a_body_may_have_any_bytes() {
        let head = CallHead::Cancel("a-1".into());
        let (_, body) = decode::<CallHead>(&encode(&head, b"\n\0\xff\n")).unwrap();
        assert_eq!(&body[..], b"\n\0\xff\n");
    }
}
