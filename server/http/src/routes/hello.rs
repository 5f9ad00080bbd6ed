//! `GET /hello`: the hub proves that it knows the token, or a dashboard's session, so that a client can distinguish it
//! from another program on its port.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::HOST;
use hub_core::secret::hex;
use hub_core::time::Now;
use hub_protocol::Hello;
use serde::Deserialize;

use crate::error::{ApiError, Code};
use crate::login::LoginState;
use crate::request::params::Params;

/// The query: the client's nonce, and the session to prove, if not the token.
#[derive(Deserialize)]
pub(super) struct HelloParams {
    nonce: String,
    session: Option<String>,
}

/// Proves the token for the client's nonce, 16 to 128 hexadecimal digits. The proof is valid for the address in Host
/// only: a program that relays the request to the hub gets a proof for the hub's own address. With `session`, the part
/// of a session's token before its dot, the hub proves that session's token instead: the dashboard knows no other
/// secret.
#[allow(clippy::unused_async)] // a handler
pub(super) async fn hello(
    State(login): State<LoginState>,
    headers: HeaderMap,
    Params(params): Params<HelloParams>,
) -> Result<Json<Hello>, ApiError> {
    let nonce = &params.nonce;
    if !(16..=128).contains(&nonce.len()) || !nonce.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(ApiError::new(
            Code::Invalid,
            "nonce must be 16 to 128 hexadecimal digits",
        ));
    }
    let address = headers.get(HOST).map_or(&b""[..], |host| host.as_bytes());
    let parts = [nonce.as_bytes(), address];
    let proof = match &params.session {
        None => login.token.hmac(&parts),
        Some(id) => login
            .devices
            .prove(id, &parts, Now::read())
            .ok_or_else(|| ApiError::new(Code::Invalid, "session is over, or none"))?,
    };
    Ok(Json(Hello {
        proof: hex(&proof),
        version: env!("CARGO_PKG_VERSION").into(),
    }))
}
