//! Request bodies: read within limits, parsed as JSON whatever their content type says.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::{ApiError, Code};

/// The largest request in bytes.
pub(super) const MAX_BODY: usize = 1 << 20;

/// Reads a body that is not encoded, not multipart, and not too large.
pub(super) async fn read(headers: &HeaderMap, body: Body) -> Result<Bytes, ApiError> {
    refuse_encodings(headers)?;
    match Limited::new(body, MAX_BODY).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::new(
            Code::PayloadTooLarge,
            format!("a request has at most {MAX_BODY} bytes"),
        )),
        Err(error) => Err(ApiError::new(
            Code::Malformed,
            format!("the body could not be read: {error}"),
        )),
    }
}

/// Reads a body as one JSON value.
pub(super) async fn json<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Body,
) -> Result<T, ApiError> {
    let bytes = read(headers, body).await?;
    serde_json::from_slice(&bytes).map_err(|error| bad_json(&error))
}

fn refuse_encodings(headers: &HeaderMap) -> Result<(), ApiError> {
    if let Some(encoding) = headers.get(header::CONTENT_ENCODING) {
        if encoding != "identity" {
            return Err(unsupported("a content-encoding"));
        }
    }
    let kind = headers
        .get(header::CONTENT_TYPE)
        .map_or(Ok(""), |value| value.to_str().map_err(|_| ()));
    let kind = kind
        .map_err(|()| unsupported("this content-type"))?
        .to_ascii_lowercase();
    if kind.starts_with("multipart/") {
        return Err(unsupported("multipart"));
    }
    let charset = kind
        .split(';')
        .find_map(|part| part.trim().strip_prefix("charset="));
    if charset
        .is_some_and(|charset| !matches!(charset.trim_matches('"'), "utf-8" | "utf8" | "us-ascii"))
    {
        return Err(unsupported("a charset other than utf-8"));
    }
    Ok(())
}

fn unsupported(what: &str) -> ApiError {
    ApiError::new(
        Code::UnsupportedMediaType,
        format!("{what} is not supported"),
    )
}

/// Broken JSON is malformed; sound JSON that is not what the contract says is invalid.
pub(super) fn bad_json(error: &serde_json::Error) -> ApiError {
    let text = error.to_string();
    let code = match error.classify() {
        serde_json::error::Category::Data if text.contains("unknown type") => Code::UnknownType,
        serde_json::error::Category::Data => Code::Invalid,
        _ => Code::Malformed,
    };
    ApiError::new(code, text)
}
