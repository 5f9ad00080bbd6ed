//! `POST /markdown`: a text in Markdown as a tree, for the dashboard, which has no parser of its own.

use std::time::Duration;

use axum::Json;
use serde::Deserialize;

use crate::http::budget::{Allowance, Budget};
use crate::http::error::ApiError;
use crate::http::request::payload::Payload;

mod tree;

use tree::MarkdownTree;

/// Longest text, in bytes. It is longer than any text of a notification.
const MAX_TEXT: usize = 256 * 1024;

/// A page asks for all the texts that it shows. If a text takes longer than this, its rest is shown as it is.
static TEXTS: Budget = Budget::new(1, 63, Duration::from_secs(2));

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
    let parse = move |allowance: &Allowance| {
        Result::<_, ApiError>::Ok(tree::parse(&text, || allowance.is_over()))
    };
    TEXTS.run(parse).await.map(Json)
}
