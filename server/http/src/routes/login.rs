//! Signing in to the dashboard, and the browsers that are signed in.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN, USER_AGENT};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::{Extension, Json};
use hub_core::time::Now;
use hub_engine::Hub;
use hub_protocol::{Device, Devices, PhonePairing, SignInCode, Timestamp, is_hidden};
use serde::{Deserialize, Serialize};

use crate::error::{ApiError, Code};
use crate::guard::is_loopback;
use crate::login::{
    CODE_LIFE, DashboardSession, Holder, LoginState, NewDevice, OpenedSession, PAIRING_LIFE,
    Pairing, name_of,
};
use crate::peer::{Peer, owner};
use crate::request::caller::Caller;
use crate::request::params::PathParam;
use crate::request::payload::Payload;

/// Largest body with a code, in bytes. The limit is small because any local program may send many of them at once.
const MAX_BYTES: usize = 1024;
/// Longest name of a phone, in bytes.
const MAX_NAME: usize = 64;
/// Timeout for reading such a body.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
pub(super) struct LoginBody {
    code: String,
}

/// How a browser proves that it knows the token of its session, which it keeps as a key that cannot be read.
#[derive(Deserialize)]
pub(super) struct ResumeBody {
    /// The id in the session's token.
    session: String,
    challenge: String,
    /// The browser's key under its cover, in hexadecimal: see `login/devices/verifier.rs`.
    proof: String,
}

#[derive(Serialize)]
pub(super) struct LoginReply {
    token: String,
    expires_at: Timestamp,
}

#[derive(Serialize)]
pub(super) struct ChallengeReply {
    challenge: String,
}

#[derive(Serialize)]
pub(super) struct RemovedReply {
    removed: usize,
}

/// `POST /login/code`: a sign-in code for a browser of the person.
pub(super) async fn code(
    State(hub): State<Hub>,
    State(login): State<LoginState>,
    caller: Caller,
) -> Result<(StatusCode, Json<SignInCode>), ApiError> {
    demand_giver(caller, &hub).await?;
    let now = Now::read();
    let code = login.codes.issue(now.mono).map_err(failed)?;
    let base = format!("http://127.0.0.1:{}", login.port);
    Ok(issued(&base, code, CODE_LIFE, now))
}

/// `POST /login/phone`: a code that pairs a phone, which reaches the hub at one of `allowed_hosts` by https.
pub(super) async fn phone(
    State(hub): State<Hub>,
    State(login): State<LoginState>,
    caller: Caller,
    payload: Payload,
) -> Result<(StatusCode, Json<SignInCode>), ApiError> {
    demand_giver(caller, &hub).await?;
    let pairing = pairing(&login, payload.json()?)?;
    let base = format!("https://{}", pairing.host);
    let now = Now::read();
    let code = login.codes.issue_pairing(pairing, now.mono);
    Ok(issued(&base, code.map_err(failed)?, PAIRING_LIFE, now))
}

/// Refuses everyone who may not give a code away. A dashboard session may not, because a stolen session must not outlive
/// its end.
async fn demand_giver(caller: Caller, hub: &Hub) -> Result<(), ApiError> {
    if caller.is_dashboard() {
        return Err(Code::NeedsToken.into());
    }
    caller.demand_person(hub).await
}

fn pairing(login: &LoginState, wanted: PhonePairing) -> Result<Pairing, ApiError> {
    let invalid = |detail: &str| ApiError::invalid(detail);
    if login.hosts.is_empty() {
        return Err(invalid(
            "allowed_hosts names no address at which a phone reaches this hub: see docs/how-to/phone.md",
        ));
    }
    let is_it = |known: &&String| match &wanted.host {
        Some(host) => known.eq_ignore_ascii_case(host),
        None => true,
    };
    let host = login.hosts.iter().find(is_it);
    let host = host.ok_or_else(|| invalid("host must be one of allowed_hosts"))?;
    let is_bad = |it: &String| it.is_empty() || it.len() > MAX_NAME || it.chars().any(is_hidden);
    if wanted.name.as_ref().is_some_and(is_bad) {
        return Err(invalid("name has 1 to 64 bytes without hidden characters"));
    }
    Ok(Pairing {
        host: host.to_ascii_lowercase(),
        name: wanted.name,
        access: wanted.access,
    })
}

fn issued(base: &str, code: String, life: Duration, now: Now) -> (StatusCode, Json<SignInCode>) {
    let reply = SignInCode {
        url: format!("{base}/#code={code}"),
        code,
        expires_at: now.wall.plus_millis(1000 * life.as_secs().cast_signed()),
    };
    (StatusCode::CREATED, Json(reply))
}

/// `POST /login`: exchanges a code for a session, and remembers the browser.
pub(super) async fn login(
    State(login): State<LoginState>,
    request: Request,
) -> Result<Json<LoginReply>, ApiError> {
    let peer = request.extensions().get::<Peer>().copied();
    let host = text_of(request.headers(), &HOST);
    let origin = text_of(request.headers(), &ORIGIN);
    let name = name_of(&text_of(request.headers(), &USER_AGENT));
    let body: LoginBody = read(request).await?;
    let found = login.codes.find(&body.code, Now::read().mono);
    let holder = found.ok_or(Code::BadCode)?;
    match &holder {
        // The proxy of another user may bring it, from the address for which the person gave it away.
        Holder::Phone(pairing) => demand_origin(pairing, &origin)?,
        Holder::Browser => demand_own_user(peer, &host).await?,
    }
    let now = Now::read();
    if !login.codes.redeem(&body.code, now.mono) {
        return Err(Code::BadCode.into());
    }
    let devices = login.devices.clone();
    let (name, access) = match holder {
        Holder::Phone(it) => (it.name.unwrap_or(name), Some(it.access)),
        Holder::Browser => (name, None),
    };
    let add = move || {
        let host = &host;
        devices.add(NewDevice { name, host, access }, now)
    };
    let session = blocking(add).await?;
    Ok(Json(LoginReply::from(session)))
}

/// Refuses a code for a phone from any other page than the one of its link. The guard has checked that `Host` agrees with
/// the origin.
fn demand_origin(pairing: &Pairing, origin: &str) -> Result<(), ApiError> {
    let wanted = format!("https://{}", pairing.host);
    if origin.eq_ignore_ascii_case(&wanted) {
        return Ok(());
    }
    let detail = format!("this code is for {wanted} only");
    Err(ApiError::new(Code::BadCode, detail))
}

/// `POST /login/challenge`: a challenge for a browser that resumes its session.
pub(super) async fn challenge(
    State(login): State<LoginState>,
    request: Request,
) -> Result<Json<ChallengeReply>, ApiError> {
    let now = Now::read();
    let host = text_of(request.headers(), &HOST);
    if !login.devices.has_phone_at(&host, now) {
        demand_own_user(request.extensions().get::<Peer>().copied(), &host).await?;
    }
    let challenges = login.challenges_at(&host, now);
    let challenge = challenges.issue(now.mono).map_err(failed)?;
    Ok(Json(ChallengeReply { challenge }))
}

/// `POST /login/resume`: gives a browser the token of its session again. The session ends when it would have ended.
pub(super) async fn resume(
    State(login): State<LoginState>,
    request: Request,
) -> Result<Json<LoginReply>, ApiError> {
    let peer = request.extensions().get::<Peer>().copied();
    let host = text_of(request.headers(), &HOST);
    let body: ResumeBody = read(request).await?;
    let now = Now::read();
    if !login.devices.is_phone(&body.session, now) {
        demand_own_user(peer, &host).await?;
    }
    let challenges = login.challenges_at(&host, now);
    if !challenges.redeem(&body.challenge, now.mono) {
        return Err(Code::Unauthorized.into());
    }
    let claim = (&*body.session, &*body.challenge, &*body.proof);
    let session = login.devices.resume(claim, &host, now);
    let session = session.ok_or(Code::Unauthorized)?;
    Ok(Json(LoginReply::from(session)))
}

/// `GET /login/devices`: the browsers that are signed in.
pub(super) async fn devices(
    State(login): State<LoginState>,
    session: Option<Extension<DashboardSession>>,
) -> Json<Devices> {
    let devices = signed_in(&login, session.as_deref());
    Json(Devices { devices })
}

/// The browsers that are signed in, with the asking one marked.
pub(super) fn signed_in(login: &LoginState, session: Option<&DashboardSession>) -> Vec<Device> {
    let mut devices = login.devices.list(Now::read());
    for device in &mut devices {
        device.own = session.is_some_and(|it| it.id() == device.id);
    }
    devices
}

/// `DELETE /login/devices/{id}`: signs a browser out at once; `all` signs all of them out.
pub(super) async fn remove(
    State(hub): State<Hub>,
    State(login): State<LoginState>,
    caller: Caller,
    id: PathParam<String>,
) -> Result<Json<RemovedReply>, ApiError> {
    caller.refuse_agents(&hub).await?;
    let one = (id.0 != "all").then_some(id.0);
    let named = one.is_some();
    match blocking(move || login.devices.remove(one.as_deref())).await? {
        0 if named => Err(Code::UnknownDevice.into()),
        removed => Ok(Json(RemovedReply { removed })),
    }
}

impl From<OpenedSession> for LoginReply {
    fn from(opened: OpenedSession) -> Self {
        Self {
            expires_at: opened.session.expires(),
            token: opened.token,
        }
    }
}

async fn read<T: serde::de::DeserializeOwned>(request: Request) -> Result<T, ApiError> {
    let reading = tokio::time::timeout(PATIENCE, Payload::read(request, MAX_BYTES));
    let late = |_| ApiError::new(Code::Timeout, "the body did not come in time");
    reading.await.map_err(late)??.json()
}

/// Runs an operation that waits for the disk.
pub(super) async fn blocking<T, E>(
    operation: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, ApiError>
where
    T: Send + 'static,
    E: std::fmt::Display + Send + 'static,
{
    let done = tokio::task::spawn_blocking(operation).await;
    done.map_err(failed)?.map_err(failed)
}

fn text_of(headers: &HeaderMap, name: &HeaderName) -> String {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

#[allow(clippy::needless_pass_by_value)] // for map_err
fn failed(error: impl std::fmt::Display) -> ApiError {
    ApiError::failed(Code::Internal, &error)
}

/// Refuses another user of this machine, who may have seen the code in transit. The code stays valid for its owner.
async fn demand_own_user(peer: Option<Peer>, host: &str) -> Result<(), ApiError> {
    let Some(Peer::Tcp { local, remote }) = peer else {
        return Ok(());
    };
    let uid = owner::of(local, remote).await.map_err(failed)?;
    let us = rustix::process::geteuid().as_raw();
    match uid {
        Some(uid) if may_sign_in(uid, us, host) => Ok(()),
        uid => {
            tracing::warn!(?uid, "refused to sign in another user");
            Err(Code::ForeignUser.into())
        }
    }
}

/// Whether a browser of this user may sign in at this address. Root may at this machine's own: it can read the token anyway,
/// and Windows' browser connects to WSL as root. At another address it is a proxy, and anyone may be behind it.
fn may_sign_in(uid: u32, own: u32, host: &str) -> bool {
    let is_own_address = |it: Authority| is_loopback(it.host());
    uid == own || uid == 0 && host.parse().is_ok_and(is_own_address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_of_root_is_another_user_and_a_browser_of_root_is_not() {
        let (root, own, other) = (0, 1000, 65534);
        for host in ["127.0.0.1:7777", "localhost", "[::1]:7777"] {
            assert!(may_sign_in(root, own, host), "{host}");
            assert!(!may_sign_in(other, own, host), "{host}");
        }
        for host in ["hub.example", "hub.example:8443", "127.0.0.1.example", ""] {
            assert!(!may_sign_in(root, own, host), "{host}");
            assert!(may_sign_in(own, own, host), "{host}");
        }
    }
}
