//! `GET /hello`: the hub proves that it knows the token, so that a client can tell it from a squatter on its port.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::error::{ApiError, Code};
use crate::secret::{Token, hex};

/// Proves the token for the client's nonce, 16 to 128 hexadecimal digits. The proof holds for the address in Host only:
/// a squatter that passes the question on to the hub gets one for the hub's own address.
#[allow(clippy::unused_async)] // a handler
pub async fn hello(
    State(token): State<Token>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let nonce = nonce(query.as_deref().unwrap_or_default())?;
    let address = headers.get(HOST).map_or(&b""[..], |host| host.as_bytes());
    let proof = hex(&token.hmac(&[nonce.as_bytes(), address]));
    let hello = json!({ "proof": proof, "version": env!("CARGO_PKG_VERSION") });
    Ok(([(CONTENT_TYPE, "application/json")], hello.to_string()).into_response())
}

fn nonce(query: &str) -> Result<&str, ApiError> {
    query
        .strip_prefix("nonce=")
        .filter(|nonce| (16..=128).contains(&nonce.len()))
        .filter(|nonce| nonce.bytes().all(|b| b.is_ascii_hexdigit()))
        .ok_or_else(|| ApiError::new(Code::Invalid, "nonce must be 16 to 128 hexadecimal digits"))
}
