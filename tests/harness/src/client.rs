//! A client that validates every response against the contract.

use std::path::Path;
use std::time::Duration;

use hub_protocol::{Problem, Published, ResetEvent};
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::contract::{Contract, Response};
use crate::{DEADLINE, Events};

/// Read timeout of a response: no wait of a test is silent for longer, so the hub hangs.
const LONGEST_SILENCE: Duration = Duration::from_secs(120);

/// A client of one hub, over one transport with one kind of credentials.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
    contract: Contract,
}

/// A request that has not been sent yet.
#[derive(Debug)]
#[must_use]
pub struct Ask {
    method: Method,
    path: String,
    request: reqwest::RequestBuilder,
    contract: Contract,
}

/// A response that keeps the contract.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl Client {
    pub(crate) fn tcp(port: u16, token: Option<&str>, contract: &Contract) -> Self {
        Self {
            http: build(reqwest::Client::builder()),
            base: format!("http://127.0.0.1:{port}"),
            token: token.map(str::to_owned),
            contract: contract.clone(),
        }
    }

    pub(crate) fn unix(socket: &Path, contract: &Contract) -> Self {
        Self {
            http: build(reqwest::Client::builder().unix_socket(socket)),
            base: "http://localhost".into(),
            token: None,
            contract: contract.clone(),
        }
    }

    /// Builds a request; `path` may have a query.
    pub fn ask(&self, method: &str, path: &str) -> Ask {
        let method: Method = method.parse().expect("a method");
        let url = format!("{}{path}", self.base);
        let mut request = self.http.request(method.clone(), url);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        Ask {
            method,
            path: path.split('?').next().unwrap_or(path).to_owned(),
            request,
            contract: self.contract.clone(),
        }
    }

    /// Builds a GET request.
    pub fn get(&self, path: &str) -> Ask {
        self.ask("GET", path)
    }

    /// Builds a POST request.
    pub fn post(&self, path: &str) -> Ask {
        self.ask("POST", path)
    }

    /// Builds a PUT request.
    pub fn put(&self, path: &str) -> Ask {
        self.ask("PUT", path)
    }

    /// Builds a DELETE request.
    pub fn delete(&self, path: &str) -> Ask {
        self.ask("DELETE", path)
    }

    /// Returns the JSON at `path`.
    pub async fn read(&self, path: &str) -> Value {
        self.get(path).send().await.expect(200).json()
    }

    /// Posts `body` as JSON.
    pub async fn post_json(&self, path: &str, body: impl Serialize) -> Answer {
        self.post(path).json(&body).send().await
    }

    /// Puts `body` as JSON.
    pub async fn put_json(&self, path: &str, body: impl Serialize) -> Answer {
        self.put(path).json(&body).send().await
    }

    /// Publishes one notification; returns its id.
    pub async fn notify(&self, post: Value) -> u64 {
        let answer = self.post_json("/notify", post).await;
        answer.expect(201).parse::<Published>().id
    }

    /// Publishes a text as a message from `tester`; returns its id.
    pub async fn say(&self, msg: &str) -> u64 {
        let post = json!({ "from": "tester", "type": "message", "msg": msg });
        self.notify(post).await
    }

    /// Opens a stream of events; `query` begins with `?` or is empty.
    pub async fn events(&self, query: &str) -> Events {
        self.get(&format!("/events{query}")).stream().await
    }

    /// Returns the number of the log's last record.
    pub async fn head(&self) -> u64 {
        let mut events = self.events(&format!("?since={}", u32::MAX)).await;
        let reset = events.next_of("reset").await.data;
        serde_json::from_value::<ResetEvent>(reset)
            .expect("a reset")
            .head
    }
}

/// Percent-encodes every byte of `text` for use in a URI.
pub fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut encoded, byte| {
        let _ = write!(encoded, "%{byte:02X}");
        encoded
    })
}

fn build(builder: reqwest::ClientBuilder) -> reqwest::Client {
    builder
        .no_proxy()
        // No pool, because the hub may have closed an idle connection by the time it is reused.
        .pool_max_idle_per_host(0)
        .connect_timeout(DEADLINE)
        .read_timeout(LONGEST_SILENCE)
        .build()
        .expect("a client")
}

impl Ask {
    /// Adds a header; an existing one of the same name stays.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<reqwest::Body>) -> Self {
        self.request = self.request.body(body);
        self
    }

    /// Sets the body as JSON.
    pub fn json(mut self, body: &impl Serialize) -> Self {
        self.request = self.request.json(body);
        self
    }

    /// Sets the timeout.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.request = self.request.timeout(patience);
        self
    }

    /// Sends the request; panics if the response breaks the contract.
    pub async fn send(self) -> Answer {
        let sent = self.try_send().await;
        sent.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sends the request; an error if the connection fails. Panics if the response breaks the contract.
    pub async fn try_send(self) -> Result<Answer, reqwest::Error> {
        let response = self.request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await?.to_vec();
        let answer = Answer {
            status,
            headers,
            body,
        };
        answer.validate(&self.contract, self.method.as_str(), &self.path);
        Ok(answer)
    }

    /// Sends the request, and reads the response as a stream of events.
    pub async fn stream(self) -> Events {
        let response = self.request.send().await.expect("a connection");
        let described = Response {
            status: response.status().as_u16(),
            content_type: content_type(response.headers()),
            body: None,
        };
        let method = self.method.as_str();
        self.contract
            .validate_response(method, &self.path, described);
        assert_eq!(response.status(), 200, "the stream was refused");
        Events::new(response, self.contract)
    }
}

fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_TYPE)?.to_str().ok()
}

impl Answer {
    /// Panics if the response breaks the contract.
    pub(crate) fn validate(&self, contract: &Contract, method: &str, path: &str) {
        let described = Response {
            status: self.status,
            content_type: content_type(&self.headers),
            body: Some(&self.body),
        };
        contract.validate_response(method, path, described);
    }

    /// Parses the body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        self.parse()
    }

    /// Parses the body as a type of the protocol.
    #[track_caller]
    pub fn parse<T: DeserializeOwned>(&self) -> T {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not as expected ({error}): {}", self.text()))
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the `code` of a problem response; empty for any other response.
    pub fn code(&self) -> String {
        let problem = serde_json::from_slice(&self.body);
        problem.map_or_else(|_| String::new(), |it: Problem| it.code)
    }

    /// Returns this response; panics unless its status is `status`.
    #[allow(clippy::must_use_candidate, clippy::return_self_not_must_use)] // often the status is all that matters
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }
}
