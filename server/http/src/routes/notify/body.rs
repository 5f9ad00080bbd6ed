//! The body of `POST /notify`: JSON, NDJSON or text.

use std::fmt::Display;
use std::str::FromStr;

use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use hub_protocol::{Kind, Post};
use serde::Deserialize;

use crate::error::{ApiError, Code};
use crate::request::payload;
use crate::request::strict::StrictValue;

/// At most this many notifications are stored in one request.
const MAX_ITEMS: usize = 1000;

/// The query: the fields of a text body, and the directory of any body.
#[derive(Debug, Default, Deserialize)]
pub(in crate::routes) struct TextParams {
    #[serde(rename = "type")]
    kind: Option<String>,
    from: Option<String>,
    to: Option<String>,
    project: Option<String>,
    /// The directory whose project is used for notifications that name no project.
    pub(super) cwd: Option<String>,
    priority: Option<String>,
    title: Option<String>,
    key: Option<String>,
    session: Option<String>,
    parent: Option<String>,
    reply_to: Option<u64>,
    ttl: Option<u64>,
}

/// The parsed body.
pub(super) struct Posts {
    pub(super) posts: Vec<Post>,
    /// Whether it is one notification and not a list of one.
    pub(super) is_single: bool,
}

/// The body formats that a content type can demand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Lines,
    /// Any other content type; the body decides. curl sends text as `application/x-www-form-urlencoded`.
    Any,
}

impl Form {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let essence = headers.get(CONTENT_TYPE).map_or(&b""[..], |kind| {
            let kind = kind.as_bytes().split(|byte| *byte == b';').next();
            kind.unwrap_or_default().trim_ascii()
        });
        if essence.eq_ignore_ascii_case(b"application/json") {
            Self::Json
        } else if essence.eq_ignore_ascii_case(b"application/x-ndjson") {
            Self::Lines
        } else {
            Self::Any
        }
    }
}

/// Parses a body; the query gives the fields of a text.
pub(super) fn parse(params: TextParams, form: Form, bytes: &[u8]) -> Result<Posts, ApiError> {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Err(ApiError::invalid(
            "the body is empty: send a text, or JSON with msg",
        )),
        Some(b'[') => {
            let StrictValue(posts) =
                serde_json::from_slice(bytes).map_err(|error| broken_json(&error))?;
            bounded(posts)
        }
        Some(b'{') => {
            let lines =
                serde_json::Deserializer::from_slice(bytes).into_iter::<StrictValue<Post>>();
            let mut posts = Vec::with_capacity(1);
            for line in lines {
                let StrictValue(post) = line.map_err(|error| broken_json(&error))?;
                posts.push(post);
            }
            if posts.len() == 1 && form != Form::Lines {
                return Ok(single(posts));
            }
            bounded(posts)
        }
        Some(_) if form != Form::Any => Err(not_an_object(bytes)),
        Some(_) => Ok(single(vec![text(params, bytes)?])),
    }
}

/// The error for a JSON body that is neither an object nor an array.
fn not_an_object(bytes: &[u8]) -> ApiError {
    match serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
        Ok(_) => ApiError::invalid("a JSON body must be an object, or an array of objects"),
        Err(error) => payload::bad_json(&error),
    }
}

/// The error for broken JSON. A text may begin like JSON, so it explains how to send such a text.
fn broken_json(error: &serde_json::Error) -> ApiError {
    let problem = payload::bad_json(error);
    if error.is_data() {
        return problem;
    }
    let text =
        r#"a body that begins with { or [ is read as JSON: send such a text as {"msg": "..."}"#;
    ApiError::new(problem.code(), format!("{error}; {text}"))
}

fn single(posts: Vec<Post>) -> Posts {
    Posts {
        posts,
        is_single: true,
    }
}

fn bounded(posts: Vec<Post>) -> Result<Posts, ApiError> {
    match posts.len() {
        0 => Err(ApiError::invalid("the batch is empty")),
        1..=MAX_ITEMS => Ok(Posts {
            posts,
            is_single: false,
        }),
        _ => Err(ApiError::invalid(format!(
            "a batch has at most {MAX_ITEMS} notifications"
        ))),
    }
}

fn text(params: TextParams, bytes: &[u8]) -> Result<Post, ApiError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| ApiError::new(Code::Malformed, "the body is not UTF-8"))?;
    if text.starts_with('\u{feff}') {
        return Err(ApiError::new(
            Code::Malformed,
            "the body begins with a byte order mark",
        ));
    }
    Ok(Post {
        msg: text.trim_end_matches(['\r', '\n']).to_owned(),
        from: parsed(params.from)?,
        to: parsed(params.to)?,
        kind: kind(params.kind)?,
        priority: parsed(params.priority)?,
        project: parsed(params.project)?,
        title: params.title,
        key: params.key,
        session: parsed(params.session)?,
        parent: parsed(params.parent)?,
        reply_to: params.reply_to,
        ttl: params.ttl,
        ..Post::default()
    })
}

fn kind(text: Option<String>) -> Result<Option<Kind>, ApiError> {
    let kind = text.map(|text| text.parse()).transpose();
    kind.map_err(|error| ApiError::new(Code::UnknownType, error))
}

fn parsed<T: FromStr<Err: Display>>(text: Option<String>) -> Result<Option<T>, ApiError> {
    let value = text.map(|text| text.parse()).transpose();
    value.map_err(ApiError::invalid)
}
