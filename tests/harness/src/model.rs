//! A scripted model server, which replaces the vendor's model for the real client of an agent.
//!
//! A script returns the model's reply to each request. Requests without tools (for a title or a summary) do not belong
//! to the conversation: they get a fixed reply and are not recorded.

mod gemini;
mod messages;
mod reply;
mod request;
mod responses;
mod script;
mod serve;

use std::sync::Arc;
use std::time::Instant;

pub use reply::{Block, Reply};
pub use request::Request;
pub use script::{rules, turns};

use crate::server::Server;
use crate::{PATIENCE, Port};
use serve::Shared;

/// A model server on its own loopback port; stopped when dropped.
#[derive(Debug)]
pub struct Model {
    server: Server,
    shared: Arc<Shared>,
}

impl Model {
    /// Starts a server. The script may be called from several threads, and may block without blocking other requests.
    pub fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Shared::new(Box::new(script)));
        let server = Server::start(Port::new(), serve::router(shared.clone()));
        Self { server, shared }
    }

    /// Returns the URL that the client uses in place of its vendor's.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Returns the conversation's requests so far, in the order of their arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests().clone()
    }

    /// Waits until `found` returns a value for the conversation's requests; panics after [`PATIENCE`].
    pub fn until<T>(&self, what: &str, mut found: impl FnMut(&[Request]) -> Option<T>) -> T {
        let give_up = Instant::now() + PATIENCE;
        let mut log = self.shared.requests();
        loop {
            if let Some(answer) = found(&log) {
                return answer;
            }
            let left = give_up.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let received: String = log.iter().map(line).collect();
                panic!("still waiting until {what}; the model received:\n{received}")
            }
            log = self.shared.wait(log, left);
        }
    }

    /// Waits for the first request whose new texts contain `text`, and returns it.
    pub fn until_received(&self, text: &str) -> Request {
        self.until(&format!("the model receives {text:?}"), |requests| {
            requests.iter().find(|it| it.count_new(text) > 0).cloned()
        })
    }

    /// Waits until a request has `text` among its new texts, and fails if it was there more often than once.
    pub fn received_once(&self, text: &str) {
        self.until_received(text);
        assert_eq!(self.received(text).len(), 1, "{text}");
    }

    /// Returns the number of a request for each time that `text` occurs in its new texts.
    pub fn received(&self, text: &str) -> Vec<usize> {
        let times = |request: &Request| vec![request.number; request.count_new(text)];
        self.requests().iter().flat_map(times).collect()
    }
}

/// A request's number and the end of its new texts: some begin with long instructions of the agent.
fn line(request: &Request) -> String {
    let end = |text: &String| {
        let skipped = text.chars().count().saturating_sub(2000);
        text.chars().skip(skipped).collect()
    };
    let ends: Vec<String> = request.new_texts.iter().map(end).collect();
    format!("{}: {ends:?}\n", request.number)
}
