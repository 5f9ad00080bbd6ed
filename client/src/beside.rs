//! The hub for the programs beside `hubctl`, which find it and talk to it as `hubctl` does.

mod events;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Path as FilePath;
use std::process::ExitCode;

use clap::Parser;
use hub_protocol::{ByPost, Snooze, Timestamp};
use reqwest::{Method, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::complain;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::sse::{Event, EventParser, chunk};
use crate::hub::{Hub, PATIENCE, Path, Request, json, parse};
use crate::identity::Context;
use crate::identity::sender::by;
use crate::settings::{Address, HubLocation};
use crate::system::random::random_hex;

pub use self::events::{EventReply, SessionPlace};

/// The command line of this process. Prints the help, or what is wrong with it, and returns the exit code then.
pub fn parse_arguments<C: Parser>() -> Result<C, ExitCode> {
    C::try_parse().map_err(|error| {
        if error.use_stderr() {
            complain(error, |shown| C::try_parse_from(shown).err());
            return Exit::USAGE.into();
        }
        error.print().map_or(Exit::UNREAD, |()| Exit::DONE).into()
    })
}

/// The hub that the flags and the environment name.
#[derive(Debug)]
pub struct Connection {
    context: Context,
    hub: Hub,
}

/// An open stream of the hub's events.
#[derive(Debug)]
pub struct EventStream {
    response: Response,
    parser: EventParser,
    ready: VecDeque<Event>,
}

impl Connection {
    /// Finds the hub, and sends nothing yet. Over TCP it is an error if the token cannot be trusted.
    pub fn open(location: &HubLocation) -> Result<Self, Error> {
        let context = Context::new(location)?;
        let hub = context.hub()?;
        Ok(Self { context, hub })
    }

    /// The hub's state directory, which may not exist yet.
    pub fn state_dir(&self) -> &FilePath {
        &self.context.settings.state_dir.value
    }

    /// The flags with which another program finds this hub.
    pub fn flags(&self) -> Vec<OsString> {
        let settings = &self.context.settings;
        let mut flags: Vec<OsString> = vec!["--state-dir".into(), self.state_dir().into()];
        match &settings.address.value {
            Address::Socket(_) if settings.is_own_hub() => {}
            Address::Socket(path) => flags.extend(["--socket".into(), path.into()]),
            Address::Url(url) => {
                flags.extend(["--url".into(), (&url.base).into()]);
                flags.extend(["--token-file".into(), (&settings.token_file.value).into()]);
            }
        }
        flags
    }

    /// The agent session that this process belongs to, else the person.
    pub async fn by(&self) -> Result<ByPost, Error> {
        by(&self.context).await
    }

    /// A key that makes the retry of a request safe.
    pub fn key(&self) -> Result<String, Error> {
        Ok(random_hex()?)
    }

    /// `GET path`.
    pub async fn get<T: DeserializeOwned>(&self, path: Path) -> Result<T, Error> {
        parse(&self.hub.text(&Request::get(path)).await?)
    }

    /// `POST path` with a JSON body.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: Path,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let request = Request::post(path, json(body)?);
        parse(&self.hub.text(&request).await?)
    }

    /// Says that a need is met.
    pub async fn end_need(&self, id: &str) -> Result<(), Error> {
        let path = Path::new("/needs").segment(id).segment("done");
        self.hub.text(&Request::new(Method::POST, path)).await?;
        Ok(())
    }

    /// Puts a need off.
    pub async fn snooze_need(&self, id: &str, until: Timestamp) -> Result<(), Error> {
        let path = Path::new("/needs").segment(id).segment("snooze");
        let request = Request::post(path, json(&Snooze { until })?);
        self.hub.text(&request).await?;
        Ok(())
    }

    /// Lets a session go on when its limit ends, or not any more.
    pub async fn resume_need(&self, id: &str, on: bool) -> Result<(), Error> {
        let path = Path::new("/needs").segment(id).segment("resume");
        let method = if on { Method::POST } else { Method::DELETE };
        self.hub.text(&Request::new(method, path)).await?;
        Ok(())
    }

    /// Takes the end of a need back, as long as its session has reported nothing else.
    pub async fn reopen_need(&self, id: &str) -> Result<(), Error> {
        let path = Path::new("/needs").segment(id).segment("done");
        self.hub.text(&Request::new(Method::DELETE, path)).await?;
        Ok(())
    }

    /// Opens `GET path` as a stream that begins after the event `last`, or now.
    pub async fn events(&self, path: Path, last: Option<&str>) -> Result<EventStream, Error> {
        let request = Request::get(path).header("accept", "text/event-stream");
        let request = match last {
            Some(last) => request.header("last-event-id", last),
            None => request,
        };
        Ok(EventStream {
            response: self.hub.send(&request, PATIENCE).await?,
            parser: EventParser::default(),
            ready: VecDeque::new(),
        })
    }
}

impl EventStream {
    /// The next event; `None` when the hub ends the stream. An error if the connection breaks or is silent for longer
    /// than three heartbeats.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        while self.ready.is_empty() {
            match chunk(&mut self.response).await? {
                Some(bytes) => self.ready.extend(self.parser.feed(bytes.as_ref())),
                None => return Ok(None),
            }
        }
        Ok(self.ready.pop_front())
    }
}
