//! `POST /markdown`: a text in Markdown as a tree, for the dashboard, which has no parser of its own.

use std::time::Duration;

use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::budget::{Allowance, Budget};
use crate::error::{ApiError, Code};
use crate::request::payload::Payload;

mod tree;

/// Longest text, in bytes. It is longer than any text of a notification.
const MAX_TEXT: usize = 256 * 1024;

/// The longest rest between texts. A page waits for 15 s.
const LONGEST_REST: Duration = Duration::from_secs(5);

/// A page asks for all the texts that it shows. If a text takes more of a processor than this, its rest is shown as it is.
static TEXTS: Budget = Budget::new(1, 63, Duration::from_secs(2)).resting_for(LONGEST_REST);

#[derive(Debug, Deserialize)]
struct MarkdownPost {
    text: String,
}

/// `POST /markdown`: parses a text; the hub keeps nothing of it.
pub(super) async fn parse(request: Request) -> Result<Response, ApiError> {
    let json = TEXTS.run_on(request, answer);
    Ok(([(CONTENT_TYPE, "application/json")], json.await?).into_response())
}

/// Returns the tree as JSON. All of it is made here, because a tree may be large.
fn answer(payload: &Payload, allowance: &Allowance) -> Result<Vec<u8>, ApiError> {
    let MarkdownPost { text } = payload.json()?;
    if text.len() > MAX_TEXT {
        return Err(ApiError::invalid(format!(
            "text has at most {MAX_TEXT} bytes"
        )));
    }
    let tree = tree::parse(&text, || allowance.is_over());
    serde_json::to_vec(&tree).map_err(|error| ApiError::failed(Code::Internal, &error))
}
