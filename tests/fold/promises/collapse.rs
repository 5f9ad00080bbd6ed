//! A newer item supersedes a pending one with the same key.

use hub_core::record::{SettleReason, Settled};

use super::*;

fn keyed(from: &str, to: &str) -> Draft {
    sent(from, to).key("build")
}

#[test]
fn a_newer_item_supersedes_the_pending_one() {
    let mut hub = Hub::new();
    let (old, new) = (hub.say(keyed("ci", "w1")), hub.say(keyed("ci", "w1")));
    assert_eq!(hub.pending("w1"), [new]);
    assert_eq!(hub.status(old), Status::Superseded);
}

#[test]
fn the_record_names_the_superseding_item() {
    let mut hub = Hub::new();
    hub.say(keyed("ci", "w1"));
    let records = hub.post(keyed("ci", "w1"));
    let settled = Settled {
        ids: vec![1],
        inbox: Some((project(), name("w1"))),
        how: SettleReason::Superseded,
        by: Some("2".into()),
        at: noon(),
    };
    assert_eq!(records[1], Record::Settled(settled));
}

#[test]
fn the_higher_priority_is_kept_and_stored() {
    let mut hub = Hub::new();
    hub.say(keyed("ci", "w1").priority(Priority::Urgent));
    let mut low = keyed("ci", "w1").priority(Priority::Low);
    low.body.data = Some(serde_json::json!({ "b": 1.50, "priority": "low" }));
    low.tail = Some(tail_of(&low.body));
    let new = hub.say(low.clone());
    let item = hub.items("w1")[0];
    let kept = (item.seq, item.priority, item.wakes);
    assert_eq!(kept, (new, Priority::Urgent, true));
    (low.body.id, low.body.priority) = (new, Priority::Urgent);
    assert_eq!(hub.json(new), serde_json::to_string(&low.body).unwrap());
}
