//! Retention trims the log's prefix, and loses no pending notification.

use bytes::Bytes;
use hubd::core::record::{Rewritten, SettleReason, Trimmed};

use super::*;

pub(super) fn trim(below: Seq, carried: &[Seq]) -> Command {
    let json = |id| Bytes::from(format!("{{\"id\":{id}}}"));
    Command::Trim {
        below,
        rewritten: carried.iter().map(|&id| (id, json(id))).collect(),
    }
}

#[test]
fn a_pending_item_is_carried_to_the_head() {
    let mut hub = Hub::new();
    let id = hub.say(said("w1", Kind::Complete));
    let acked = hub.say(said("w1", Kind::Complete));
    hub.ack("primary", &[acked]);
    assert_eq!(hub.state.needed_below(3), [(id, id)]);
    let records = hub.run(&trim(3, &[id]));
    let carried = Rewritten {
        id,
        json: r#"{"id":1}"#.into(),
    };
    let trimmed = Trimmed {
        below: 3,
        at: noon(),
    };
    assert_eq!(
        records,
        [Record::Rewritten(carried), Record::Trimmed(trimmed)]
    );
    assert_eq!(hub.state.location(id), Some(4));
    assert_eq!(hub.state.needed_below(4), []);
    assert_eq!(hub.pending("primary"), [id]);
}

#[test]
fn a_carried_item_is_carried_again() {
    let mut hub = Hub::new();
    let id = hub.say(said("w1", Kind::Complete));
    hub.run(&trim(2, &[id]));
    assert_eq!(hub.state.needed_below(4), [(id, 2)]);
    hub.run(&trim(4, &[id]));
    assert_eq!(hub.state.location(id), Some(4));
}

#[test]
fn an_item_that_is_not_carried_is_evicted_with_a_record() {
    let mut hub = Hub::new();
    let id = hub.say(said("w1", Kind::Complete));
    let records = hub.run(&trim(2, &[]));
    assert!(
        matches!(&records[0], Record::Settled(it) if it.how == SettleReason::Evicted && it.ids == [id])
    );
    assert!(hub.reached().is_empty());
    assert_eq!(hub.status(id), Status::Acked, "it is not in the log");
    assert_eq!(hub.state.location(id), None);
}

#[test]
fn an_item_settled_meanwhile_is_not_carried() {
    let mut hub = Hub::new();
    let id = hub.say(said("w1", Kind::Complete));
    hub.ack("primary", &[id]);
    let records = hub.run(&trim(2, &[id]));
    assert!(matches!(&records[..], [Record::Trimmed(_)]), "{records:?}");
}

#[test]
fn trimmed_items_take_no_memory() {
    let mut hub = Hub::new();
    let seen = hub.say(said("w1", Kind::Complete));
    hub.run(&Command::Withdraw { ids: vec![seen] });
    hub.run(&Command::Seen {
        ids: vec![seen],
        up_to: None,
        seen: true,
    });
    hub.run(&trim(hub.state.head() + 1, &[]));
    let text = serde_json::to_string(&hub.state).unwrap();
    assert!(
        text.contains(r#""seen":[]"#) && text.contains(r#""withdrawn":[]"#),
        "{text}"
    );
}

#[test]
fn a_carried_item_that_was_read_takes_no_memory() {
    let mut hub = Hub::new();
    let id = hub.say(said("w1", Kind::Complete));
    hub.run(&trim(2, &[id]));
    hub.ack("primary", &[id]);
    let text = serde_json::to_string(&hub.state).unwrap();
    assert!(text.contains(r#""carried":{}"#), "{text}");
}

#[test]
fn a_carried_item_keeps_its_mark() {
    let mut hub = Hub::new();
    let id = hub.say(said("w1", Kind::Complete));
    hub.run(&Command::Seen {
        ids: vec![id],
        up_to: None,
        seen: true,
    });
    hub.run(&trim(2, &[id]));
    assert!(hub.state.is_seen(id));
}

#[test]
fn the_log_is_never_trimmed_twice_nor_beyond_its_head() {
    let mut hub = Hub::new();
    hub.say(said("w1", Kind::Progress));
    hub.run(&trim(99, &[]));
    assert_eq!(hub.state.trimmed_below(), 2);
    assert_eq!(hub.run(&trim(2, &[])), []);
}

#[test]
fn retention_by_age_pauses_for_a_day_after_a_clock_jump() {
    let mut hub = Hub::new();
    assert_eq!(hub.state.retention_paused_until(), None);
    hub.run(&Command::ClockMoved { delta_ms: HOUR });
    assert_eq!(hub.state.retention_paused_until(), after(DAY));
}
