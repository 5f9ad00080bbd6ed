//! A client whose every answer is held against the contract.

use std::path::Path;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde::Serialize;
use serde_json::{Value, json};

use crate::contract::{Contract, Exchange};
use crate::{DEADLINE, Events};

/// A wait may be silent for as long; anything else that is, is a hub that hangs.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);

/// Speaks to one hub in one way.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
    contract: Contract,
}

/// A request to be sent.
#[derive(Debug)]
#[must_use]
pub struct Ask {
    method: Method,
    path: String,
    request: reqwest::RequestBuilder,
    contract: Contract,
}

/// An answer that keeps the contract.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
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

    /// A request; `path` may have a query.
    pub fn ask(&self, method: &str, path: &str) -> Ask {
        let method: Method = method.parse().expect("a method");
        let mut request = self
            .http
            .request(method.clone(), format!("{}{path}", self.base));
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

    /// A GET request.
    pub fn get(&self, path: &str) -> Ask {
        self.ask("GET", path)
    }

    /// A POST request.
    pub fn post(&self, path: &str) -> Ask {
        self.ask("POST", path)
    }

    /// A PUT request.
    pub fn put(&self, path: &str) -> Ask {
        self.ask("PUT", path)
    }

    /// A DELETE request.
    pub fn delete(&self, path: &str) -> Ask {
        self.ask("DELETE", path)
    }

    /// Publishes one notification, and gives its number.
    pub async fn notify(&self, post: Value) -> u64 {
        let answer = self.post("/notify").json(&post).send().await;
        answer.expect(201).json()["id"].as_u64().expect("a number")
    }

    /// Publishes a text as a message from `tester`, and gives its number.
    pub async fn say(&self, msg: &str) -> u64 {
        self.notify(json!({ "from": "tester", "type": "message", "msg": msg }))
            .await
    }

    /// Opens a stream of events; `query` begins with `?` or is empty.
    pub async fn events(&self, query: &str) -> Events {
        self.get(&format!("/events{query}")).stream().await
    }

    /// The last number of the log.
    pub async fn head(&self) -> u64 {
        let mut events = self
            .events(&format!("?since={}", u64::from(u32::MAX)))
            .await;
        let reset = events.next_of("reset").await;
        reset.data["head"].as_u64().expect("a number")
    }
}

/// Every byte of `text` percent-encoded, for a place in a URI.
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
        // A connection that was idle may be closed by the time it is used again.
        .pool_max_idle_per_host(0)
        .connect_timeout(DEADLINE)
        .read_timeout(LONGEST_SILENCE)
        .build()
        .expect("a client")
}

impl Ask {
    /// Adds a header; one that is there already stays.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    /// Gives the body.
    pub fn body(mut self, body: impl Into<reqwest::Body>) -> Self {
        self.request = self.request.body(body);
        self
    }

    /// Gives the body as JSON.
    pub fn json(mut self, body: &impl Serialize) -> Self {
        self.request = self.request.json(body);
        self
    }

    /// Allows the answer to take as long.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.request = self.request.timeout(patience);
        self
    }

    /// Sends it; panics if the answer breaks the contract.
    pub async fn send(self) -> Answer {
        self.try_send()
            .await
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sends it; an error if the connection fails. Panics if the answer breaks the contract.
    pub async fn try_send(self) -> Result<Answer, reqwest::Error> {
        let response = self.request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await?.to_vec();
        let checked = self.contract.check(Exchange {
            method: self.method.as_str(),
            path: &self.path,
            status,
            content_type: headers
                .get(CONTENT_TYPE)
                .and_then(|kind| kind.to_str().ok()),
            body: Some(&body),
        });
        checked.unwrap_or_else(|broken| panic!("the contract is broken: {broken}"));
        Ok(Answer {
            status,
            headers,
            body,
        })
    }

    /// Sends it, and reads the answer as a stream of events.
    pub async fn stream(self) -> Events {
        let response = self.request.send().await.expect("a connection");
        let kind = response.headers().get(CONTENT_TYPE);
        let checked = self.contract.check(Exchange {
            method: self.method.as_str(),
            path: &self.path,
            status: response.status().as_u16(),
            content_type: kind.and_then(|kind| kind.to_str().ok()),
            body: None,
        });
        checked.unwrap_or_else(|broken| panic!("the contract is broken: {broken}"));
        assert_eq!(response.status(), 200, "the stream was refused");
        Events::new(response, self.contract)
    }
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {}", self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The code of a problem; empty for anything else.
    pub fn code(&self) -> String {
        let problem: Option<Value> = serde_json::from_slice(&self.body).ok();
        let code = problem.and_then(|problem| problem["code"].as_str().map(str::to_owned));
        code.unwrap_or_default()
    }

    /// This answer, if its status is `status`.
    #[allow(clippy::must_use_candidate, clippy::return_self_not_must_use)] // often the status is all that matters
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }
}
