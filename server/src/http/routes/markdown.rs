//! `POST /markdown`: a text in Markdown as a tree, for the dashboard, which has no parser of its own.

use axum::Json;
use serde::Deserialize;

use crate::http::error::ApiError;
use crate::http::request::payload::Payload;

mod tree;

use tree::MarkdownTree;

/// Longest text, in bytes. It is longer than any text of a notification.
const MAX_TEXT: usize = 256 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkdownPost {
    text: String,
}

/// `POST /markdown`: parses a text; the hub keeps nothing of it.
pub(super) async fn parse(payload: Payload) -> Result<Json<MarkdownTree>, ApiError> {
    let MarkdownPost { text } = payload.json()?;
    if text.len() > MAX_TEXT {
        return Err(ApiError::invalid(format!(
            "text has at most {MAX_TEXT} bytes"
        )));
    }
    Ok(Json(tree::parse(&text)))
}
