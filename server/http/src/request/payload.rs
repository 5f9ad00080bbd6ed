//! Request bodies, read completely.

use std::error::Error;
use std::io;

use axum::body::HttpBody;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;

use super::strict::{self, StrictValue};
use crate::error::{ApiError, Code};

/// The largest body, in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 1024 * 1024;

/// A complete body of at most [`MAX_BODY_BYTES`], not compressed and not in a charset other than UTF-8. The handler
/// validates its bytes.
#[derive(Debug, Clone)]
pub struct Payload(pub Bytes);

impl<S: Sync> FromRequest<S> for Payload {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        Self::read(request, MAX_BODY_BYTES).await
    }
}

impl Payload {
    /// Reads the body of `request`, at most `limit` bytes.
    pub(crate) async fn read(request: Request, limit: usize) -> Result<Self, ApiError> {
        let declared = request.headers().get(CONTENT_LENGTH);
        let declared = declared.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if declared.is_some_and(|length| length > limit as u64) {
            return Err(Code::PayloadTooLarge.into());
        }
        check_form(request.headers())?;
        let mut body = request.into_body();
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| interrupted(&error))?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if bytes.len() + data.len() > limit {
                return Err(Code::PayloadTooLarge.into());
            }
            if bytes.is_empty() && body.is_end_stream() {
                return Ok(Self(data));
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Self(bytes.freeze()))
    }
}

fn check_form(headers: &HeaderMap) -> Result<(), ApiError> {
    let refused = |detail: String| Err(ApiError::new(Code::UnsupportedMediaType, detail));
    for encoding in headers.get_all(CONTENT_ENCODING) {
        if !encoding.as_bytes().eq_ignore_ascii_case(b"identity") {
            return refused("the body has a Content-Encoding".into());
        }
    }
    for kind in headers.get_all(CONTENT_TYPE) {
        let kind = kind.to_str().unwrap_or_default().to_ascii_lowercase();
        if kind.starts_with("multipart/") {
            return refused("multipart bodies are not read".into());
        }
        let mut parameters = kind.split(';').skip(1).map(str::trim);
        let charset = parameters.find_map(|parameter| parameter.strip_prefix("charset="));
        let charset = charset.map(|name| name.trim_matches('"'));
        if charset.is_some_and(|name| !matches!(name, "utf-8" | "utf8" | "us-ascii")) {
            return refused("the charset is not utf-8".into());
        }
    }
    Ok(())
}

/// The error for a body that ended early: a timeout, or a broken connection.
fn interrupted(error: &axum::Error) -> ApiError {
    let mut cause: Option<&dyn Error> = Some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<io::Error>();
        if io.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            return ApiError::new(Code::Timeout, "the body did not come in time");
        }
        cause = error.source();
    }
    ApiError::new(Code::Malformed, "the body is broken or ended early")
}

impl Payload {
    /// Parses the body as one JSON value, whatever its content type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        let StrictValue(value) =
            serde_json::from_slice(&self.0).map_err(|error| bad_json(&error))?;
        Ok(value)
    }
}

/// The error for a body that is not acceptable JSON: syntax errors are `malformed`, violations of the contract
/// `invalid`.
pub(crate) fn bad_json(error: &serde_json::Error) -> ApiError {
    let text = error.to_string();
    let code = match error.classify() {
        serde_json::error::Category::Data if text.contains("unknown type") => Code::UnknownType,
        serde_json::error::Category::Data => Code::Invalid,
        _ => Code::Malformed,
    };
    ApiError::new(code, strict::client_message(&text))
}
