//! Server-sent events, read one by one.

use std::fmt;
use std::pin::Pin;

use eventsource_stream::Eventsource as _;
use futures_util::{Stream, StreamExt as _};
use serde_json::Value;

use crate::{Contract, DEADLINE};

/// An open stream of events, each held against the contract.
pub struct Events {
    stream: Pin<Box<dyn Stream<Item = eventsource_stream::Event> + Send>>,
    contract: Contract,
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its id, empty if it has none.
    pub id: String,
    /// What it is.
    pub name: String,
    /// What it says.
    pub data: Value,
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}

impl Events {
    pub(crate) fn new(response: reqwest::Response, contract: Contract) -> Self {
        // A connection that breaks ends the stream, as it ends one at shutdown.
        let events = response.bytes_stream().eventsource();
        let stream = Box::pin(events.filter_map(async |event| event.ok()));
        Self { stream, contract }
    }

    /// The next event; `None` when the stream ends.
    pub async fn next(&mut self) -> Option<Event> {
        let next = tokio::time::timeout(DEADLINE, self.stream.next());
        let event = next.await.expect("an event in time")?;
        let data = serde_json::from_str(&event.data).expect("an event's data is JSON");
        self.contract
            .check_event(&event.event, &data)
            .unwrap_or_else(|broken| panic!("the contract is broken: {broken}"));
        Some(Event {
            id: event.id,
            name: event.event,
            data,
        })
    }

    /// The next event of one kind; others are passed over.
    pub async fn next_of(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().await.expect("the stream goes on");
            if event.name == name {
                return event;
            }
        }
    }

    /// Reads presence until somebody waits at an inbox. The stream must have been opened with `kinds=presence`.
    pub async fn until_waiting(&mut self, inbox: &str) {
        loop {
            let presence = self.next_of("presence").await;
            let waiters = presence.data["waiters"].as_array().expect("a list").clone();
            if waiters.iter().any(|waiter| waiter["inbox"] == inbox) {
                return;
            }
        }
    }
}
