//! The frames of server-sent events, and the filter that decides which event a reader gets.

use std::io::Write as _;
use std::str::FromStr;

use axum::body::Bytes;
use hub_protocol::{Epoch, InboxName, ProjectName, ResetEvent, Seq, Timestamp};
use serde::Serialize;

use super::news;
use crate::filter::Filter;
use crate::hub::Hub;
use crate::log::Event;
use crate::record::{How, Record, Seen, Settled};

/// A kind of event that a reader may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    Notification,
    Delivery,
    Seen,
    Session,
    Listener,
    Question,
    Presence,
    Preferences,
}

/// The set of kinds that a reader asked for, one bit for each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kinds(u8);

impl FromStr for Watch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "notification" => Self::Notification,
            "delivery" => Self::Delivery,
            "seen" => Self::Seen,
            "session" => Self::Session,
            "listener" => Self::Listener,
            "question" => Self::Question,
            "presence" => Self::Presence,
            "preferences" => Self::Preferences,
            _ => {
                return Err(format!(
                    "unknown kind of event '{text}' (expected notification, delivery, seen, session, listener, question, presence, preferences)"
                ));
            }
        })
    }
}

impl From<Option<Vec<Watch>>> for Kinds {
    fn from(watch: Option<Vec<Watch>>) -> Self {
        let watch = watch.unwrap_or_else(|| vec![Watch::Notification]);
        Self(watch.into_iter().fold(0, |bits, it| bits | 1 << it as u8))
    }
}

impl Kinds {
    pub(super) fn has(self, watch: Watch) -> bool {
        self.0 & (1 << watch as u8) != 0
    }

    /// Whether the reader needs events beyond the notifications of an inbox. An event that settles a notification
    /// everywhere touches no inbox.
    pub(super) fn reach_beyond_inboxes(self) -> bool {
        let beyond = [
            Watch::Delivery,
            Watch::Seen,
            Watch::Session,
            Watch::Listener,
            Watch::Question,
            Watch::Preferences,
        ];
        beyond.into_iter().any(|it| self.has(it))
    }

    pub(super) fn want(self, event: &Event, filter: &Filter) -> bool {
        let Some(watch) = news::watch_of(event.kind()).filter(|it| self.has(*it)) else {
            return false;
        };
        match watch {
            Watch::Notification => takes(filter, event),
            Watch::Delivery => concerns(filter, event),
            _ => true,
        }
    }
}

/// Whether the filter accepts a notification. An open filter accepts it without decoding the route.
fn takes(filter: &Filter, event: &Event) -> bool {
    filter.is_open()
        || event
            .notified()
            .is_some_and(|notified| filter.takes(event.seq(), &notified.route))
}

/// Whether a delivery event matches the filter. An event that settles a notification everywhere matches every filter.
fn concerns(filter: &Filter, event: &Event) -> bool {
    let Some(record) = event.record() else {
        return true;
    };
    let wanted = |(project, inbox): (&ProjectName, &InboxName)| {
        filter.project.as_ref().is_none_or(|it| it == project)
            && filter.inbox.as_ref().is_none_or(|it| it == inbox)
    };
    let mut touched = record.touches().peekable();
    touched.peek().is_none() || touched.any(wanted)
}

/// The frame of an event, the same for every reader; `None` for records that are not events.
pub(super) fn of(event: &Event, epoch: Epoch) -> Option<Bytes> {
    let mut frame = Vec::with_capacity(HEAD_BYTES + event.entry().payload.len());
    write(&mut frame, event, epoch);
    (!frame.is_empty()).then(|| frame.into())
}

/// Appends the frame of an event to `out`, or nothing for records that are not events.
pub(super) fn write(out: &mut Vec<u8>, event: &Event, epoch: Epoch) {
    let mut put = |name, data: &[u8]| put(out, epoch, event.seq(), name, data);
    if let Some(json) = event.json_bytes() {
        return put("notification", json);
    }
    match event.record() {
        Some(Record::Settled(settled)) => put("delivery", &json(&delivery(settled))),
        Some(Record::Seen(Seen {
            ids,
            up_to,
            seen,
            at,
        })) => {
            let data = serde_json::json!({ "ids": ids, "up_to": up_to, "seen": seen, "at": at });
            put("seen", &json(&data));
        }
        record => {
            if let Some((name, data)) = record.and_then(news::of) {
                put(name, &json(&data));
            }
        }
    }
}

#[derive(Serialize)]
struct Delivery<'a> {
    ids: &'a [Seq],
    state: How,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a ProjectName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inbox: Option<&'a InboxName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    at: Timestamp,
}

fn delivery(settled: &Settled) -> Delivery<'_> {
    let place = settled.inbox.as_ref();
    Delivery {
        ids: &settled.ids,
        state: settled.how,
        project: place.map(|(project, _)| project),
        inbox: place.map(|(_, inbox)| inbox),
        by: settled.by.as_deref(),
        at: settled.at,
    }
}

/// The presence event: all waiters, and the questions whose requests are held open. It has no id, because it is not in
/// the log; a reader that reconnects gets a new one.
pub(super) async fn presence(hub: &Hub) -> Option<Bytes> {
    let (waiters, held) = hub
        .query(|_, presence| {
            let of = |(project, inbox, holder): (&ProjectName, &InboxName, _)| {
                serde_json::json!({ "project": project, "inbox": inbox, "waiter": holder })
            };
            (
                presence.holders().map(of).collect::<Vec<_>>(),
                presence.held(),
            )
        })
        .await
        .ok()?;
    let data = serde_json::json!({ "waiters": waiters, "held": held });
    Some(format!("event: presence\ndata: {data}\n\n").into())
}

/// The first event of a stream. Its id lets a reader resume even if its connection breaks before another event.
pub(super) fn start(epoch: Epoch, after: Seq) -> String {
    format!(
        "id: {epoch}-{after}\nevent: start\ndata: {{\"epoch\":\"{epoch}\",\"after\":{after}}}\n\n"
    )
}

/// The event for a reader whose position does not exist in this log.
pub(super) fn reset(epoch: Epoch, head: Seq) -> String {
    let data = serde_json::to_string(&ResetEvent { epoch, head }).expect("an event is JSON");
    format!("id: {epoch}-{head}\nevent: reset\ndata: {data}\n\n")
}

/// The event for a range that retention has dropped.
pub(super) fn gap(epoch: Epoch, from: Seq, to: Seq) -> String {
    format!("id: {epoch}-{to}\nevent: gap\ndata: {{\"from\":{from},\"to\":{to}}}\n\n")
}

/// The event for a range that cannot be read, because the journal is damaged.
pub(super) fn corrupt(epoch: Epoch, from: Seq, to: Seq) -> String {
    format!(
        "id: {epoch}-{to}\nevent: gap\ndata: {{\"from\":{from},\"to\":{to},\"reason\":\"corrupt\"}}\n\n"
    )
}

/// Capacity for the lines around an event's data, so that a frame needs one allocation.
const HEAD_BYTES: usize = 80;

/// Writes one frame. JSON has no raw line breaks, so the data fits one line.
fn put(out: &mut Vec<u8>, epoch: Epoch, seq: Seq, event: &str, data: &[u8]) {
    let _ = write!(out, "id: {epoch}-{seq}\nevent: {event}\ndata: ");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("an event is JSON")
}

#[cfg(test)]
mod tests {
    use hub_protocol::Way;

    use super::*;
    use crate::journal::Entry;
    use crate::record::Emitted;

    fn event(record: Record) -> Event {
        let (kind, payload) = record.encode();
        let seq = 1;
        Event::new(Entry { seq, kind, payload }, record)
    }

    fn settled(inbox: Option<(ProjectName, InboxName)>) -> Event {
        let (ids, how, by, at) = (vec![1], How::Acked, None, Timestamp::default());
        let record = Settled {
            ids,
            inbox,
            how,
            by,
            at,
        };
        event(Record::Settled(record))
    }

    fn emitted(project: ProjectName, inbox: InboxName) -> Event {
        event(Record::Emitted(Emitted {
            project,
            inbox,
            ids: vec![1],
            way: Way::Wait,
            by: None,
            at: Timestamp::default(),
        }))
    }

    #[test]
    fn an_inbox_filter_keeps_its_own_deliveries_and_those_without_an_inbox() {
        let (project, a): (ProjectName, InboxName) = (ProjectName::default(), "a".parse().unwrap());
        let kinds = Kinds::from(Some(vec![Watch::Delivery]));
        for wanted in ["a", "b"] {
            let filter = Filter {
                inbox: Some(wanted.parse().unwrap()),
                ..Filter::default()
            };
            let here = settled(Some((project.clone(), a.clone())));
            assert_eq!(kinds.want(&here, &filter), wanted == "a");
            let here = emitted(project.clone(), a.clone());
            assert_eq!(kinds.want(&here, &filter), wanted == "a");
            assert!(kinds.want(&settled(None), &filter));
        }
    }
}
