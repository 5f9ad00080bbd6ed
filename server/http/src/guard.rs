//! The access check before every route, including paths that do not exist.
//!
//! The checks run in this order: malformed 400, Host 421, Origin and Sec-Fetch-Site 403, token 401. Behind the guard
//! the router answers 404 and 405, and its handlers 413, 415 and 422. On the Unix socket, the peer's user replaces the
//! checks of Host and token.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::Request;
use axum::http::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderName, ORIGIN,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use hub_core::secret::Token;
use hub_core::time::Now;
use tower::{Layer as _, ServiceExt as _};
use tower_http::catch_panic::{CatchPanic, CatchPanicLayer, ResponseForPanic};

use crate::error::{ApiError, Code, Delayed, PROBLEM_JSON};
use crate::login::{DashboardSession, Devices, SessionTokenError};
use crate::peer::Peer;
use crate::routes::{self, Property};

mod wrong_host_page;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
/// Sent with the request for the script of a service worker, and with no other.
const SERVICE_WORKER: HeaderName = HeaderName::from_static("service-worker");
const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

/// How long a client waits for a delayed answer, so that one that asks again and again without a pause leaves the processor
/// to the others.
const DELAY: Duration = Duration::from_millis(250);

/// The credentials that the guard accepts: the token, the sessions of devices, and the values of Host.
#[derive(Clone)]
pub struct Guard {
    token: Token,
    devices: Devices,
    allowed_hosts: Arc<[String]>,
}

/// Routes behind the guard. It also hides 404 and 405 from unauthorized clients.
#[derive(Clone)]
pub struct Guarded {
    routes: CatchPanic<Router, Panicked>,
    guard: Guard,
}

/// Makes the response for a handler that panicked.
#[derive(Clone)]
struct Panicked;

/// Puts the guard before all of `routes`, and turns every error into a problem document, including panics.
pub fn protect(routes: Router, guard: Guard) -> Guarded {
    let routes = CatchPanicLayer::custom(Panicked).layer(routes);
    Guarded { routes, guard }
}

impl Guarded {
    /// Answers one request. A plain method, because as a layer the guard would cost every request a boxed future and a
    /// clone of itself.
    pub async fn answer(&self, mut request: Request) -> Response {
        let is_foreign_worker = is_foreign_worker(&request);
        let mut response = match self.guard.admit(&request) {
            Ok(None) => respond(self.routes.clone(), request).await,
            Ok(Some(session)) => {
                request.extensions_mut().insert(session.clone());
                // Boxed, because every other request would have to be as large as two of these.
                let response = Box::pin(respond(self.routes.clone(), request));
                match session.removed().run_until_cancelled(response).await {
                    Some(response) => end_with(&session, response),
                    None => session_over().into_response(),
                }
            }
            Err(error) => {
                wrong_host_page::page(&request, &error).unwrap_or_else(|| error.into_response())
            }
        };
        if response.extensions().get::<Delayed>().is_some() {
            Box::pin(tokio::time::sleep(DELAY)).await;
        }
        let headers = response.headers_mut();
        if is_foreign_worker {
            headers.insert(CLEAR_SITE_DATA, HeaderValue::from_static("\"storage\""));
        }
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
        headers
            .entry(CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-store"));
        response
    }
}

impl Guard {
    /// A guard that accepts `token`; `allowed_hosts` are values of Host besides the loopback names.
    pub fn new(token: Token, devices: Devices, allowed_hosts: &[String]) -> Self {
        Self {
            token,
            devices,
            allowed_hosts: allowed_hosts.into(),
        }
    }

    /// Checks a request. Returns the dashboard session that made it, if one did.
    fn admit(&self, request: &Request) -> Result<Option<DashboardSession>, ApiError> {
        if !request.uri().path().starts_with('/') {
            return Err(ApiError::new(
                Code::Malformed,
                "the request's target is no path",
            ));
        }
        let headers = request.headers();
        match request.extensions().get::<Peer>() {
            Some(Peer::Unix { .. }) => check_origin(request, None).map(|()| None),
            Some(Peer::Tcp { local, .. }) => {
                let host = self.check_host(headers, request.uri(), local.port())?;
                check_origin(request, Some(host))?;
                let properties = routes::properties(request.method(), request.uri().path());
                if properties.contains(&Property::Public) {
                    return Ok(None);
                }
                let session = self.check_token(headers)?;
                session
                    .as_ref()
                    .map_or(Ok(()), |it| check_access(it, request))?;
                Ok(session)
            }
            // No socket of this hub has such a peer.
            Some(Peer::Relayed { .. }) | None => Err(Code::WrongHost.into()),
        }
    }

    /// The Host header, if there is exactly one and it names the hub. The authority of an absolute URI must name it
    /// too.
    fn check_host<'a>(
        &self,
        headers: &'a HeaderMap,
        uri: &Uri,
        port: u16,
    ) -> Result<&'a str, ApiError> {
        let Field::One(host) = Field::of(headers, &HOST) else {
            return Err(ApiError::new(
                Code::WrongHost,
                "exactly one Host header is needed",
            ));
        };
        let mut names = [host]
            .into_iter()
            .chain(uri.authority().map(Authority::as_str));
        if names.all(|name| self.is_ours(name, port)) {
            Ok(host)
        } else {
            // The detail tells a person whose forwarded port differs what to do.
            Err(ApiError::new(
                Code::WrongHost,
                format!("this is http://127.0.0.1:{port}; forward it under the same port"),
            ))
        }
    }

    fn is_ours(&self, host: &str, port: u16) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, digits)) if is_decimal(digits, port) => name,
            _ if port == 80 => host,
            _ => "",
        };
        let allowed = |known: &String| known.eq_ignore_ascii_case(host);
        is_loopback(name) || self.allowed_hosts.iter().any(allowed)
    }

    /// Accepts the hub's token, or the token of a dashboard session, which it returns.
    fn check_token(&self, headers: &HeaderMap) -> Result<Option<DashboardSession>, ApiError> {
        let Field::One(value) = Field::of(headers, &AUTHORIZATION) else {
            return Err(Code::Unauthorized.into());
        };
        let (scheme, token) = value.split_once(' ').unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Code::Unauthorized.into());
        }
        if self.token.matches(token.as_bytes()) {
            return Ok(None);
        }
        match self.devices.verify(token, Now::read()) {
            Ok(session) => Ok(Some(session)),
            Err(SessionTokenError::Forged) => Err(Code::Unauthorized.into()),
            Err(SessionTokenError::Over) => Err(session_over()),
        }
    }
}

/// Refuses what a paired phone may not do. It may sign itself out.
fn check_access(session: &DashboardSession, request: &Request) -> Result<(), ApiError> {
    let Some(access) = session.access() else {
        return Ok(());
    };
    let (method, path) = (request.method(), request.uri().path());
    let own = path.strip_prefix("/login/devices/") == Some(session.id());
    if own || routes::is_for_phones(access, method, path) {
        return Ok(());
    }
    Err(Code::NotForPhones.into())
}

/// Whether `digits` is `number` as Rust prints it.
fn is_decimal(digits: &str, number: u16) -> bool {
    digits.parse() == Ok(number) && !digits.starts_with(['0', '+'])
}

async fn respond(routes: CatchPanic<Router, Panicked>, request: Request) -> Response {
    match routes.oneshot(request).await {
        Ok(response) => as_problem(response.map(Body::new)),
        Err(never) => match never {},
    }
}

fn session_over() -> ApiError {
    ApiError::new(
        Code::Unauthorized,
        "the dashboard's session is over; run hubctl dashboard again",
    )
}

/// Whether a browser requests the script of a service worker that is not the hub's. Another program that had the hub's
/// port may have left one in the browser, and it would answer for the hub from then on. Browsers look for a new version
/// of it when a page is loaded; the response makes them remove it, with all other data that the program stored.
fn is_foreign_worker(request: &Request) -> bool {
    request.headers().contains_key(SERVICE_WORKER) && request.uri().path() != "/service-worker.js"
}

/// Refuses requests from pages of other origins. Any page may link to the start page, but to nothing else.
fn check_origin(request: &Request, host: Option<&str>) -> Result<(), ApiError> {
    let headers = request.headers();
    let ours = |origin: &str| {
        let authority = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        authority.is_some() && authority == host
    };
    match Field::of(headers, &ORIGIN) {
        Field::Absent => {}
        Field::One(origin) if ours(origin) => {}
        _ => return Err(Code::ForeignOrigin.into()),
    }
    let is = |name: &HeaderName, value| Field::of(headers, name) == Field::One(value);
    let navigation = request.method() == Method::GET
        && request.uri().path() == "/"
        && is(&SEC_FETCH_MODE, "navigate")
        && is(&SEC_FETCH_DEST, "document");
    match Field::of(headers, &SEC_FETCH_SITE) {
        Field::Absent | Field::One("same-origin" | "none") => Ok(()),
        Field::One(_) if navigation => Ok(()),
        _ => Err(Code::ForeignOrigin.into()),
    }
}

/// A header that must not occur twice.
#[derive(PartialEq, Eq)]
enum Field<'a> {
    Absent,
    One(&'a str),
    /// It occurs twice, or is not text.
    Unclear,
}

impl<'a> Field<'a> {
    fn of(headers: &'a HeaderMap, name: &HeaderName) -> Self {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Self::Absent,
            (Some(value), None) => value.to_str().map_or(Self::Unclear, Self::One),
            (Some(_), Some(_)) => Self::Unclear,
        }
    }
}

/// Ends a stream when the session that opened it ends, or when its device is removed.
fn end_with(session: &DashboardSession, response: Response) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let expiry = tokio::time::sleep(session.remaining(Now::read()));
    let removed = session.removed().clone();
    let end = async move { removed.run_until_cancelled(expiry).await };
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(end)))
}

/// Turns errors that no handler made (404, 405, refusals of extractors) into problem documents. The errors of MCP are
/// JSON of its own form.
fn as_problem(response: Response) -> Response {
    let status = response.status();
    let is_from_handler = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind == PROBLEM_JSON || kind == "application/json");
    if !(status.is_client_error() || status.is_server_error()) || is_from_handler {
        return response;
    }
    let mut problem = ApiError::from(Code::of_status(status)).into_response();
    if let Some(allow) = response.headers().get(ALLOW) {
        problem.headers_mut().insert(ALLOW, allow.clone());
    }
    problem
}

impl ResponseForPanic for Panicked {
    type ResponseBody = Body;

    fn response_for_panic(&mut self, panic: Box<dyn Any + Send>) -> Response {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("unknown panic");
        ApiError::failed(Code::Internal, &text).into_response()
    }
}

/// Whether a host in an address is this machine's own.
pub(crate) fn is_loopback(name: &str) -> bool {
    let names = ["127.0.0.1", "localhost", "[::1]"];
    names.iter().any(|it| it.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests;
