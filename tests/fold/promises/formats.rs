//! Compatibility of the data on disk: these bytes are format 1.

use bytes::Bytes;
use hub_core::record::{
    ClockMoved, DecodeError, InboxClosed, KeyUsed, Led, Notified, Reset, Rewritten, Route, Seen,
    SettleReason, Settled, Target, Trimmed, notification_json,
};

use super::*;

fn records() -> Vec<(Record, u8, Vec<u8>)> {
    let (project, inbox, at) = (project(), name("w1"), noon());
    let settled = Settled {
        ids: vec![1, 2],
        inbox: Some((project.clone(), inbox.clone())),
        how: SettleReason::Superseded,
        by: Some("3".into()),
        at,
    };
    let seen = Seen {
        ids: vec![4],
        up_to: Some(2),
        ranges: vec![(6, 9)],
        seen: false,
        at,
    };
    let used = KeyUsed {
        key: "k".into(),
        digest: "00ff".into(),
        ids: vec![1],
        at,
    };
    let rewritten = Rewritten {
        id: 7,
        json: JSON.into(),
    };
    let closed = project.clone();
    let closed = InboxClosed {
        project: closed,
        inbox,
        at,
    };
    let node = "server1".into();
    let led = Led { node, at };
    let json = |text: &str| text.as_bytes().to_vec();
    vec![
        (notified(), 1, framed(ROUTE, JSON)),
        (Record::Settled(settled), 2, json(SETTLED)),
        (Record::Seen(seen), 3, json(SEEN)),
        (Record::InboxClosed(closed), 4, json(CLOSED)),
        (Record::KeyUsed(used), 5, json(KEY_USED)),
        (
            Record::ClockMoved(ClockMoved { delta_ms: -5, at }),
            6,
            json(CLOCK_MOVED),
        ),
        (Record::Rewritten(rewritten), 7, framed("7", JSON)),
        (Record::Trimmed(Trimmed { below: 9, at }), 8, json(TRIMMED)),
        (reset(project.clone(), false), 9, json(RESET)),
        (reset(project, true), 9, json(RESET_HISTORY)),
        (Record::Led(led), 10, json(LED)),
    ]
}

const JSON: &str = r#"{"id":7}"#;
const ROUTE: &str = r#"["default","ci","error","high",1795262400000,1795262400001,[["w1",true]],"build",["ci","error"],1]"#;
const SETTLED: &str = r#"{"ids":[1,2],"inbox":["default","w1"],"how":"superseded","by":"3","at":"2026-11-21T12:00:00.000Z"}"#;
const SEEN: &str =
    r#"{"ids":[4],"up_to":2,"ranges":[[6,9]],"seen":false,"at":"2026-11-21T12:00:00.000Z"}"#;
const CLOSED: &str = r#"{"project":"default","inbox":"w1","at":"2026-11-21T12:00:00.000Z"}"#;
const KEY_USED: &str = r#"{"key":"k","digest":"00ff","ids":[1],"at":"2026-11-21T12:00:00.000Z"}"#;
const CLOCK_MOVED: &str = r#"{"delta_ms":-5,"at":"2026-11-21T12:00:00.000Z"}"#;
const TRIMMED: &str = r#"{"below":9,"at":"2026-11-21T12:00:00.000Z"}"#;
const LED: &str = r#"{"node":"server1","at":"2026-11-21T12:00:00.000Z"}"#;
const RESET: &str = r#"{"project":"default","at":"2026-11-21T12:00:00.000Z"}"#;
const RESET_HISTORY: &str =
    r#"{"project":"default","history":true,"at":"2026-11-21T12:00:00.000Z"}"#;

fn reset(project: ProjectName, history: bool) -> Record {
    let at = noon();
    Record::Reset(Reset {
        project,
        history,
        at,
    })
}

fn notified() -> Record {
    let target = Target {
        inbox: name("w1"),
        wakes: true,
    };
    Record::Notified(Notified {
        route: Route {
            project: project(),
            from: name("ci"),
            kind: Kind::Error,
            priority: Priority::High,
            ts: noon(),
            expires_at: noon().plus_millis(1),
            targets: vec![target],
            key: Some("build".into()),
            session: Some((name("ci"), hub_protocol::SessionState::Error)),
            hops: 1,
        },
        json: JSON.into(),
    })
}

fn framed(head: &str, json: &str) -> Vec<u8> {
    let length = u32::try_from(head.len()).unwrap().to_le_bytes();
    [&length, head.as_bytes(), json.as_bytes()].concat()
}

#[test]
fn every_record_has_the_bytes_of_format_1_and_is_read_from_them() {
    for (record, kind, payload) in records() {
        assert_eq!(
            record.encode(),
            (kind, payload.clone().into()),
            "{record:?}"
        );
        assert_eq!(Record::decode(kind, &payload.into()).unwrap(), record);
    }
}

#[test]
fn a_snapshot_from_before_a_field_existed_is_read() {
    let (hub, _) = Hub::with(Kind::Complete);
    for field in ["hidden", "preferences", "forwards"] {
        let mut old = serde_json::to_value(&hub.state).unwrap();
        old.as_object_mut().unwrap().remove(field).unwrap();
        let read: State = serde_json::from_value(old).unwrap();
        assert_eq!(read, hub.state);
    }
}

#[test]
fn the_json_of_a_notification_is_found_without_parsing() {
    for (_, kind, payload) in records() {
        let carries = matches!(kind, 1 | 7);
        let found = notification_json(kind, payload.as_ref());
        assert_eq!(found, carries.then_some(JSON.as_bytes()));
    }
}

#[test]
fn a_truncated_record_is_an_error() {
    for (_, kind, payload) in records() {
        // A notification's JSON is not parsed, but its route is.
        let parsed = match kind {
            1 => 4 + ROUTE.len(),
            7 => 5,
            _ => payload.len(),
        };
        for length in 0..parsed {
            let cut = Bytes::copy_from_slice(&payload[..length]);
            let read = Record::decode(kind, &cut);
            assert!(read.is_err(), "kind {kind}, {length} bytes");
        }
    }
}

#[test]
fn a_kind_of_a_later_version_is_refused_by_name() {
    let error = Record::decode(200, &Bytes::new()).unwrap_err();
    assert!(matches!(error, DecodeError::UnknownKind(200)));
}
