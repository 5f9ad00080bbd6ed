//! A scripted model server: what the real client of an agent asks instead of its vendor's model.
//!
//! A script says what the model answers to each request. Requests without tools (a title, a summary) are no part of the
//! conversation: they are answered with a word and kept apart.

mod gemini;
mod messages;
mod reply;
mod request;
mod responses;
mod script;
mod serve;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::oneshot;

pub use reply::{Block, Reply};
pub use request::Request;
pub use script::{rules, turns};

use crate::PATIENCE;
use serve::Shared;

/// A model server on a loopback port of its own; stopped when dropped.
#[derive(Debug)]
pub struct Model {
    port: u16,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Model {
    /// Starts one. The script may be asked from several threads, and may wait: other requests go on meanwhile.
    pub fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared::new(Box::new(script)));
        let (stop, stopped) = oneshot::channel();
        let served = shared.clone();
        let thread = std::thread::spawn(move || serve::run(listener, served, stopped));
        Self {
            port,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// What the client takes for its vendor's address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The conversation's requests so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.log().requests.clone()
    }

    /// The requests beside the conversation.
    pub fn others(&self) -> Vec<Request> {
        self.shared.log().others.clone()
    }

    /// Waits until `found` sees in the conversation's requests what it looks for; panics after [`PATIENCE`].
    pub fn until<T>(&self, what: &str, mut found: impl FnMut(&[Request]) -> Option<T>) -> T {
        let give_up = Instant::now() + PATIENCE;
        let mut log = self.shared.log();
        loop {
            if let Some(answer) = found(&log.requests) {
                return answer;
            }
            let left = give_up.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "still waiting until {what}; the model was told:\n{}",
                told(&log.requests)
            );
            log = self.shared.wait(log, left);
        }
    }

    /// The first request that tells the model `text`; waits for it.
    pub fn until_told(&self, text: &str) -> Request {
        self.until(&format!("the model is told {text:?}"), |requests| {
            requests.iter().find(|it| it.tells(text) > 0).cloned()
        })
    }

    /// In which requests the model is told `text`: a number for each time that it stands there.
    pub fn told(&self, text: &str) -> Vec<usize> {
        let times = |request: &Request| vec![request.number; request.tells(text)];
        self.requests().iter().flat_map(times).collect()
    }
}

fn told(requests: &[Request]) -> String {
    let line = |request: &Request| format!("{}: {:?}\n", request.number, request.news);
    requests.iter().map(line).collect()
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
