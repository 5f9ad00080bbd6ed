//! Signing in to the dashboard.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use hub_protocol::{SignInCode, Timestamp};
use serde::{Deserialize, Serialize};

use super::payload::Payload;
use super::{ApiError, Code};
use crate::clock::Now;
use crate::login::{CODE_LIFE, Codes, Session};
use crate::net::{Peer, owner};
use crate::secret::Token;

/// Largest body with a code, in bytes. The limit is small because any local program may send many of them at once.
const MAX_BYTES: usize = 1024;
/// Timeout for reading such a body.
const PATIENCE: Duration = Duration::from_secs(2);

/// The state of the sign-in handlers.
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

/// `POST /login/code`: a sign-in code for a browser. A dashboard session gets none, because a stolen session must not
/// outlive its end.
pub(super) async fn code(
    desk: State<Desk>,
    session: Option<Extension<Session>>,
) -> Result<(StatusCode, Json<SignInCode>), ApiError> {
    if session.is_some() {
        return Err(Code::NeedsToken.into());
    }
    let now = Now::read();
    let code = desk.codes.issue(now.mono);
    let code = code.map_err(|error| ApiError::failed(Code::Internal, &error))?;
    let reply = SignInCode {
        url: format!("http://127.0.0.1:{}/#code={code}", desk.port),
        code,
        expires_at: now
            .wall
            .plus_millis(1000 * CODE_LIFE.as_secs().cast_signed()),
    };
    Ok((StatusCode::CREATED, Json(reply)))
}

/// `POST /login`: exchanges a code for a session.
pub(super) async fn login(
    desk: State<Desk>,
    request: Request,
) -> Result<Json<LoginReply>, ApiError> {
    let peer = request.extensions().get::<Peer>().copied();
    let reading = tokio::time::timeout(PATIENCE, Payload::read(request, MAX_BYTES));
    let late = |_| ApiError::new(Code::Timeout, "the body did not come in time");
    let body: LoginBody = reading.await.map_err(late)??.json()?;
    if !desk.codes.is_open(&body.code, Now::read().mono) {
        return Err(Code::BadCode.into());
    }
    demand_own_user(peer).await?;
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

/// Refuses another user of this machine, who may have seen the code in transit. The code stays valid for its owner.
/// Root is accepted: it can read the token anyway, and Windows' browser connects to WSL as root.
async fn demand_own_user(peer: Option<Peer>) -> Result<(), ApiError> {
    let Some(Peer::Tcp { local, remote }) = peer else {
        return Ok(());
    };
    let asked = tokio::task::spawn_blocking(move || owner::of(local, remote)).await;
    let failed = |error: &dyn std::fmt::Display| ApiError::failed(Code::Internal, &error);
    let uid = asked
        .map_err(|error| failed(&error))?
        .map_err(|error| failed(&error))?;
    let us = rustix::process::geteuid().as_raw();
    match uid {
        Some(uid) if uid == us || uid == 0 => Ok(()),
        uid => {
            tracing::warn!(?uid, "refused to sign in another user");
            Err(Code::ForeignUser.into())
        }
    }
}
