//! HTTP requests to the targets. Redirects are not followed, and each request ends within a time.

use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hub_protocol::first_chars;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use super::Forward;

/// How long a target may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// How much of an answer is read, in bytes.
const MAX_ANSWER: usize = 16 * 1024;
/// How much of an error's text is shown, in characters.
const SHOWN: usize = 200;

/// An HTTP client; clones share its connections.
#[derive(Clone)]
pub struct Poster(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

/// The outcome of an attempt.
#[derive(Debug)]
pub enum PostOutcome {
    /// The target has accepted it.
    Accepted,
    /// The target refuses this one for good, for this reason.
    Refused(String),
    /// The attempt failed and must be repeated, after this pause if the target asks for one.
    Failed(String, Option<Duration>),
}

impl Poster {
    /// Creates a client; with `tls`, the system must have root certificates.
    pub fn new(tls: bool) -> anyhow::Result<Self> {
        let builder = HttpsConnectorBuilder::new();
        let builder = if tls {
            let roots = builder.with_native_roots();
            roots.context("https needs the system's root certificates (package ca-certificates)")?
        } else {
            builder.with_tls_config(no_roots())
        };
        let connector = builder.https_or_http().enable_http1().build();
        Ok(Self(Client::builder(TokioExecutor::new()).build(connector)))
    }

    /// Sends a request, and returns the head of the response.
    pub async fn open(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
        match tokio::time::timeout(PATIENCE, self.0.request(request)).await {
            Ok(answered) => answered.map_err(|error| format!("{:#}", anyhow::Error::from(error))),
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        }
    }

    /// Posts a body to the target of a forward.
    pub(super) async fn post(&self, forward: &Forward, body: Bytes) -> PostOutcome {
        let request = Request::post(forward.address()).header(CONTENT_TYPE, "application/json");
        let request = match authorized(request, forward).body(Full::new(body)) {
            Ok(request) => request,
            // The address and the token are checked at the start.
            Err(error) => return PostOutcome::Refused(error.to_string()),
        };
        match self.open(request).await {
            Ok(response) => PostOutcome::of(response).await,
            Err(why) => PostOutcome::Failed(why, None),
        }
    }
}

/// TLS that trusts no certificate, for a client whose targets are all `http`.
fn no_roots() -> rustls::ClientConfig {
    let roots = rustls::RootCertStore::empty();
    let config = rustls::ClientConfig::builder().with_root_certificates(roots);
    config.with_no_client_auth()
}

/// Adds the access token of a forward to a request.
pub(super) fn authorized(
    request: hyper::http::request::Builder,
    forward: &Forward,
) -> hyper::http::request::Builder {
    let request = request.header(USER_AGENT, concat!("hubd/", env!("CARGO_PKG_VERSION")));
    match &forward.token {
        Some(token) => request.header("authorization", format!("Bearer {}", token.expose())),
        None => request,
    }
}

impl PostOutcome {
    /// The outcome that a response reports.
    pub async fn of(response: Response<Incoming>) -> Self {
        let status = response.status();
        let pause = pause(response.headers());
        let body = tokio::time::timeout(
            PATIENCE,
            Limited::new(response.into_body(), MAX_ANSWER).collect(),
        );
        let body = body.await.ok().and_then(Result::ok);
        if status.is_success() {
            return Self::Accepted;
        }
        let text = body.map(|it| String::from_utf8_lossy(&it.to_bytes()).into_owned());
        let text = text.unwrap_or_default();
        let text = first_chars(&text, SHOWN).trim();
        let why = format!("the target answers {status}: {text}");
        if is_for_good(status) {
            Self::Refused(why)
        } else {
            Self::Failed(why, pause)
        }
    }
}

/// Whether a status is about the notification itself, so that another attempt would fail as well. A wrong address or token
/// is not: once it is corrected, the target gets everything that it has missed.
fn is_for_good(status: StatusCode) -> bool {
    status.is_client_error()
        && !matches!(
            status.as_u16(),
            401 | 403 | 404 | 407 | 408 | 410 | 425 | 429
        )
}

/// The pause that the target asks for, in whole seconds.
fn pause(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_fault_of_the_notification_is_for_good() {
        for (status, expected) in [
            (301, false),
            (400, true),
            (401, false),
            (404, false),
            (408, false),
            (413, true),
            (422, true),
            (429, false),
            (500, false),
            (503, false),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(is_for_good(status), expected, "{status}");
        }
    }
}
