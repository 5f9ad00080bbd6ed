//! `GET /notifications?thread=ID`: a notification, its ancestors, and all replies to any of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use hub_core::record::kinds;
use hub_engine::Hub;
use hub_log::journal::JournalError;
use hub_log::{CHUNK_BYTES, Log};
use hub_protocol::Seq;
use serde::Deserialize;

use super::history::{self, Page};
use super::stored;
use crate::budget::Allowance;
use crate::error::ApiError;

/// Limit of records scanned in one request.
const MAX_SCAN: usize = 200_000;
/// Limit of ancestors. Agents stop waking each other long before.
const MAX_DEPTH: usize = 64;

/// Notifications as stored JSON, and whether each was routed to an inbox.
type ThreadItems = BTreeMap<Seq, (Bytes, bool)>;

#[derive(Deserialize)]
struct ReplyTo {
    reply_to: Option<Seq>,
}

/// The thread of `id` with its statuses, oldest first: its ancestors, itself and the replies, at most `limit`
/// notifications. With `after`, only the replies after that id.
pub(super) async fn thread(
    hub: &Hub,
    id: Seq,
    after: Option<Seq>,
    limit: usize,
) -> Result<Page, ApiError> {
    let items = ancestors(hub, id).await?;
    let log = Arc::clone(hub.log());
    let replies =
        stored::scan(move |allowance| ReplyScan::find(&log, items, (after, limit), allowance));
    let replies = replies.await?;
    let (items, next) = (replies.items, replies.next);
    let shown = hub.read(|state, waiters| {
        let kept = items
            .into_iter()
            .filter(|(id, _)| history::is_kept(state, *id));
        kept.map(|(id, (json, routed))| {
            history::with_marks(&json, &history::marks_of(state, waiters, id, routed))
        })
        .collect()
    })?;
    Ok(Page {
        found: shown,
        partial: replies.partial,
        next,
    })
}

/// A notification and its ancestors, as far as retention has kept them.
async fn ancestors(hub: &Hub, id: Seq) -> Result<ThreadItems, ApiError> {
    let mut items = ThreadItems::new();
    let mut next = Some(id);
    while let Some(id) = next.filter(|_| items.len() < MAX_DEPTH) {
        let found = match history::find(hub, id).await {
            Err(_) if !items.is_empty() => break,
            found => found?,
        };
        next = reply_to(&found.0);
        items.insert(id, found);
    }
    Ok(items)
}

/// A scan for direct and indirect replies. A reply always has a higher number than the notification it replies to.
struct ReplyScan<'a> {
    log: &'a Log,
    /// The first scanned record. Whether an earlier notification belongs to the thread has to be looked up.
    start: Seq,
    members: BTreeSet<Seq>,
    others: BTreeSet<Seq>,
}

/// The result of the scan.
struct ScanResult {
    items: ThreadItems,
    partial: bool,
    next: Option<Seq>,
}

impl ReplyScan<'_> {
    fn find(
        log: &Log,
        ancestors: ThreadItems,
        (after, limit): (Option<Seq>, usize),
        allowance: &Allowance,
    ) -> Result<ScanResult, JournalError> {
        let first = ancestors.first_key_value().map_or(0, |(id, _)| *id);
        let begin = first.max(log.earliest().saturating_sub(1));
        let start = begin.max(after.unwrap_or(0));
        let search = ReplyScan {
            log,
            start,
            members: ancestors.keys().copied().collect(),
            others: BTreeSet::new(),
        };
        let items = if after.is_none() {
            ancestors
        } else {
            ThreadItems::new()
        };
        search.run(items, limit, allowance)
    }

    fn run(
        mut self,
        mut items: ThreadItems,
        limit: usize,
        allowance: &Allowance,
    ) -> Result<ScanResult, JournalError> {
        let mut cursor = self.start;
        let mut scanned = 0;
        let mut bytes: usize = items.values().map(|(json, _)| json.len()).sum();
        while scanned < MAX_SCAN {
            allowance.go_on()?;
            let events = self.log.read(cursor, CHUNK_BYTES)?;
            let Some(last) = events.last() else { break };
            for event in events.iter().filter(|it| it.kind() == kinds::NOTIFIED) {
                let (seq, Some(notified)) = (event.seq(), event.notified()) else {
                    continue;
                };
                let Some(to) = reply_to(&notified.json) else {
                    continue;
                };
                if self.members.contains(&seq) || self.log.hides(event) || !self.has(to)? {
                    continue;
                }
                bytes += notified.json.len();
                if items.len() >= limit || bytes > history::MAX_PAGE_BYTES {
                    let next = Some(seq - 1);
                    let partial = false;
                    return Ok(ScanResult {
                        items,
                        partial,
                        next,
                    });
                }
                self.members.insert(seq);
                let routed = !notified.route.targets.is_empty();
                items.insert(seq, (notified.json.clone(), routed));
            }
            cursor = last.seq();
            scanned += events.len();
        }
        let next = (cursor < self.log.head()).then_some(cursor);
        let partial = next.is_some();
        Ok(ScanResult {
            items,
            partial,
            next,
        })
    }

    /// Whether a notification belongs to the thread. For one before the start of the scan, follows its replies back to
    /// a notification that is known to be in or out.
    fn has(&mut self, id: Seq) -> Result<bool, JournalError> {
        let (mut path, mut next) = (Vec::new(), Some(id));
        let oldest = self.members.first().copied().unwrap_or(0);
        let found = loop {
            let Some(id) = next else { break false };
            if self.members.contains(&id) {
                break true;
            }
            let beyond = id > self.start || id < oldest || self.others.contains(&id);
            // A reply is newer than its parent. Without this check, a damaged log with a cycle would never end the
            // loop.
            if beyond || path.last().is_some_and(|&younger| id >= younger) {
                break false;
            }
            path.push(id);
            let event = self.log.get(id)?;
            let notified = event.as_ref().and_then(|event| event.notified());
            next = notified.and_then(|notified| reply_to(&notified.json));
        };
        let known = if found {
            &mut self.members
        } else {
            &mut self.others
        };
        known.extend(path);
        Ok(found)
    }
}

/// The id that a notification replies to. Most are not replies and are not parsed.
fn reply_to(json: &[u8]) -> Option<Seq> {
    let text = std::str::from_utf8(json).ok()?;
    if !text.contains("\"reply_to\":") {
        return None;
    }
    serde_json::from_str::<ReplyTo>(text).ok()?.reply_to
}
