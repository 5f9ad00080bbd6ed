//! A hub without sockets: requests are passed to the router directly.

use std::sync::Arc;
use std::thread::JoinHandle;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::http::request::Builder;
use http_body_util::BodyExt as _;
use hub_core::secret::Token;
use hub_core::waiters::WakeLimits;
use hub_core::waiters::lease_token::LeaseKey;
use hub_core::wake_files::WakeFiles;
use hub_engine::clock;
use hub_engine::{Hub, HubParts};
use hub_http::login::{Devices, LoginState};
use hub_http::routes;
use hub_log::archive::replay;
use hub_log::journal::{Journal, JournalError};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

pub(crate) struct InProcess {
    hub: Hub,
    app: Router,
    writer: JoinHandle<Result<(), JournalError>>,
}

impl InProcess {
    pub(crate) fn start(journal: Arc<dyn Journal>) -> Self {
        let recovered = replay(&*journal).unwrap();
        let (hub, writer) = Hub::start(HubParts {
            journal,
            recovered,
            leases: LeaseKey::new(b"secret"),
            rules: hub_engine::Rules::default(),
            rule_set: Arc::default(),
            offered: 0,
            limits: WakeLimits {
                per_sender_per_minute: 6,
                per_hour: 60,
            },
            wake_files: WakeFiles::new("/dev/null/wake".into()),
            queue: 64,
            streams: 64,
            shutdown: CancellationToken::new(),
        });
        let login = LoginState::new(Token::generate().unwrap(), 0, Devices::default(), (&[], ""));
        let app = routes::router(hub.clone(), login, "".as_ref(), Box::new(|_| ()));
        Self { hub, app, writer }
    }

    pub(crate) async fn publish(&self, key: &str, text: &str) -> (u16, Value) {
        let request = Request::post("/notify").header("idempotency-key", key);
        self.call(request, text.to_owned()).await
    }

    pub(crate) async fn get(&self, uri: &str) -> (u16, Value) {
        self.call(Request::get(uri), String::new()).await
    }

    pub(crate) async fn put(&self, uri: &str) -> (u16, Value) {
        self.call(Request::put(uri), String::new()).await
    }

    pub(crate) async fn post(&self, uri: &str, body: &Value) -> (u16, Value) {
        self.call(Request::post(uri), body.to_string()).await
    }

    async fn call(&self, request: Builder, body: String) -> (u16, Value) {
        let request = request.body(Body::from(body)).unwrap();
        let response = self.app.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// Returns the beginning of an event stream, up to and including `last`.
    pub(crate) async fn first_events(&self, uri: &str, last: &str) -> String {
        let request = Request::get(uri).body(Body::empty()).unwrap();
        let mut body = self.app.clone().oneshot(request).await.unwrap().into_body();
        let mut text = String::new();
        while !text.contains(last) {
            let frame = body.frame().await.unwrap().unwrap();
            text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
        text
    }

    /// Starts the clock, which runs until it is aborted.
    pub(crate) fn clock(&self) -> tokio::task::JoinHandle<()> {
        tokio::spawn(clock::run(self.hub.clone(), CancellationToken::new()))
    }

    /// Returns the number of commits that the journal refused.
    pub(crate) fn storage_errors(&self) -> u64 {
        self.hub.metrics().storage_errors.get()
    }

    /// Stops the writer, and ignores its result.
    pub(crate) fn stop(self) {
        self.hub.stop();
        let _ = self.writer.join();
    }
}
