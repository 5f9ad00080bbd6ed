//! The connection to the hub: transport, proof of identity, requests. Uses [`crate::settings`] and [`crate::system`].

pub(crate) mod backoff;
pub(crate) mod pages;
mod path;
mod proof;
mod socket;
pub(crate) mod sse;
mod token;

use std::path::Path as FilePath;
use std::time::Duration;

use hub_protocol::{About, Problem, one_line};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, Method, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

pub use self::path::Path;
use self::socket::Socket;
use self::token::Token;
use crate::error::{Error, Unreachable};
use crate::settings::{Address, HubUrl, Settings};
use crate::system::random::random_hex;

/// How long the hub may take for a request that it can answer at once; after that the hub counts as down.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait for an optional answer while a person or a shell waits.
pub(crate) const SOON: Duration = Duration::from_secs(1);

/// How long connecting to the hub may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);

/// A hub and the transport to it. Nothing is sent before the first request.
#[derive(Debug)]
pub(crate) struct Hub {
    transport: Transport,
    base: String,
    /// The address, for messages to people.
    place: String,
}

/// The transport to a hub. Each request first checks the identity of the server.
#[derive(Debug)]
enum Transport {
    Socket(Socket),
    Tcp(Client, Remote),
}

/// A hub behind TCP. A server there must prove that it has the token before it is sent the token.
#[derive(Debug)]
struct Remote {
    url: HubUrl,
    token: Token,
    authorization: HeaderValue,
}

/// A request before it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    method: Method,
    path: Path,
    headers: Vec<(&'static str, String)>,
    body: Option<String>,
}

impl Request {
    /// A request without a body.
    pub(crate) fn new(method: Method, path: Path) -> Self {
        Self {
            method,
            path,
            headers: Vec::new(),
            body: None,
        }
    }

    /// `GET path`.
    pub(crate) fn get(path: Path) -> Self {
        Self::new(Method::GET, path)
    }

    /// `POST path` with a JSON body.
    pub(crate) fn post(path: Path, json: impl Into<String>) -> Self {
        Self::new(Method::POST, path).json(json)
    }

    /// `PUT path` with a JSON body.
    pub(crate) fn put(path: Path, json: impl Into<String>) -> Self {
        Self::new(Method::PUT, path).json(json)
    }

    fn json(mut self, json: impl Into<String>) -> Self {
        self.body = Some(json.into());
        self.header("content-type", "application/json")
    }

    /// Returns the request with this header.
    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Hub {
    /// Opens the hub that `settings` name. Over TCP, reads the token; it is an error if its file cannot be trusted.
    pub(crate) fn open(settings: &Settings) -> Result<Self, Error> {
        let (transport, base) = match &settings.address.value {
            Address::Socket(path) => (
                Transport::Socket(Socket::new(path)),
                "http://localhost".into(),
            ),
            Address::Url(url) => {
                let token = Token::read(&settings.token_file.value)?;
                let remote = Remote {
                    url: url.clone(),
                    authorization: token.authorization()?,
                    token,
                };
                let http = client().build().map_err(anyhow::Error::from)?;
                (Transport::Tcp(http, remote), url.base.clone())
            }
        };
        Ok(Self {
            transport,
            base,
            place: settings.address.value.to_string(),
        })
    }

    /// Whether the hub is reached over TCP, so that it may be on another machine.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.transport, Transport::Tcp(..))
    }

    /// Whether this hub's address is on another machine. At the end of a tunnel it may be there all the same.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(&self.transport, Transport::Tcp(_, remote) if !remote.url.is_local())
    }

    /// The URL at which this hub serves the dashboard and the API.
    pub(crate) async fn url(&self, patience: Duration) -> Result<String, Error> {
        if self.is_remote() {
            return Ok(self.base.clone());
        }
        let About { url, .. } = self.about(patience).await?;
        Ok(one_line(&url).into_owned())
    }

    /// What the hub reports about itself.
    pub(crate) async fn about(&self, patience: Duration) -> Result<About, Error> {
        let request = Request::get(Path::new("/hub"));
        parse(&self.text_within(&request, patience).await?)
    }

    /// Whether this hub listens at `url`: both must give the same proof of the token for that address.
    pub(crate) async fn is_at(&self, url: &HubUrl) -> bool {
        if let Transport::Tcp(http, remote) = &self.transport {
            return self.demand_proof(http, remote).await.is_ok();
        }
        let (Ok(nonce), Ok(http)) = (random_hex(), client().build()) else {
            return false;
        };
        let path = Path::new("/hello").with("nonce", &nonce);
        let call = http.get(format!("{}{path}", url.base));
        let there = async { call.timeout(CONNECT_PATIENCE).send().await?.text().await };
        let ours = Request::get(path).header("host", &url.authority);
        match (self.text(&ours).await, there.await) {
            (Ok(ours), Ok(there)) => ours == there,
            _ => false,
        }
    }

    /// Returns the answer to `request` as soon as its head has arrived, within `patience`. A refusal is an error.
    pub(crate) async fn send(
        &self,
        request: &Request,
        patience: Duration,
    ) -> Result<Response, Error> {
        let until = Instant::now() + patience;
        let response = self.answer(request, patience).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        // A refusal is read within the same time: its body may never end.
        let refusal = tokio::time::timeout_at(until, refused(response)).await;
        Err(refusal.unwrap_or_else(|_| silent(patience)))
    }

    /// [`Hub::send`], but a refusal is an answer as well.
    pub(crate) async fn answer(
        &self,
        request: &Request,
        patience: Duration,
    ) -> Result<Response, Error> {
        // reqwest's own timeout would include the body, which never ends for a stream.
        match tokio::time::timeout(patience, self.exchange(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(silent(patience)),
        }
    }

    async fn exchange(&self, request: &Request) -> Result<Response, Error> {
        let (http, authorization) = match &self.transport {
            Transport::Socket(socket) => {
                (socket.client().await.map_err(|it| self.placed(it))?, None)
            }
            Transport::Tcp(http, remote) => {
                self.demand_proof(http, remote).await?;
                (http.clone(), Some(&remote.authorization))
            }
        };
        let url = format!("{}{}", self.base, request.path);
        let mut call = http.request(request.method.clone(), url);
        for (name, value) in &request.headers {
            call = call.header(*name, value);
        }
        if let Some(authorization) = authorization {
            call = call.header(AUTHORIZATION, authorization.clone());
        }
        if let Some(body) = &request.body {
            call = call.body(body.clone());
        }
        call.send().await.map_err(|error| self.unreachable(&error))
    }

    async fn demand_proof(&self, http: &Client, remote: &Remote) -> Result<(), Error> {
        let nonce = random_hex()?;
        let path = Path::new("/hello").with("nonce", &nonce);
        let call = http.get(format!("{}{path}", self.base));
        let answer = call
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        let body = answer.bytes().await.map_err(|error| unreachable(&error))?;
        if remote
            .token
            .is_proven_by(&body, &nonce, &remote.url.authority)
        {
            return Ok(());
        }
        // Another hub, or another program: nothing is spooled for it.
        Err(Error::Failed(anyhow::anyhow!(
            "the program that listens on {} is not the hub of this token",
            remote.url.base
        )))
    }

    fn unreachable(&self, error: &reqwest::Error) -> Error {
        self.placed(unreachable(error))
    }

    /// Adds the address to an error that says that no connection was made.
    fn placed(&self, error: Error) -> Error {
        match error {
            Error::Unreachable(failure) if !failure.connected => Error::Unreachable(Unreachable {
                reason: format!("nothing listens at {} ({})", self.place, failure.reason),
                ..failure
            }),
            other => other,
        }
    }

    /// Sends `request` and returns the body of the answer.
    pub(crate) async fn text(&self, request: &Request) -> Result<String, Error> {
        self.text_within(request, PATIENCE).await
    }

    /// Sends `request` and returns the body of the answer, whose head must arrive within `patience`.
    pub(crate) async fn text_within(
        &self,
        request: &Request,
        patience: Duration,
    ) -> Result<String, Error> {
        body(self.send(request, patience).await?).await
    }
}

/// Reads the body of an answer whose head has arrived.
pub(crate) async fn body(response: Response) -> Result<String, Error> {
    match tokio::time::timeout(PATIENCE, response.text()).await {
        Ok(text) => text.map_err(|error| unreachable(&error)),
        Err(_) => Err(silent(PATIENCE)),
    }
}

/// An HTTP client that uses no proxy and follows no redirect, so that requests reach only the given address.
fn client() -> reqwest::ClientBuilder {
    Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_PATIENCE)
}

/// Checks that the token in `path` exists and that only this user can read it.
pub(crate) fn check_token(path: &FilePath) -> Result<(), Error> {
    Token::read(path).map(drop)
}

/// Parses a body of the hub as JSON.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text)
        .map_err(|error| anyhow::anyhow!("cannot read the hub's answer: {error}").into())
}

/// Writes the body of a request as JSON.
pub(crate) fn json(body: &impl Serialize) -> Result<String, Error> {
    Ok(serde_json::to_string(body).map_err(anyhow::Error::from)?)
}

async fn refused(response: Response) -> Error {
    let status = response.status();
    let problem = match response.text().await {
        Ok(body) => serde_json::from_str(&body).ok(),
        Err(_) => None,
    };
    Error::Refused(Box::new(problem.unwrap_or_else(|| Problem {
        status: status.as_u16(),
        code: "unknown".into(),
        title: format!("the hub answered {status}"),
        ..Problem::default()
    })))
}

fn silent(patience: Duration) -> Error {
    Error::Unreachable(Unreachable {
        connected: true,
        reason: format!("no answer within {} s", patience.as_secs()),
    })
}

/// Classifies an I/O error from connecting to a socket.
fn unreachable_io(error: &std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::PermissionDenied {
        return Error::Blocked(error.to_string());
    }
    Error::Unreachable(Unreachable {
        connected: false,
        reason: error.to_string(),
    })
}

/// Classifies a failed exchange by its innermost cause.
pub(crate) fn unreachable(error: &reqwest::Error) -> Error {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let io = cause.downcast_ref::<std::io::Error>();
    if error.is_connect() && io.is_some_and(|io| io.kind() == std::io::ErrorKind::PermissionDenied)
    {
        return Error::Blocked(cause.to_string());
    }
    Error::Unreachable(Unreachable {
        connected: !error.is_connect(),
        reason: cause.to_string(),
    })
}
