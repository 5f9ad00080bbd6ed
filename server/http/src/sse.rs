//! The log as a stream of server-sent events. `frame.rs` writes the frames, `selection.rs` decides which a reader gets.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use futures_util::stream;
use hub_engine::follow::{self, FollowedList};
use hub_engine::{Hub, StreamPermit};
use hub_log::fanout::{StreamProgress, Subscription};
use hub_log::journal::JournalError;
use hub_log::{Event, Log};
use hub_protocol::{Cursor, Epoch, Need, Seq, Sessions};
use tokio::sync::watch;
use tokio_util::sync::WaitForCancellationFutureOwned;

mod frame;
mod heartbeat;
mod selection;

pub(crate) use selection::{EventKind, Selection};

use heartbeat::HeartbeatTimer;

/// After this much silence the stream sends a comment, so that both sides detect a dead connection.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// At most this many events from the ring go into one chunk.
const CHUNK_EVENTS: usize = 256;
/// A chunk takes no more events once it exceeds this size. This bounds the memory of a reader that does not read.
const CHUNK_BYTES: usize = 64 << 10;

/// The lists that a reader has already, by their tags.
pub(crate) struct KnownLists {
    pub(crate) sessions: Option<String>,
    pub(crate) needs: Option<String>,
}

/// The endless response with the events of `selection`.
pub(crate) fn response(
    hub: Hub,
    permit: StreamPermit,
    selection: Selection,
    start: &Start,
    known: KnownLists,
) -> Response {
    let selection = Arc::new(selection);
    let subscription = subscribe(hub.log(), &selection);
    let outlet = subscription.outlet();
    let wants_presence = selection.has(EventKind::Presence);
    let wants_needs = selection.has(EventKind::Need);
    let wants_sessions = selection.has(EventKind::Sessions);
    let reader = EventReader {
        presence: wants_presence.then(|| hub.presence()),
        presence_due: wants_presence,
        needs: wants_needs.then(|| NeedReader {
            followed: hub.follow_needs(),
            tag: known.needs,
        }),
        needs_due: false,
        sessions: wants_sessions.then(|| Box::new(SessionReader::new(&hub, known.sessions))),
        sessions_due: false,
        first: Some(start.frame(hub.log().epoch())),
        cursor: start.cursor(),
        heartbeat: HeartbeatTimer::new(HEARTBEAT),
        shutdown: Box::pin(hub.shutdown().clone().cancelled_owned()),
        hub,
        selection,
        subscription,
        _permit: permit,
    };
    let chunks = stream::unfold(reader, async |mut reader| {
        let chunk = reader.next().await?;
        reader.heartbeat.restart();
        Some((Ok::<_, Infallible>(chunk), reader))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    response.extensions_mut().insert(outlet);
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Nginx and those that follow it would collect events before they pass them on.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Registers a stream in the fan-out, with the frames that its reader gets.
fn subscribe(log: &Arc<Log>, selection: &Arc<Selection>) -> Subscription {
    let topic = selection.topic();
    let selection = Arc::clone(selection);
    log.join(
        topic,
        Box::new(move |log, event| {
            let included = selection.includes(log, event);
            included.then(|| frame::shared(event, log.epoch()))?
        }),
    )
}

/// The position where a stream begins.
pub(crate) enum Start {
    /// After this record.
    At(Seq),
    /// The requested position does not exist in this log: the reader gets a `reset` event, then new events.
    Reset(Seq),
}

impl Start {
    /// The position that the reader names, in `Last-Event-ID` or `since`; the head if it names none.
    pub(crate) fn find(
        log: &Log,
        last_event_id: Option<&HeaderValue>,
        since: Option<Cursor>,
    ) -> Self {
        let head = log.head();
        let named = last_event_id.map(|id| id.to_str().ok().and_then(|text| text.parse().ok()));
        match named.or(since.map(Some)) {
            None => Self::At(head),
            Some(Some(Cursor { epoch, seq }))
                if epoch.is_none_or(|epoch| epoch == log.epoch()) && seq <= head =>
            {
                Self::At(seq)
            }
            Some(_) => Self::Reset(head),
        }
    }

    fn cursor(&self) -> Seq {
        match self {
            Self::At(seq) | Self::Reset(seq) => *seq,
        }
    }

    /// The first event, with the reconnect delay. The delay is random, so that a thousand readers do not reconnect at
    /// once.
    fn frame(&self, epoch: Epoch) -> Bytes {
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
struct EventReader {
    hub: Hub,
    selection: Arc<Selection>,
    cursor: Seq,
    subscription: Subscription,
    presence: Option<watch::Receiver<u64>>,
    presence_due: bool,
    needs: Option<NeedReader>,
    needs_due: bool,
    sessions: Option<Box<SessionReader>>,
    sessions_due: bool,
    first: Option<Bytes>,
    heartbeat: HeartbeatTimer,
    shutdown: Pin<Box<WaitForCancellationFutureOwned>>,
    _permit: StreamPermit,
}

/// The needs as a reader has them.
struct NeedReader {
    followed: FollowedList<Vec<Need>>,
    /// The tag of the list that the reader had before the stream.
    tag: Option<String>,
}

impl NeedReader {
    /// The frame with the list, unless the reader has it.
    fn changes(&mut self) -> Option<Bytes> {
        let now = self.followed.list.borrow();
        let tag = self.tag.take();
        let has_it = tag.is_some_and(|it| it == follow::tag(&**now));
        (!has_it).then(|| frame::needs(&now))
    }
}

/// The sessions as a reader has them.
struct SessionReader {
    followed: FollowedList<Sessions>,
    /// The tag of the list that the reader had before the stream.
    tag: Option<String>,
    /// The list that the reader got last.
    known: Option<Arc<Sessions>>,
}

impl SessionReader {
    fn new(hub: &Hub, tag: Option<String>) -> Self {
        Self {
            followed: hub.follow_sessions(),
            tag,
            known: None,
        }
    }

    /// The frame with what differs from what the reader has, if anything does.
    fn changes(&mut self) -> Option<Bytes> {
        let now = Arc::clone(&self.followed.list.borrow());
        let before = self.known.replace(Arc::clone(&now));
        let tag = self.tag.take();
        let has_it = tag.is_some_and(|it| it == follow::tag(&*now));
        (!has_it).then(|| frame::sessions(before.as_deref(), &now))
    }
}

impl EventReader {
    /// The next bytes to send; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            if std::mem::take(&mut self.presence_due) {
                return Some(frame::presence(&self.hub));
            }
            if std::mem::take(&mut self.needs_due)
                && let Some(changes) = self.needs.as_mut().and_then(NeedReader::changes)
            {
                return Some(changes);
            }
            if std::mem::take(&mut self.sessions_due)
                && let Some(changes) = self.sessions.as_mut().and_then(|it| it.changes())
            {
                return Some(changes);
            }
            let (events, shared) = match self.read().await {
                Ok(events) => events,
                Err(JournalError::Corrupt { .. }) => return Some(self.skip_corruption()),
                Err(error) => {
                    tracing::error!(%error, "an event stream ends");
                    return None;
                }
            };
            let bytes = if events.is_empty() {
                self.idle().await?
            } else {
                self.chunk(&events, shared)
            };
            if bytes.is_some() {
                return bytes;
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
        frame::gap(log.epoch(), after + 1, self.cursor, true).into()
    }

    /// Waits for new events. Returns bytes that are ready to send, or an empty option if the log should be read; `None`
    /// at shutdown.
    async fn idle(&mut self) -> Option<Option<Bytes>> {
        if !self.subscription.park(self.cursor) {
            return Some(None);
        }
        let presence = async {
            match &mut self.presence {
                Some(presence) => presence.changed().await,
                None => std::future::pending().await,
            }
        };
        let needs = async {
            match &mut self.needs {
                Some(needs) => needs.followed.list.changed().await,
                None => std::future::pending().await,
            }
        };
        let sessions = async {
            match &mut self.sessions {
                Some(sessions) => sessions.followed.list.changed().await,
                None => std::future::pending().await,
            }
        };
        let silent = tokio::select! {
            biased;
            () = self.subscription.woken() => false,
            changed = presence => {
                changed.ok()?;
                self.presence_due = true;
                false
            }
            changed = needs => {
                changed.ok()?;
                self.needs_due = true;
                false
            }
            changed = sessions => {
                changed.ok()?;
                self.sessions_due = true;
                false
            }
            () = self.shutdown.as_mut() => return None,
            () = self.heartbeat.is_due() => true,
        };
        let progress = self.subscription.unpark();
        let silent = silent && progress.last_write.is_none();
        let comment = || Bytes::from_static(b":\n\n");
        Some(self.advance_to(progress).or_else(|| silent.then(comment)))
    }

    /// Advances the cursor to where the fan-out stopped. Returns the bytes that the fan-out could not write.
    fn advance_to(&mut self, progress: StreamProgress) -> Option<Bytes> {
        self.cursor = self.cursor.max(progress.cursor);
        if let Some(wrote) = progress.last_write {
            self.heartbeat.restart_at(wrote);
        }
        (!progress.unsent.is_empty()).then_some(progress.unsent)
    }

    /// The frames of `events`, up to [`CHUNK_BYTES`]; `None` if the reader gets none of them.
    fn chunk(&mut self, events: &[Arc<Event>], shared: bool) -> Option<Bytes> {
        let log = self.hub.log();
        let epoch = log.epoch();
        if let [event] = events
            && event.seq() == self.cursor + 1
        {
            self.cursor = event.seq();
            let included = self.selection.includes(log, event);
            return included.then(|| frame::shared(event, epoch))?.cloned();
        }
        let mut chunk = Vec::new();
        for event in events {
            let next = self.cursor + 1;
            if event.seq() > next {
                let last = event.seq() - 1;
                let is_lost = |at| log.journal().lost_at(at).is_some();
                let gap = frame::gap(epoch, next, last, is_lost(next) || is_lost(last));
                chunk.extend_from_slice(gap.as_bytes());
            }
            self.cursor = event.seq();
            if !self.selection.includes(log, event) {
                continue;
            }
            if !shared {
                frame::write(&mut chunk, event, epoch);
            } else if let Some(frame) = frame::shared(event, epoch) {
                chunk.extend_from_slice(frame);
            }
            if chunk.len() > CHUNK_BYTES {
                break;
            }
        }
        (!chunk.is_empty()).then(|| chunk.into())
    }
}
