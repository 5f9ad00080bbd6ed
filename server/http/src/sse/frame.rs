//! The frames of server-sent events: `id`, `event` and `data` of each record.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;

use axum::body::Bytes;
use hub_core::record::{QuestionSettled, Record, SettleReason, Settled};
use hub_engine::Hub;
use hub_log::Event;
use hub_protocol::{Epoch, InboxName, Need, ProjectName, Seq, Session, Sessions, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};

use super::selection::EventKind;

/// Capacity for the lines around an event's data, so that a frame needs one allocation.
const HEAD_BYTES: usize = 80;

/// The frame of an event, serialized once and shared by all readers; `None` for records that are not events.
pub(super) fn shared(event: &Event, epoch: Epoch) -> Option<&Bytes> {
    event.frame(|event| {
        let mut frame = Vec::with_capacity(HEAD_BYTES + event.entry().payload.len());
        write(&mut frame, event, epoch);
        (!frame.is_empty()).then(|| frame.into())
    })
}

/// Appends the frame of an event to `out`, or nothing for records that are not events.
pub(super) fn write(out: &mut Vec<u8>, event: &Event, epoch: Epoch) {
    if let Some(json) = event.json_bytes() {
        return write_frame(out, epoch, event.seq(), EventKind::Notification, json);
    }
    if let Some((kind, data)) = event.record().and_then(of_record) {
        let data = data.to_string();
        write_frame(out, epoch, event.seq(), kind, data.as_bytes());
    }
}

/// Writes one frame. JSON has no raw line breaks, so the data fits one line.
fn write_frame(out: &mut Vec<u8>, epoch: Epoch, seq: Seq, kind: EventKind, data: &[u8]) {
    let _ = write!(out, "id: {epoch}-{seq}\nevent: {}\ndata: ", kind.name());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
}

/// The kind and the data of a record's event. Notifications are sent as they are stored.
fn of_record(record: &Record) -> Option<(EventKind, Value)> {
    use EventKind::{Delivery, Listener, Preferences, Question, Seen, Session};
    Some(match record {
        Record::Settled(it) => (Delivery, json!(SettledEvent::new(it))),
        Record::Emitted(it) => (Delivery, with("state", "emitted", it)),
        Record::Returned(it) => (Delivery, with("state", "returned", it)),
        Record::Seen(it) => (
            Seen,
            json!({ "ids": it.ids, "up_to": it.up_to, "ranges": it.ranges, "seen": it.seen, "at": it.at }),
        ),
        Record::SessionSet(it) => (Session, with("what", "known", it)),
        Record::TurnNoted(it) => (Session, with("what", "turn", it)),
        Record::SessionEnded(it) => (Session, with("what", "gone", it)),
        Record::PrimaryTaken(it) => (Session, with("what", "primary", it)),
        Record::NeedClosed(it) => (Session, with("what", "need_closed", it)),
        Record::ListenerSet(it) => (Listener, with("what", "set", it)),
        Record::ListenerRemoved(it) => (Listener, with("what", "removed", it)),
        Record::QuestionClaimed(it) => (Question, with("what", "claimed", it)),
        Record::QuestionSettled(it) => (Question, settled_question(it)),
        Record::PreferencesSet(it) => (Preferences, json!(it.preferences)),
        Record::Notified(_)
        | Record::InboxClosed(_)
        | Record::KeyUsed(_)
        | Record::ClockMoved(_)
        | Record::Rewritten(_)
        | Record::Trimmed(_)
        | Record::Reset(_)
        | Record::Led(_)
        | Record::Escalated(_)
        | Record::ForwardNoted(_)
        | Record::RuleFired(_)
        | Record::RuleNoted(_) => return None,
    })
}

/// How a question was settled, with the word for an end without an answer that counts.
fn settled_question(it: &QuestionSettled) -> Value {
    let mut data = with("what", "settled", it);
    if let Some(ended) = it.state.ended(it.by.as_deref()) {
        data["ended"] = ended.into();
    }
    data
}

/// The fields of a record, and one that tells apart the records of one kind of event.
fn with(name: &str, value: &str, record: &impl Serialize) -> Value {
    let mut data = json!(record);
    data[name] = value.into();
    data
}

#[derive(Serialize)]
struct SettledEvent<'a> {
    ids: &'a [Seq],
    state: SettleReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a ProjectName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inbox: Option<&'a InboxName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    at: Timestamp,
}

impl<'a> SettledEvent<'a> {
    fn new(settled: &'a Settled) -> Self {
        let inbox = settled.inbox.as_ref();
        Self {
            ids: &settled.ids,
            state: settled.how,
            project: inbox.map(|(project, _)| project),
            inbox: inbox.map(|(_, inbox)| inbox),
            by: settled.by.as_deref(),
            at: settled.at,
        }
    }
}

/// The presence event: all waiters, the questions whose requests are held open, and whether the person looks at a
/// dashboard. It has no id, because it is not in the log; a reader that reconnects gets a new one.
pub(super) fn presence(hub: &Hub) -> Bytes {
    let waiters = hub.waiters().read();
    let of = |(project, inbox, holder): (&ProjectName, &InboxName, _)| json!({ "project": project, "inbox": inbox, "waiter": holder });
    let all: Vec<Value> = waiters.holders().map(of).collect();
    let data = json!({ "waiters": all, "held": waiters.held(), "focused": hub.is_focused() });
    format!("event: presence\ndata: {data}\n\n").into()
}

/// The event with all that the person has to do. It has no id, because it is not in the log.
pub(super) fn needs(needs: &[Need]) -> Bytes {
    let data = json!({ "needs": needs });
    format!("event: need\ndata: {data}\n\n").into()
}

/// The event with the sessions that differ from those that a reader has, and the names of those that the list no longer has; at
/// first the whole list. It has no id, because it is not in the log.
pub(super) fn sessions(before: Option<&Sessions>, now: &Sessions) -> Bytes {
    let is_whole = before.is_none();
    let before = before.map_or(&[][..], |it| &it.sessions);
    let known: HashMap<_, _> = before.iter().map(|it| (place(it), it)).collect();
    let listed: HashSet<_> = now.sessions.iter().map(place).collect();
    let is_new = |it: &&Session| known.get(&place(it)).is_none_or(|known| *known != *it);
    let changed: Vec<_> = now.sessions.iter().filter(is_new).collect();
    let gone = before.iter().filter(|it| !listed.contains(&place(it)));
    let gone: Vec<_> = gone
        .map(|it| json!({ "project": it.project, "id": it.id }))
        .collect();
    let data = json!({ "whole": is_whole, "sessions": changed, "gone": gone, "ended": now.ended, "reporting": now.reporting });
    format!("event: sessions\ndata: {data}\n\n").into()
}

fn place(it: &Session) -> (&ProjectName, &InboxName) {
    (&it.project, &it.id)
}

/// The first event of a stream. Its id lets a reader resume even if its connection breaks before another event.
pub(super) fn start(epoch: Epoch, after: Seq) -> String {
    format!(
        "id: {epoch}-{after}\nevent: start\ndata: {{\"epoch\":\"{epoch}\",\"after\":{after}}}\n\n"
    )
}

/// The event for a reader whose position does not exist in this log.
pub(super) fn reset(epoch: Epoch, head: Seq) -> String {
    format!("id: {epoch}-{head}\nevent: reset\ndata: {{\"epoch\":\"{epoch}\",\"head\":{head}}}\n\n")
}

/// The event for a range that the reader does not get: retention has dropped it, or the damaged journal has lost it.
pub(super) fn gap(epoch: Epoch, from: Seq, to: Seq, is_corrupt: bool) -> String {
    let reason = if is_corrupt {
        ",\"reason\":\"corrupt\""
    } else {
        ""
    };
    format!("id: {epoch}-{to}\nevent: gap\ndata: {{\"from\":{from},\"to\":{to}{reason}}}\n\n")
}
