//! The reader of a stream, which keeps its cursor across reconnects.

use std::time::Duration;

use hub_protocol::ResetEvent;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{StreamArgs, exec};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::backoff::Backoff;
use crate::hub::sse::{Event, EventParser, chunk};
use crate::hub::{Hub, PATIENCE, Path, Request};
use crate::identity::{Context, newest};
use crate::output::text::json_line;
use crate::output::{println, say};

/// How long to retry if the hub was never reached: long enough for a restart.
const FIRST_CONTACT: Duration = Duration::from_secs(2);

/// The state of reading a stream.
pub(super) struct Reader<'a> {
    args: &'a StreamArgs,
    path: Path,
    hub: Hub,
    /// The cursor to begin after: `--since`, or the newest notification at the start.
    since: Option<String>,
    /// The id of the last event that was handled.
    last: Option<String>,
    backoff: Backoff,
    started: Instant,
    was_there: bool,
}

impl<'a> Reader<'a> {
    /// Returns a reader for `args`.
    pub(super) async fn new(args: &'a StreamArgs, context: &Context) -> Result<Self, Error> {
        let path = Path::new("/events").list("kinds", &args.kinds);
        Ok(Self {
            args,
            path: args.filter.on(path, context).await?,
            hub: context.hub()?,
            since: args.since.clone(),
            last: None,
            backoff: Backoff::new(Duration::from_millis(50), Duration::from_secs(5)),
            started: Instant::now(),
            was_there: false,
        })
    }

    /// Reads one connection after another. It ends only with an error.
    pub(super) async fn run(&mut self) -> Result<Exit, Error> {
        loop {
            self.read().await?;
        }
    }

    /// Reads one connection to its end, then pauses before the next.
    async fn read(&mut self) -> Result<(), Error> {
        match self.connection().await {
            Ok(()) => {}
            Err(error) if error.is_passing() && self.may_try_again() => {}
            Err(error) => return Err(error),
        }
        self.backoff.pause().await;
        Ok(())
    }

    fn may_try_again(&self) -> bool {
        self.was_there || self.started.elapsed() < FIRST_CONTACT
    }

    async fn connection(&mut self) -> Result<(), Error> {
        if self.since.is_none() {
            self.since = Some(newest(&self.hub).await?.to_string());
        }
        let mut response = self.hub.send(&self.request(), PATIENCE).await?;
        self.was_there = true;
        self.backoff.reset();
        let mut parser = EventParser::default();
        while let Some(bytes) = chunk(&mut response).await? {
            for event in parser.feed(bytes.as_ref()) {
                self.handle(&event)?;
            }
            if let Some(retry) = parser.retry.take() {
                self.backoff = Backoff::new(retry, retry.max(Duration::from_secs(5)));
            }
        }
        Ok(())
    }

    fn request(&self) -> Request {
        let since = self.since.as_ref().filter(|_| self.last.is_none());
        let path = self.path.clone().maybe("since", since);
        let request = Request::get(path).header("accept", "text/event-stream");
        match &self.last {
            Some(last) => request.header("last-event-id", last),
            None => request,
        }
    }

    fn handle(&mut self, event: &Event) -> Result<(), Error> {
        match event.name.as_str() {
            "start" => {}
            "reset" => self.reset(event),
            "gap" => say(format!("a part of the log is missing: {}", event.data)),
            "notification" if self.args.kinds.is_empty() => match &self.args.exec {
                Some(command) => exec::run(command, &event.data)?,
                None => println(json_line(&event.data))?,
            },
            _ if !self.args.kinds.is_empty() => println(wrapped(event))?,
            _ => {}
        }
        // Set only now, so that an event whose handling failed is read again.
        if event.id.is_some() {
            self.last.clone_from(&event.id);
        }
        Ok(())
    }

    /// Handles a hub that has another journal, or has lost the end of its log: continue at the log's end.
    fn reset(&mut self, event: &Event) {
        say("the position belongs to another log; continuing at the end of the hub's log");
        if let Ok(ResetEvent { epoch, head }) = serde_json::from_str(&event.data) {
            self.last = Some(format!("{epoch}-{head}"));
        }
    }
}

/// Formats an event of any kind as one line of JSON.
fn wrapped(event: &Event) -> String {
    #[derive(serde::Serialize)]
    struct Wrapped<'a> {
        event: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        data: &'a RawValue,
    }
    let text = RawValue::from_string(event.data.clone())
        .and_then(|data| {
            serde_json::to_string(&Wrapped {
                event: &event.name,
                id: event.id.as_deref(),
                data: &data,
            })
        })
        .unwrap_or_else(|_| serde_json::Value::from(event.data.as_str()).to_string());
    json_line(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_any_kind_is_one_line_of_json() {
        let event = Event {
            name: "seen".into(),
            data: "{\"ids\":[1],\n\"seen\":true}".into(),
            id: Some("00ff-2".into()),
        };
        assert_eq!(
            wrapped(&event),
            r#"{"event":"seen","id":"00ff-2","data":{"ids":[1], "seen":true}}"#
        );
    }
}
