//! Records for tests, also those of other crates.

use hub_protocol::{Kind, Priority, ProjectName, Seq, Timestamp};

use crate::record::{Record, Route, Seen};

/// Returns the route of a notification that goes to no inbox and expires after a hundred days.
pub fn route(from: &str, kind: Kind, ts: Timestamp) -> Route {
    Route {
        project: ProjectName::default(),
        from: from.parse().unwrap(),
        kind,
        priority: Priority::Normal,
        ts,
        expires_at: ts.plus_millis(100 * 24 * 60 * 60 * 1000),
        targets: Vec::new(),
        key: None,
        session: None,
        hops: 0,
    }
}

/// Returns a record that marks a notification as read, or undoes the mark.
pub fn seen(id: Seq, seen: bool, at: Timestamp) -> Record {
    Record::Seen(Seen {
        ids: vec![id],
        up_to: None,
        ranges: Vec::new(),
        seen,
        at,
    })
}
