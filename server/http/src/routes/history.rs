//! `GET /notifications`: the history, newest first.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use axum::response::Response;
use hub_core::filter::Filter;
use hub_core::fold::State as Fold;
use hub_core::waiters::SharedWaiters;
use hub_engine::Hub;
use hub_log::{Event, Log};
use hub_protocol::{HistoryMarks, HistoryPage, Notification, QuestionState, Seq, Status};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{json_response, stored, thread};
use crate::error::{ApiError, Code};
use crate::request::params::{FilterParams, Params, PathParam};

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 500;
/// The number of notifications with which the dashboard starts.
const FEED_PAGE: usize = 200;
/// Limit of records scanned in one request. The answer's `next` mentions where to continue.
const MAX_SCAN: u64 = 50_000;
/// Records scanned in one step.
const STEP: u64 = 512;
/// Bytes of notifications in one page, after which it ends.
pub(super) const MAX_PAGE_BYTES: usize = 8 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryParams {
    q: Option<String>,
    status: Option<Status>,
    seen: Option<bool>,
    before: Option<Seq>,
    after: Option<Seq>,
    limit: Option<usize>,
    thread: Option<Seq>,
    #[serde(flatten)]
    filter: FilterParams,
}

/// One search of the history: its conditions and its position.
struct Search {
    filter: Filter,
    text: Option<String>,
    status: Option<Status>,
    seen: Option<bool>,
    limit: usize,
    /// The direction: oldest first from `after` on, otherwise newest first from `before` back.
    forward: bool,
    position: Seq,
}

/// `GET /notifications`: the matching notifications, newest first; oldest first with `after`.
pub(super) async fn list(
    State(hub): State<Hub>,
    Params(params): Params<HistoryParams>,
) -> Result<Response, ApiError> {
    if params.before.is_some() && params.after.is_some() {
        return Err(ApiError::invalid("give before or after, not both"));
    }
    let limit = params.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(ApiError::invalid(format!("limit is 1 to {MAX_LIMIT}")));
    }
    let filter = Filter::from(params.filter);
    if let Some(id) = params.thread {
        if params.before.is_some()
            || params.q.is_some()
            || params.status.is_some()
            || params.seen.is_some()
            || !filter.is_open()
        {
            return Err(ApiError::invalid("thread goes with limit and after alone"));
        }
        let after = params.after;
        return Ok(page(&thread::thread(&hub, id, after, limit).await?));
    }
    let head = hub.log().head();
    let mut search = Search {
        filter,
        text: params.q.map(|text| text.to_lowercase()),
        status: params.status,
        seen: params.seen,
        limit,
        forward: params.after.is_some(),
        position: params
            .after
            .or(params.before)
            .unwrap_or(head + 1)
            .min(head + 1),
    };
    let found = stored::scan(move |allowance| search.run(&hub, || allowance.is_over()));
    Ok(page(&found.await?))
}

impl Search {
    fn run(&mut self, hub: &Hub, is_over: impl Fn() -> bool) -> Result<Page, ApiError> {
        let mut found = Vec::new();
        let (mut scanned, mut bytes) = (0, 0);
        while let Some((from, to)) = self.step(hub.log()) {
            scanned += to - from;
            let mut events = self.matches(hub.log(), from, to)?;
            if !self.forward {
                events.reverse();
            }
            for (seq, json) in self.with_marks(hub, &events)? {
                bytes += json.len();
                found.push(json);
                if found.len() == self.limit || bytes > MAX_PAGE_BYTES {
                    self.position = seq;
                    return Ok(self.page(hub.log(), found, false));
                }
            }
            self.position = if self.forward { to - 1 } else { from };
            if scanned >= MAX_SCAN || is_over() {
                return Ok(self.page(hub.log(), found, true));
            }
        }
        Ok(self.page(hub.log(), found, false))
    }

    fn page(&self, log: &Log, found: Vec<Vec<u8>>, partial: bool) -> Page {
        let next = self.step(log).map(|_| self.position);
        Page {
            found,
            partial: partial && next.is_some(),
            next,
        }
    }

    /// The next range of records to scan, first and end; `None` at the end of the log.
    fn step(&self, log: &Log) -> Option<(Seq, Seq)> {
        let (from, to) = if self.forward {
            let from = (self.position + 1).max(log.earliest());
            (from, (from + STEP).min(log.head() + 1))
        } else {
            (
                self.position.saturating_sub(STEP).max(log.earliest()),
                self.position,
            )
        };
        (from < to).then_some((from, to))
    }

    fn matches(&self, log: &Log, from: Seq, to: Seq) -> Result<Vec<Arc<Event>>, ApiError> {
        let mut found = Vec::new();
        let mut cursor = from - 1;
        while cursor + 1 < to {
            let events = log.read(cursor, hub_log::CHUNK_BYTES)?;
            let Some(last) = events.last() else { break };
            cursor = last.seq();
            let inside = events.into_iter().filter(|event| event.seq() < to);
            let shown = inside.filter(|event| !log.hides(event));
            found.extend(shown.filter(|event| wanted(event, &self.filter, self.text.as_deref())));
        }
        Ok(found)
    }

    fn with_marks(
        &self,
        hub: &Hub,
        events: &[Arc<Event>],
    ) -> Result<Vec<(Seq, Vec<u8>)>, ApiError> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let (wanted, marked) = (self.status, self.seen);
        let all = hub.read(|state, waiters| {
            let of = |event: &Arc<Event>| {
                let notified = event.notified()?;
                let id = event.seq();
                if !is_kept(state, id) {
                    return None;
                }
                let marks = marks_of(state, waiters, id, !notified.route.targets.is_empty());
                let chosen = wanted.is_none_or(|wanted| wanted == marks.status)
                    && marked.is_none_or(|marked| marked == marks.seen);
                chosen.then(|| (id, with_marks(&notified.json, &marks)))
            };
            events.iter().filter_map(of).collect()
        });
        Ok(all?)
    }
}

/// Whether the event is a notification that the filter chooses and that contains `text`.
pub(super) fn wanted(event: &Event, filter: &Filter, text: Option<&str>) -> bool {
    let Some(notified) = event.notified() else {
        return false;
    };
    filter.matches(event.seq(), &notified.route)
        && text.is_none_or(|text| mentions(&notified.json, text))
}

/// Whether the sender, the title or the text of a notification contains `text`. Ignores case.
fn mentions(json: &[u8], text: &str) -> bool {
    let Ok(notification) = serde_json::from_slice::<Notification>(json) else {
        return false;
    };
    let parts = [
        Some(notification.msg.as_str()),
        notification.title.as_deref(),
        Some(notification.from.as_str()),
    ];
    parts
        .into_iter()
        .flatten()
        .any(|part| part.to_lowercase().contains(text))
}

/// The marks of a notification; `routed` is whether it went to an inbox.
pub(super) fn marks_of(
    state: &Fold,
    waiters: &SharedWaiters,
    id: Seq,
    routed: bool,
) -> HistoryMarks {
    let question = state.questions.get(id);
    let answered = question.filter(|it| it.state == QuestionState::Answered);
    let hook = || waiters.read().hook_connection(id, Instant::now());
    HistoryMarks {
        status: status_of(state, id, routed),
        seen: state.seen.contains(id),
        delivery: answered.and_then(|it| state.answer_delivery(it, hook())),
        answer: answered.and_then(|it| it.answer),
        ended: question
            .and_then(|it| it.state.ended(it.by.as_deref()))
            .map(str::to_owned),
    }
}

/// The status of a notification; that of a question whose answer turned out not to count is not that it was answered.
pub(super) fn status_of(state: &Fold, id: Seq, routed: bool) -> Status {
    let question = state.questions.get(id);
    match state.status(id, routed) {
        Status::Answered if question.is_some_and(|it| it.state == QuestionState::Withdrawn) => {
            Status::Withdrawn
        }
        status => status,
    }
}

/// A stored notification with its marks, which are appended without parsing it.
pub(super) fn with_marks(json: &[u8], marks: &HistoryMarks) -> Vec<u8> {
    let marks = to_json(marks);
    [&json[..json.len() - 1], b",", &marks[1..]].concat()
}

fn to_json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data is JSON")
}

/// The result of one request.
pub(super) struct Page {
    /// The matches as JSON, with status and read mark.
    pub(super) found: Vec<Vec<u8>>,
    /// Whether the scan limit ended the search before `limit` matches were found.
    pub(super) partial: bool,
    /// The cursor of the next page, if there may be more.
    pub(super) next: Option<Seq>,
}

/// The newest notifications, a page of the dashboard's feed.
pub(super) async fn newest(hub: &Hub) -> Result<HistoryPage, ApiError> {
    let mut search = Search {
        filter: Filter::default(),
        text: None,
        status: None,
        seen: None,
        limit: FEED_PAGE,
        forward: false,
        position: hub.log().head() + 1,
    };
    let hub = hub.clone();
    let page = stored::blocking(move || search.run(&hub, || false)).await?;
    let raw = |json| {
        String::from_utf8(json)
            .ok()
            .and_then(|it| RawValue::from_string(it).ok())
    };
    Ok(HistoryPage {
        notifications: page.found.into_iter().filter_map(raw).collect(),
        partial: page.partial,
        next: page.next,
    })
}

fn page(page: &Page) -> Response {
    let frame = to_json(&HistoryPage {
        notifications: Vec::new(),
        partial: page.partial,
        next: page.next,
    });
    json_response(stored::with_notifications(&frame, &page.found))
}

/// `GET /notifications/{id}`: one notification, with its status.
pub(super) async fn get(
    State(hub): State<Hub>,
    PathParam(id): PathParam<Seq>,
) -> Result<Response, ApiError> {
    let (json, routed) = find(&hub, id).await?;
    let marks = hub.read(|state, waiters| marks_of(state, waiters, id, routed))?;
    Ok(json_response(with_marks(&json, &marks)))
}

/// Whether the log still has a notification. Retention first moves its boundary; the record is deleted later.
pub(super) fn is_kept(state: &Fold, id: Seq) -> bool {
    id >= state.retention.below() || state.location(id).is_some()
}

/// A notification's JSON, also if retention has carried it to another record, and whether it was routed to an inbox.
pub(super) async fn find(hub: &Hub, id: Seq) -> Result<(axum::body::Bytes, bool), ApiError> {
    let place = move |state: &Fold| state.location(id).unwrap_or(id);
    let location = hub.read(|state, _| is_kept(state, id).then(|| place(state)))?;
    let event = stored::event(hub.log(), location.unwrap_or(0)).await?;
    let shown = |event: &Arc<Event>| {
        let is_it = event.seq() != id || event.notified().is_some();
        is_it && !hub.log().hides(event)
    };
    let event = event.filter(shown);
    let json = event.as_ref().and_then(|event| event.json());
    let json = json
        .ok_or_else(|| ApiError::new(Code::UnknownNotification, format!("no notification {id}")))?;
    let notified = event.as_ref().and_then(|event| event.notified());
    Ok((
        json,
        notified.is_none_or(|notified| !notified.route.targets.is_empty()),
    ))
}
