//! The hub, as this client talks to it.

mod path;
mod proof;
mod token;

use std::os::unix::fs::MetadataExt;
use std::path::Path as FilePath;
use std::time::Duration;

use hub_protocol::Problem;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, Method, Response};
use serde::de::DeserializeOwned;

pub(crate) use self::path::Path;
use self::token::Token;
use crate::error::{Error, Unreachable};
use crate::random::random_hex;
use crate::settings::{Address, HubUrl, Settings};

/// How long a hub may take to answer what it can answer at once; past it the hub counts as down.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How long a hub may take to take a connection.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);

/// A hub and the way to it. Nothing is sent before the first request.
#[derive(Debug)]
pub(crate) struct Hub {
    http: Client,
    base: String,
    /// Where it is, for people.
    place: String,
    remote: Option<Remote>,
}

/// A hub behind TCP: whoever listens there must prove that it has the token before it is shown.
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

    /// With this header.
    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Hub {
    /// The hub that `settings` name; an error where its socket or token cannot be trusted.
    pub(crate) fn open(settings: &Settings) -> Result<Self, Error> {
        let client = client();
        let (client, base, remote) = match &settings.address.value {
            Address::Socket(path) => {
                check_owner(path)?;
                (
                    client.unix_socket(path.as_path()),
                    "http://localhost".into(),
                    None,
                )
            }
            Address::Url(url) => {
                let token = Token::read(&settings.token_file.value)?;
                let remote = Remote {
                    url: url.clone(),
                    authorization: token.authorization()?,
                    token,
                };
                (client, url.base.clone(), Some(remote))
            }
        };
        let http = client.build().map_err(anyhow::Error::from)?;
        Ok(Self {
            http,
            base,
            place: settings.address.value.to_string(),
            remote,
        })
    }

    /// Whether the hub is behind TCP, and so perhaps on another machine.
    pub(crate) fn is_remote(&self) -> bool {
        self.remote.is_some()
    }

    /// Whether this hub is what listens at `url`: both prove the same token for that address.
    pub(crate) async fn is_at(&self, url: &HubUrl) -> bool {
        if let Some(remote) = &self.remote {
            return self.demand_proof(remote).await.is_ok();
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

    /// The answer to `request` once its head is there, within `patience`; refusals are errors.
    pub(crate) async fn send(
        &self,
        request: &Request,
        patience: Duration,
    ) -> Result<Response, Error> {
        // reqwest's own timeout would cover the body too, which for a stream has no end.
        match tokio::time::timeout(patience, self.exchange(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(silent(patience)),
        }
    }

    async fn exchange(&self, request: &Request) -> Result<Response, Error> {
        if let Some(remote) = &self.remote {
            self.demand_proof(remote).await?;
        }
        let url = format!("{}{}", self.base, request.path);
        let mut call = self.http.request(request.method.clone(), url);
        for (name, value) in &request.headers {
            call = call.header(*name, value);
        }
        if let Some(remote) = &self.remote {
            call = call.header(AUTHORIZATION, remote.authorization.clone());
        }
        if let Some(body) = &request.body {
            call = call.body(body.clone());
        }
        let response = call
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refused(response).await)
    }

    async fn demand_proof(&self, remote: &Remote) -> Result<(), Error> {
        let nonce = random_hex()?;
        let path = Path::new("/hello").with("nonce", &nonce);
        let call = self.http.get(format!("{}{path}", self.base));
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
        Err(Error::Unreachable(Unreachable {
            connected: false,
            reason: format!(
                "what listens on {} is not the hub that this token belongs to",
                remote.url.base
            ),
        }))
    }

    fn unreachable(&self, error: &reqwest::Error) -> Error {
        match unreachable(error) {
            Error::Unreachable(failure) if !failure.connected => Error::Unreachable(Unreachable {
                reason: format!("nothing listens at {} ({})", self.place, failure.reason),
                ..failure
            }),
            other => other,
        }
    }

    /// The body of the answer to `request`.
    pub(crate) async fn text(&self, request: &Request) -> Result<String, Error> {
        self.text_within(request, PATIENCE).await
    }

    /// The body of the answer to `request`, whose head comes within `patience`.
    pub(crate) async fn text_within(
        &self,
        request: &Request,
        patience: Duration,
    ) -> Result<String, Error> {
        let response = self.send(request, patience).await?;
        match tokio::time::timeout(PATIENCE, response.text()).await {
            Ok(text) => text.map_err(|error| unreachable(&error)),
            Err(_) => Err(silent(PATIENCE)),
        }
    }

    /// The body of the answer to `request`, parsed.
    pub(crate) async fn json<T: DeserializeOwned>(&self, request: &Request) -> Result<T, Error> {
        parse(&self.text(request).await?)
    }
}

/// What asks a hub: it goes nowhere but where it was told to.
fn client() -> reqwest::ClientBuilder {
    Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_PATIENCE)
}

/// Whether the token in `path` is there, and ours alone.
pub(crate) fn check_token(path: &FilePath) -> Result<(), Error> {
    Token::read(path).map(drop)
}

/// A body of the hub, parsed.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text)
        .map_err(|error| anyhow::anyhow!("the hub's answer is not understood: {error}").into())
}

/// A socket that somebody else made is somebody else's hub.
fn check_owner(socket: &FilePath) -> Result<(), Error> {
    match std::fs::metadata(socket) {
        Ok(meta) if meta.uid() != rustix::process::geteuid().as_raw() => {
            Err(Error::Failed(anyhow::anyhow!(
                "{} belongs to user {}: not asking that hub",
                socket.display(),
                meta.uid()
            )))
        }
        // What is not there, or cannot be looked at, cannot be connected to either.
        _ => Ok(()),
    }
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
        detail: None,
        hint: None,
        more: serde_json::Map::new(),
    })))
}

fn silent(patience: Duration) -> Error {
    Error::Unreachable(Unreachable {
        connected: true,
        reason: format!("no answer within {} s", patience.as_secs()),
    })
}

/// What a failed exchange means; the innermost cause is the one that tells.
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
