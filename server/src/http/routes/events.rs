//! `GET /events`: the log as server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use futures_util::{Stream, stream};
use hub_protocol::{Cursor, Epoch, Seq};
use serde::Deserialize;
use tokio::sync::watch;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::params::{FilterParams, Params};
use super::{ApiError, Code, query};
use crate::core::filter::Filter;
use crate::hub::{Hub, StreamPermit};
use crate::log::fanout::{StreamProgress, Subscription, Topic};
use crate::log::journal::JournalError;
use crate::log::{Event, Log};

mod frame;
mod news;
mod silence;

use frame::{Kinds, Watch};
use silence::Silence;

/// After this much silence the stream sends a comment, so that both sides detect a dead connection.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// At most this many events from the ring go into one chunk.
const CHUNK_EVENTS: usize = 256;
/// A chunk takes no more events once it exceeds this size. This bounds the memory of a reader that does not read.
const CHUNK_BYTES: usize = 64 << 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventParams {
    since: Option<String>,
    #[serde(default, deserialize_with = "query::list")]
    kinds: Option<Vec<Watch>>,
    #[serde(flatten)]
    filter: FilterParams,
}

/// Streams events live, or from a cursor on.
pub(super) async fn events(
    State(hub): State<Hub>,
    Params(params): Params<EventParams>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let permit = hub.stream_permit()?;
    let kinds = Kinds::from(params.kinds);
    let filter = Filter::from(params.filter);
    let since = params.since.as_deref().map(str::parse).transpose();
    let since = since.map_err(|error| ApiError::new(Code::MalformedCursor, error))?;
    let wanted = Arc::new(Wanted { kinds, filter });
    let place = wanted.join(hub.log());
    let outlet = place.outlet();
    let start = Start::find(hub.log(), headers.get("last-event-id"), since);
    let reader = Reader {
        presence: kinds.has(frame::Watch::Presence).then(|| hub.presence()),
        presence_due: kinds.has(frame::Watch::Presence),
        preface: Some(start.preface(hub.log().epoch())),
        cursor: start.cursor(),
        silence: Silence::new(HEARTBEAT),
        shutdown: Box::pin(hub.shutdown().clone().cancelled_owned()),
        hub,
        wanted,
        place,
        _permit: permit,
    };
    let mut response = Response::new(Body::from_stream(chunks(reader)));
    response.extensions_mut().insert(outlet);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// The events that a reader requested.
#[derive(Debug)]
struct Wanted {
    kinds: Kinds,
    filter: Filter,
}

impl Wanted {
    fn has(&self, log: &Log, event: &Event) -> bool {
        self.kinds.want(event, &self.filter) && !log.hides(event)
    }

    fn topic(&self) -> Topic {
        match (&self.filter.project, &self.filter.inbox) {
            (Some(project), Some(inbox)) if !self.kinds.reach_beyond_inboxes() => {
                Topic::Inbox(project.clone(), inbox.clone())
            }
            _ => Topic::Everything,
        }
    }

    fn join(self: &Arc<Self>, log: &Arc<Log>) -> Subscription {
        let wanted = Arc::clone(self);
        log.join(
            self.topic(),
            Box::new(move |log, event| {
                let wanted = wanted.has(log, event);
                wanted.then(|| shared_frame(event, log.epoch()))?
            }),
        )
    }
}

/// The position where a stream begins.
enum Start {
    /// After this record.
    At(Seq),
    /// The requested position does not exist in this log: the reader gets a `reset` event, then new events.
    Reset(Seq),
}

impl Start {
    fn find(log: &Log, last_event_id: Option<&HeaderValue>, since: Option<Cursor>) -> Self {
        let head = log.head();
        let named = last_event_id.map(|id| id.to_str().ok().and_then(|text| text.parse().ok()));
        let Some(cursor) = named.or(since.map(Some)) else {
            return Self::At(head);
        };
        match cursor {
            Some(Cursor { epoch, seq })
                if epoch.is_none_or(|epoch| epoch == log.epoch()) && seq <= head =>
            {
                Self::At(seq)
            }
            _ => Self::Reset(head),
        }
    }

    fn cursor(&self) -> Seq {
        match self {
            Self::At(seq) | Self::Reset(seq) => *seq,
        }
    }

    /// The first event, with the reconnect delay. The delay is random, so that a thousand readers do not reconnect at
    /// once.
    fn preface(&self, epoch: Epoch) -> Bytes {
        let mut spread = [0; 2];
        let _ = getrandom::fill(&mut spread);
        let retry = 1000 + u16::from_le_bytes(spread) % 2000;
        let first = match self {
            Self::At(after) => frame::start(epoch, *after),
            Self::Reset(head) => frame::reset(epoch, *head),
        };
        // Part of an event, because some clients treat a lone `retry:` as an event without data.
        format!("retry: {retry}\n{first}").into()
    }
}

/// A stream's reader: its position in the log, and the signals that it waits for.
struct Reader {
    hub: Hub,
    wanted: Arc<Wanted>,
    cursor: Seq,
    place: Subscription,
    presence: Option<watch::Receiver<u64>>,
    presence_due: bool,
    preface: Option<Bytes>,
    silence: Silence,
    shutdown: Pin<Box<WaitForCancellationFutureOwned>>,
    _permit: StreamPermit,
}

fn chunks(reader: Reader) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(reader, |mut reader| async move {
        let chunk = reader.next().await?;
        reader.silence.end();
        Some((Ok(chunk), reader))
    })
}

impl Reader {
    /// The next bytes to send; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(preface) = self.preface.take() {
            return Some(preface);
        }
        loop {
            if std::mem::take(&mut self.presence_due) {
                return frame::presence(&self.hub).await;
            }
            let (events, shared) = match self.read().await {
                Ok(events) => events,
                Err(JournalError::Corrupt { .. }) => return Some(self.skip_corruption()),
                Err(error) => {
                    tracing::error!(%error, "an event stream ends");
                    return None;
                }
            };
            if events.is_empty() {
                if let Some(silence) = self.idle().await? {
                    return Some(silence);
                }
                continue;
            }
            if let Some(chunk) = self.chunk(&events, shared) {
                return Some(chunk);
            }
        }
    }

    /// The next events after the cursor, and whether they are from the ring, where other readers share their frames.
    async fn read(&self) -> Result<(Vec<Arc<Event>>, bool), JournalError> {
        if let Some(events) = self.hub.log().recent(self.cursor, CHUNK_EVENTS) {
            return Ok((events, true));
        }
        let (log, cursor) = (Arc::clone(self.hub.log()), self.cursor);
        let read = tokio::task::spawn_blocking(move || log.read(cursor, CHUNK_BYTES));
        let events = read.await.map_err(std::io::Error::other)??;
        Ok((events, false))
    }

    /// Skips to the head of the log and returns a `gap` event with the reason `corrupt`.
    fn skip_corruption(&mut self) -> Bytes {
        let log = self.hub.log();
        let after = std::mem::replace(&mut self.cursor, log.head());
        frame::corrupt(log.epoch(), after + 1, self.cursor).into()
    }

    /// Waits for new events. Returns bytes that are ready to send, or an empty option if the log should be read; `None`
    /// at shutdown.
    async fn idle(&mut self) -> Option<Option<Bytes>> {
        if !self.place.park(self.cursor) {
            return Some(None);
        }
        let presence = async {
            match &mut self.presence {
                Some(presence) => presence.changed().await,
                None => std::future::pending().await,
            }
        };
        let silent = tokio::select! {
            biased;
            () = self.place.woken() => false,
            changed = presence => {
                changed.ok()?;
                self.presence_due = true;
                false
            }
            () = self.shutdown.as_mut() => return None,
            () = self.silence.is_over() => true,
        };
        let progress = self.place.unpark();
        let silent = silent && progress.last_write.is_none();
        let comment = || Bytes::from_static(b":\n\n");
        Some(self.advance_to(progress).or_else(|| silent.then(comment)))
    }

    /// Advances the cursor to where the fan-out stopped. Returns the bytes that the fan-out could not write.
    fn advance_to(&mut self, progress: StreamProgress) -> Option<Bytes> {
        self.cursor = self.cursor.max(progress.cursor);
        if let Some(wrote) = progress.last_write {
            self.silence.end_at(wrote);
        }
        (!progress.unsent.is_empty()).then_some(progress.unsent)
    }

    /// The `gap` event for a range that is missing from the log, with the reason `corrupt` if the journal lost it.
    fn gap(&self, epoch: Epoch, from: Seq, to: Seq) -> String {
        let journal = self.hub.log().journal();
        if [from, to].iter().any(|at| journal.lost_at(*at).is_some()) {
            frame::corrupt(epoch, from, to)
        } else {
            frame::gap(epoch, from, to)
        }
    }

    fn chunk(&mut self, events: &[Arc<Event>], shared: bool) -> Option<Bytes> {
        let epoch = self.hub.log().epoch();
        if let [event] = events
            && event.seq() == self.cursor + 1
        {
            self.cursor = event.seq();
            let wanted = self.wanted.has(self.hub.log(), event);
            return wanted.then(|| shared_frame(event, epoch))?.cloned();
        }
        let mut chunk = Vec::new();
        for event in events {
            if event.seq() > self.cursor + 1 {
                let gap = self.gap(epoch, self.cursor + 1, event.seq() - 1);
                chunk.extend_from_slice(gap.as_bytes());
            }
            self.cursor = event.seq();
            if !self.wanted.has(self.hub.log(), event) {
                continue;
            }
            if !shared {
                frame::write(&mut chunk, event, epoch);
            } else if let Some(frame) = shared_frame(event, epoch) {
                chunk.extend_from_slice(frame);
            }
            if chunk.len() > CHUNK_BYTES {
                break;
            }
        }
        (!chunk.is_empty()).then(|| chunk.into())
    }
}

/// The frame of an event, serialized once and shared by all readers.
fn shared_frame(event: &Event, epoch: Epoch) -> Option<&Bytes> {
    event.frame(|event| frame::of(event, epoch))
}
