//! The person's read marks: one set for the whole hub, reversible, without effect on inboxes. Agents set none.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use hub_core::command::Command;
use hub_core::filter::Filter;
use hub_core::record::Record;
use hub_engine::Hub;
use hub_log::journal::JournalError;
use hub_log::{CHUNK_BYTES, Log};
use hub_protocol::{SeenReply, SeenRequest, Seq};

use super::{history, stored};
use crate::budget::Allowance;
use crate::error::{ApiError, Code};
use crate::request::caller::Caller;
use crate::request::params::PathParam;
use crate::request::payload::Payload;

const MAX_IDS: usize = 1000;
/// The most ranges that one request marks, because they are one record.
const MAX_RANGES: usize = 50_000;
/// Marked records between two unmarked ones that are read rather than skipped, because a jump costs a disk read.
const MAX_READ_GAP: Seq = 2_048;

/// First and last number of each range, ascending.
type SeqRanges = Vec<(Seq, Seq)>;

/// `PUT /notifications/{id}/seen`: marks one notification as read.
pub(super) async fn mark(
    hub: State<Hub>,
    id: PathParam<Seq>,
    caller: Caller,
) -> Result<Json<SeenReply>, ApiError> {
    caller.refuse_agents(&hub).await?;
    set_ids(&hub, vec![id.0], true).await
}

/// `DELETE /notifications/{id}/seen`: removes the mark.
pub(super) async fn unmark(
    hub: State<Hub>,
    id: PathParam<Seq>,
    caller: Caller,
) -> Result<Json<SeenReply>, ApiError> {
    caller.refuse_agents(&hub).await?;
    set_ids(&hub, vec![id.0], false).await
}

/// `POST /seen`: marks the given notifications, all that a filter chooses, or undoes an earlier request.
pub(super) async fn mark_many(
    hub: State<Hub>,
    caller: Caller,
    payload: Payload,
) -> Result<Json<SeenReply>, ApiError> {
    caller.refuse_agents(&hub).await?;
    let body: SeenRequest = payload.json()?;
    let bad = |why: &str| Err(ApiError::invalid(why.to_owned()));
    if body.up_to == Some(0) {
        return bad("up_to is at least 1");
    }
    if let Some(undo) = body.undo {
        let only_undo = SeenRequest {
            undo: body.undo,
            ..SeenRequest::default()
        };
        return if body == only_undo {
            set_back(&hub, undo).await
        } else {
            bad("undo goes alone")
        };
    }
    let Some(seen) = body.seen else {
        return bad("give seen: true or false");
    };
    let (filter, text) = filter_of(&body);
    let restricted = !filter.is_open() || text.is_some();
    if let Some(ids) = body.ids {
        if restricted || body.up_to.is_some() {
            return bad("ids goes with seen alone");
        }
        if !(1..=MAX_IDS).contains(&ids.len()) {
            return bad(&format!("give 1 to {MAX_IDS} ids"));
        }
        return set_ids(&hub, ids, seen).await;
    }
    if !restricted && body.up_to.is_none() {
        return bad("give ids, up_to or a filter");
    }
    set_chosen(&hub, (filter, text), body.up_to, seen).await
}

fn filter_of(body: &SeenRequest) -> (Filter, Option<String>) {
    let filter = Filter {
        project: body.project.clone(),
        inbox: body.inbox.clone(),
        kinds: body.types.clone(),
        from: body.from.clone(),
        session: body.session.clone(),
        min_priority: body.min_priority,
        after: 0,
    };
    (filter, body.q.as_deref().map(str::to_lowercase))
}

async fn set_ids(hub: &Hub, ids: Vec<Seq>, seen: bool) -> Result<Json<SeenReply>, ApiError> {
    if ids.contains(&0) {
        return Err(ApiError::new(
            Code::UnknownNotification,
            "no notification 0",
        ));
    }
    let changed = hub.read(|state, _| {
        let mut differing = ids.clone();
        differing.retain(|&id| state.seen.contains(id) != seen);
        differing.sort_unstable();
        differing.dedup();
        differing.len()
    })?;
    submit(hub, (ids, Vec::new()), changed as u64, seen).await
}

/// Marks what the filter chooses up to a number; up to the head if it is missing.
async fn set_chosen(
    hub: &Hub,
    (filter, text): (Filter, Option<String>),
    up_to: Option<Seq>,
    seen: bool,
) -> Result<Json<SeenReply>, ApiError> {
    let head = hub.log().head();
    if let Some(unknown) = up_to.filter(|&up_to| up_to > head) {
        let why = format!("no notification {unknown}");
        return Err(ApiError::new(Code::UnknownNotification, why));
    }
    let up_to = up_to.unwrap_or(head);
    let differing = hub.read(|state, _| state.seen.differences(up_to, seen))?;
    let log = Arc::clone(hub.log());
    let chosen = stored::scan(move |allowance| {
        choose(&log, &differing, (&filter, text.as_deref()), allowance)
    });
    let (changed, ranges) = chosen.await?;
    if ranges.len() > MAX_RANGES {
        return Err(ApiError::invalid(format!(
            "this chooses more than {MAX_RANGES} separate stretches of the log: give up_to, or fewer conditions"
        )));
    }
    submit(hub, (Vec::new(), ranges), changed, seen).await
}

/// The notifications within `differing` that the filter chooses: their number, and ranges that contain no others.
fn choose(
    log: &Log,
    differing: &[(Seq, Seq)],
    (filter, text): (&Filter, Option<&str>),
    allowance: &Allowance,
) -> Result<(u64, SeqRanges), JournalError> {
    let mut found = (0, SeqRanges::new());
    // Whether the last range may still grow: no notification that is not chosen was read since.
    let mut open = false;
    let mut differing = differing.iter().copied().peekable();
    let mut cursor = log.earliest().saturating_sub(1);
    while let Some(&(first, last)) = differing.peek() {
        if cursor >= last {
            differing.next();
            continue;
        }
        if first > cursor + MAX_READ_GAP {
            cursor = first - 1;
        }
        if found.1.len() > MAX_RANGES {
            break;
        }
        allowance.go_on()?;
        let events = log.read(cursor, CHUNK_BYTES)?;
        let Some(end) = events.last() else { break };
        cursor = end.seq();
        for event in events.iter().filter(|event| event.notified().is_some()) {
            let id = event.seq();
            while differing.next_if(|&(_, last)| last < id).is_some() {}
            let inside = differing.peek().is_some_and(|&(first, _)| first <= id);
            let chosen = inside && !log.hides(event) && history::wanted(event, filter, text);
            if chosen && open {
                found.1.last_mut().expect("it is open").1 = id;
            } else if chosen {
                found.1.push((id, id));
            }
            found.0 += u64::from(chosen);
            open = chosen;
        }
    }
    Ok(found)
}

/// Sets the marks back that a record changed.
async fn set_back(hub: &Hub, record: Seq) -> Result<Json<SeenReply>, ApiError> {
    let event = stored::event(hub.log(), record).await?;
    let Some(Record::Seen(it)) = event.as_ref().and_then(|event| event.record()) else {
        return Err(ApiError::new(
            Code::UnknownNotification,
            format!("no change of marks has the number {record}"),
        ));
    };
    let ranges = it
        .ids
        .iter()
        .map(|&id| (id, id))
        .chain(it.ranges.iter().copied());
    let (ranges, seen) = (ranges.collect::<SeqRanges>(), !it.seen);
    let log = Arc::clone(hub.log());
    let within = ranges.clone();
    let count =
        stored::scan(move |allowance| choose(&log, &within, (&Filter::default(), None), allowance));
    let changed = count.await?.0;
    submit(hub, (Vec::new(), ranges), changed, seen).await
}

async fn submit(
    hub: &Hub,
    (ids, ranges): (Vec<Seq>, SeqRanges),
    changed: u64,
    seen: bool,
) -> Result<Json<SeenReply>, ApiError> {
    let command = Command::Seen { ids, ranges, seen };
    let undo = hub.submit(command).await?.marked;
    Ok(Json(SeenReply {
        seen,
        changed,
        undo,
    }))
}
