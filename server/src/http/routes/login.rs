//! Signing in to the dashboard.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use hub_protocol::{SignInCode, Timestamp};
use serde::{Deserialize, Serialize};

use crate::core::time::Now;
use crate::http::error::{ApiError, Code};
use crate::http::login::{CODE_LIFE, DashboardSession, LoginState};
use crate::http::peer::{Peer, owner};
use crate::http::request::payload::Payload;

/// Largest body with a code, in bytes. The limit is small because any local program may send many of them at once.
const MAX_BYTES: usize = 1024;
/// Timeout for reading such a body.
const PATIENCE: Duration = Duration::from_secs(2);

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
    State(login): State<LoginState>,
    session: Option<Extension<DashboardSession>>,
) -> Result<(StatusCode, Json<SignInCode>), ApiError> {
    if session.is_some() {
        return Err(Code::NeedsToken.into());
    }
    let now = Now::read();
    let code = login.codes.issue(now.mono);
    let code = code.map_err(|error| ApiError::failed(Code::Internal, &error))?;
    let reply = SignInCode {
        url: format!("http://127.0.0.1:{}/#code={code}", login.port),
        code,
        expires_at: now
            .wall
            .plus_millis(1000 * CODE_LIFE.as_secs().cast_signed()),
    };
    Ok((StatusCode::CREATED, Json(reply)))
}

/// `POST /login`: exchanges a code for a session.
pub(super) async fn login(
    State(login): State<LoginState>,
    request: Request,
) -> Result<Json<LoginReply>, ApiError> {
    let peer = request.extensions().get::<Peer>().copied();
    let reading = tokio::time::timeout(PATIENCE, Payload::read(request, MAX_BYTES));
    let late = |_| ApiError::new(Code::Timeout, "the body did not come in time");
    let body: LoginBody = reading.await.map_err(late)??.json()?;
    if !login.codes.is_open(&body.code, Now::read().mono) {
        return Err(Code::BadCode.into());
    }
    demand_own_user(peer).await?;
    let now = Now::read();
    if !login.codes.redeem(&body.code, now.mono) {
        return Err(Code::BadCode.into());
    }
    let session = DashboardSession::start(now);
    Ok(Json(LoginReply {
        token: session.token(&login.token),
        expires_at: session.expires(),
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
