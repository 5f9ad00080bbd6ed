//! A push service of a test: notes what is posted to it, and answers what the test says.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};

use crate::Port;
use crate::server::Server;

/// The browser's keys of the example of RFC 8291.
const P256DH: &str =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";

/// The service; stopped when dropped.
#[derive(Debug)]
pub struct PushService {
    server: Server,
    posts: Posts,
}

type Posts = Arc<Mutex<Record>>;

#[derive(Debug)]
struct Record {
    /// The accepted messages: the names of their subscriptions, and their topics.
    topics: Vec<(String, String)>,
    /// How many messages were posted, accepted or not.
    count: usize,
    status: StatusCode,
}

impl PushService {
    /// Starts a service that accepts every message.
    pub fn start() -> Self {
        let record = Record {
            topics: Vec::new(),
            count: 0,
            status: StatusCode::CREATED,
        };
        let posts = Posts::new(Mutex::new(record));
        let app = Router::new().route("/send/{name}", post(receive));
        let server = Server::start(Port::new(), app.with_state(Arc::clone(&posts)));
        Self { server, posts }
    }

    /// The body of `PUT /login/push` for the subscription with this name.
    pub fn subscription(&self, name: &str) -> Value {
        let endpoint = format!("{}/send/{name}", self.server.url());
        json!({ "endpoint": endpoint, "keys": { "p256dh": P256DH, "auth": AUTH } })
    }

    /// Answers this status from now on.
    pub fn answer(&self, status: u16) {
        self.posts.lock().expect("no panic").status =
            StatusCode::from_u16(status).expect("a status");
    }

    /// How many messages were posted.
    pub fn count(&self) -> usize {
        self.posts.lock().expect("no panic").count
    }

    /// The topics of the messages that were accepted for a subscription.
    pub fn topics(&self, name: &str) -> Vec<String> {
        let record = self.posts.lock().expect("no panic");
        let own = record.topics.iter().filter(|(it, _)| it == name);
        own.map(|(_, topic)| topic.clone()).collect()
    }
}

async fn receive(
    State(posts): State<Posts>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> StatusCode {
    let topic = headers["topic"].to_str().expect("text").to_owned();
    let mut record = posts.lock().expect("no panic");
    record.count += 1;
    if record.status.is_success() {
        record.topics.push((name, topic));
    }
    record.status
}
