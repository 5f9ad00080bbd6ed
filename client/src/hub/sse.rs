//! Server-sent events: an incremental parser, and the bytes of a stream.
//!
//! The format is <https://html.spec.whatwg.org/multipage/server-sent-events.html>, section 9.2.6.

use std::time::Duration;

use reqwest::Response;
use tokio::time::timeout;

use super::unreachable;
use crate::error::{Error, Unreachable};

/// The connection counts as dead after this time without a byte, that is three heartbeats.
const SILENCE: Duration = Duration::from_secs(45);

/// One server-sent event.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Event {
    /// The event's name; empty for the default.
    pub name: String,
    /// The data, with lines joined by line feeds.
    pub data: String,
    /// The cursor to resume after this event, if the event has one.
    pub id: Option<String>,
}

/// The state of parsing a stream.
#[derive(Debug, Default)]
pub(crate) struct EventParser {
    buffer: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The server's last `retry` value: how long to wait before reconnecting.
    pub retry: Option<Duration>,
}

impl EventParser {
    /// Parses `bytes` and returns the events that they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.buffer.extend_from_slice(bytes);
        let mut events = Vec::new();
        let mut start = 0;
        while let Some(length) = self.buffer[start..].iter().position(|&byte| byte == b'\n') {
            let line = self.buffer[start..start + length].to_vec();
            start += length + 1;
            let line =
                String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(&line)).into_owned();
            events.extend(self.take(&line));
        }
        self.buffer.drain(..start);
        events
    }

    fn take(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.name = value.into(),
            "id" if !value.contains('\0') => self.event.id = Some(value.into()),
            "retry" => self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry),
            "data" => self.push_data(value),
            _ => {}
        }
        None
    }

    fn push_data(&mut self, value: &str) {
        if std::mem::replace(&mut self.has_data, true) {
            self.event.data.push('\n');
        }
        self.event.data.push_str(value);
    }
}

/// Returns the next bytes of a stream; `None` at its end.
pub(crate) async fn chunk(
    response: &mut Response,
) -> Result<Option<impl AsRef<[u8]> + use<>>, Error> {
    match timeout(SILENCE, response.chunk()).await {
        Ok(chunk) => chunk.map_err(|error| unreachable(&error)),
        Err(_) => Err(Error::Unreachable(Unreachable {
            connected: true,
            reason: "the stream sent nothing for too long".into(),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "retry: 1500\n\n: heartbeat\n\nevent: notification\nid: 00ff-7\ndata: {\"msg\":\"é\"}\n\n\
                          data: a\r\ndata: b\r\n\r\n";

    fn expected() -> Vec<Event> {
        vec![
            Event {
                name: "notification".into(),
                data: "{\"msg\":\"é\"}".into(),
                id: Some("00ff-7".into()),
            },
            Event {
                data: "a\nb".into(),
                ..Event::default()
            },
        ]
    }

    #[test]
    fn events_are_the_same_for_every_split_of_the_bytes() {
        for size in 1..STREAM.len() {
            let mut parser = EventParser::default();
            let events: Vec<Event> = STREAM
                .as_bytes()
                .chunks(size)
                .flat_map(|chunk| parser.feed(chunk))
                .collect();
            assert_eq!(events, expected(), "in pieces of {size}");
            assert_eq!(parser.retry, Some(Duration::from_millis(1500)));
        }
    }

    #[test]
    fn an_incomplete_event_is_not_returned() {
        assert!(
            EventParser::default()
                .feed(b"id: 1\ndata: half\n")
                .is_empty()
        );
    }
}
