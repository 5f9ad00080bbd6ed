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

use super::params::{self, FilterParams, Params};
use super::{ApiError, Code};
use crate::filter::Filter;
use crate::hub::{Hub, StreamPermit};
use crate::journal::JournalError;
use crate::log::fanout::{Subscription, Taken, Topic};
use crate::log::{Event, Log};

mod frame;
mod news;
mod silence;

use frame::{Kinds, Watch};
use silence::Silence;

/// A comment is sent after this much silence, so that both sides notice a dead connection.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Events from memory that one chunk holds.
const CHUNK_EVENTS: usize = 256;
/// A chunk ends above this: it is what a reader that takes nothing costs.
const CHUNK_BYTES: usize = 64 << 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventParams {
    since: Option<String>,
    #[serde(default, deserialize_with = "params::list")]
    kinds: Option<Vec<Watch>>,
    #[serde(flatten)]
    filter: FilterParams,
}

/// Streams what happens from now on, or from a cursor on.
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

/// What a reader asked for.
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

/// Where a stream begins.
enum Start {
    /// After this.
    At(Seq),
    /// The reader's place does not exist here: it is told, and gets what comes.
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

    /// When to come back after a break, spread so that a thousand readers do not come at once; and a reset.
    fn preface(&self, epoch: Epoch) -> Bytes {
        let mut spread = [0; 2];
        let _ = getrandom::fill(&mut spread);
        let retry = 1000 + u16::from_le_bytes(spread) % 2000;
        let mut text = format!("retry: {retry}\n\n");
        if let Self::Reset(head) = self {
            text.push_str(&frame::reset(epoch, *head));
        }
        text.into()
    }
}

/// A reader is a place in the log, whatever it has not read yet.
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

    /// What comes next, and whether other readers have the same events in hand.
    async fn read(&self) -> Result<(Vec<Arc<Event>>, bool), JournalError> {
        if let Some(events) = self.hub.log().recent(self.cursor, CHUNK_EVENTS) {
            return Ok((events, true));
        }
        let (log, cursor) = (Arc::clone(self.hub.log()), self.cursor);
        let read = tokio::task::spawn_blocking(move || log.read(cursor, CHUNK_BYTES));
        let events = read.await.map_err(std::io::Error::other)??;
        Ok((events, false))
    }

    /// What cannot be read is said, and what comes after the head goes on.
    fn skip_corruption(&mut self) -> Bytes {
        let log = self.hub.log();
        let after = std::mem::replace(&mut self.cursor, log.head());
        frame::corrupt(log.epoch(), after + 1, self.cursor).into()
    }

    /// Waits until there is something to send, or may be something to read. `None` at shutdown.
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
            () = self.place.called() => false,
            changed = presence => {
                changed.ok()?;
                self.presence_due = true;
                false
            }
            () = self.shutdown.as_mut() => return None,
            () = self.silence.is_over() => true,
        };
        let taken = self.place.take();
        let silent = silent && taken.wrote.is_none();
        let comment = || Bytes::from_static(b":\n\n");
        Some(self.come_back(taken).or_else(|| silent.then(comment)))
    }

    /// Goes on from where the fan-out has brought this reader; what it could not write.
    fn come_back(&mut self, taken: Taken) -> Option<Bytes> {
        self.cursor = self.cursor.max(taken.cursor);
        if let Some(wrote) = taken.wrote {
            self.silence.end_at(wrote);
        }
        (!taken.rest.is_empty()).then_some(taken.rest)
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
                chunk.extend_from_slice(
                    frame::gap(epoch, self.cursor + 1, event.seq() - 1).as_bytes(),
                );
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

/// The frame of an event that other readers get as well.
fn shared_frame(event: &Event, epoch: Epoch) -> Option<&Bytes> {
    event.frame(|event| frame::of(event, epoch))
}
