//! A reader of server-sent events.

use std::fmt;
use std::pin::Pin;

use eventsource_stream::Eventsource as _;
use futures_util::{Stream, StreamExt as _};
use serde_json::Value;

use crate::{Contract, DEADLINE};

/// An open stream of events, each validated against the contract.
pub struct Events {
    stream: Pin<Box<dyn Stream<Item = eventsource_stream::Event> + Send>>,
    contract: Contract,
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The id, empty if the event has none.
    pub id: String,
    /// The event's name.
    pub name: String,
    /// The event's data.
    pub data: Value,
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}

impl Events {
    pub(crate) fn new(response: reqwest::Response, contract: Contract) -> Self {
        // A broken connection ends the stream, as a shutdown does.
        let events = response.bytes_stream().eventsource();
        let stream = Box::pin(events.filter_map(async |event| event.ok()));
        Self { stream, contract }
    }

    /// Returns the next event, without the first event of every stream; `None` when the stream ends.
    pub async fn next(&mut self) -> Option<Event> {
        match self.any().await? {
            event if event.name == "start" => self.any().await,
            event => Some(event),
        }
    }

    /// Returns the next event, including the first event of every stream; `None` when the stream ends.
    pub async fn any(&mut self) -> Option<Event> {
        let next = tokio::time::timeout(DEADLINE, self.stream.next());
        let event = next.await.expect("an event in time")?;
        let data = serde_json::from_str(&event.data).expect("an event's data is JSON");
        self.contract.validate_event(&event.event, &data);
        Some(Event {
            id: event.id,
            name: event.event,
            data,
        })
    }

    /// Returns the next event of one kind, and skips others.
    pub async fn next_of(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().await.expect("the stream goes on");
            if event.name == name {
                return event;
            }
        }
    }

    /// Reads presence events until an inbox has a waiter. The stream must have been opened with `kinds=presence`.
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
