//! The hub for the programs beside `hubctl`, such as `hub-top`: found, proved and spoken to as `hubctl` does.

use std::collections::VecDeque;

use hub_protocol::ByPost;
use reqwest::Response;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::hub::sse::{Event, EventParser, chunk};
use crate::hub::{Hub, PATIENCE, Path, Request, json, parse};
use crate::identity::Context;
use crate::identity::sender::by;
use crate::settings::HubLocation;

/// A hub, and the identity in which this process speaks to it.
#[derive(Debug)]
pub struct Connection {
    context: Context,
    hub: Hub,
}

/// An event stream of the hub.
#[derive(Debug)]
pub struct Events {
    response: Response,
    parser: EventParser,
    /// Events that have arrived and were not returned yet.
    ready: VecDeque<Event>,
}

impl Connection {
    /// Finds the hub by these flags, the environment and the defaults. Sends nothing.
    pub fn open(location: &HubLocation) -> Result<Self, Error> {
        let context = Context::new(location)?;
        let hub = context.hub()?;
        Ok(Self { context, hub })
    }

    /// The answer to `GET path`.
    pub async fn get<T: DeserializeOwned>(&self, path: Path) -> Result<T, Error> {
        parse(&self.hub.text(&Request::get(path)).await?)
    }

    /// The answer to `POST path` with this body as JSON.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: Path,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let request = Request::post(path, json(body)?);
        parse(&self.hub.text(&request).await?)
    }

    /// The agent session that this process belongs to, else the person.
    pub async fn by(&self) -> Result<ByPost, Error> {
        by(&self.context).await
    }

    /// The events of these kinds (`question,session`) after the cursor `since`.
    pub async fn events(&self, kinds: &str, since: &str) -> Result<Events, Error> {
        let path = Path::new("/events")
            .with("kinds", kinds)
            .with("since", since);
        let request = Request::get(path).header("accept", "text/event-stream");
        Ok(Events {
            response: self.hub.send(&request, PATIENCE).await?,
            parser: EventParser::default(),
            ready: VecDeque::new(),
        })
    }
}

impl Events {
    /// The next event; `None` at the end of the stream. A stream that sends nothing for 45 s is an error. No event is
    /// lost if the future is dropped.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        while self.ready.is_empty() {
            let Some(bytes) = chunk(&mut self.response).await? else {
                return Ok(None);
            };
            self.ready.extend(self.parser.feed(bytes.as_ref()));
        }
        Ok(self.ready.pop_front())
    }
}
