//! Getting into the dashboard.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use hub_protocol::Timestamp;
use serde::{Deserialize, Serialize};

use super::payload::Payload;
use super::{ApiError, Code};
use crate::clock::Now;
use crate::login::{CODE_LIFE, Codes, Session};
use crate::secret::Token;

/// What signing in needs.
#[derive(Clone)]
pub(super) struct Desk {
    token: Token,
    port: u16,
    codes: Codes,
}

impl Desk {
    pub(super) fn new(token: Token, port: u16) -> Self {
        Self {
            token,
            port,
            codes: Codes::default(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct CodeReply {
    code: String,
    url: String,
    expires_at: Timestamp,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoginBody {
    code: String,
}

#[derive(Serialize)]
pub(super) struct LoginReply {
    token: String,
    expires_at: Timestamp,
}

/// A code for a browser. A page that is in already gets none: a stolen session must not outlive its end.
pub(super) async fn code(
    desk: State<Desk>,
    session: Option<Extension<Session>>,
) -> Result<(StatusCode, Json<CodeReply>), ApiError> {
    if session.is_some() {
        return Err(Code::NeedsToken.into());
    }
    let now = Now::read();
    let code = desk.codes.issue(now.mono);
    let code = code.map_err(|error| ApiError::failed(Code::Internal, &error))?;
    let reply = CodeReply {
        url: format!("http://127.0.0.1:{}/#code={code}", desk.port),
        code,
        expires_at: now
            .wall
            .plus_millis(1000 * CODE_LIFE.as_secs().cast_signed()),
    };
    Ok((StatusCode::CREATED, Json(reply)))
}

/// A session for a code.
pub(super) async fn login(
    desk: State<Desk>,
    payload: Payload,
) -> Result<Json<LoginReply>, ApiError> {
    let body: LoginBody = payload.json()?;
    let now = Now::read();
    if !desk.codes.redeem(&body.code, now.mono) {
        return Err(Code::BadCode.into());
    }
    let session = Session::begin(now);
    Ok(Json(LoginReply {
        token: session.token(&desk.token),
        expires_at: session.ends(),
    }))
}
