//! A newer item supersedes a pending one with the same key.

use hubd::core::record::{SettleReason, Settled};

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
    let records = hub.run(&notify(vec![keyed("ci", "w1")]));
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
fn a_key_does_not_apply_to_other_senders_inboxes_and_projects() {
    let mut hub = Hub::new();
    hub.say(keyed("ci", "w1"));
    hub.say(keyed("cd", "w1"));
    hub.say(keyed("ci", "w2"));
    hub.say(keyed("ci", "w1").project("other"));
    hub.say(keyed("ci", "w1").key("test"));
    assert_eq!(hub.pending("w1"), [1, 2, 5]);
    assert_eq!(hub.pending("w2"), [3]);
}

#[test]
fn the_higher_priority_is_kept_and_stored() {
    let mut hub = Hub::new();
    hub.say(keyed("ci", "w1").priority(Priority::Urgent));
    let mut low = keyed("ci", "w1").priority(Priority::Low);
    low.body.data = Some(serde_json::json!({ "b": 1.50, "priority": "low" }));
    low.tail = Some(tail_of(&low.body));
    let new = hub.say(low.clone());
    let item = hub.items("w1")[0].clone();
    assert_eq!(
        (item.seq, item.priority, item.wakes),
        (new, Priority::Urgent, true)
    );
    (low.body.id, low.body.priority) = (new, Priority::Urgent);
    assert_eq!(hub.json(new), serde_json::to_string(&low.body).unwrap());
}

#[test]
fn a_leased_item_is_not_superseded() {
    let mut hub = Hub::new();
    let held = hub.say(keyed("ci", "w1"));
    hub.leased = vec![held];
    let new = hub.say(keyed("ci", "w1"));
    assert_eq!(hub.pending("w1"), [held, new]);
}

#[test]
fn an_item_whose_lease_expired_is_superseded_with_the_rest() {
    let mut hub = Hub::new();
    let held = hub.say(keyed("ci", "w1"));
    hub.leased = vec![held];
    hub.say(keyed("ci", "w1"));
    hub.leased.clear();
    let new = hub.say(keyed("ci", "w1"));
    assert_eq!(hub.pending("w1"), [new]);
}

#[test]
fn a_batch_collapses_in_itself() {
    let mut hub = Hub::new();
    hub.say(keyed("ci", "w1").priority(Priority::High));
    hub.run(&notify(vec![keyed("ci", "w1"), keyed("ci", "w1")]));
    let items: Vec<(Seq, Priority)> = hub
        .items("w1")
        .iter()
        .map(|item| (item.seq, item.priority))
        .collect();
    assert_eq!(items, [(3, Priority::High)]);
}

#[test]
fn a_key_clears_the_pending_items_with_it() {
    let mut hub = Hub::new();
    hub.say(keyed("ci", "w1"));
    hub.say(keyed("cd", "w1"));
    hub.say(sent("ci", "w1"));
    let clear = |from: Option<&str>| Command::WithdrawKey {
        project: project(),
        from: from.map(name),
        key: "build".into(),
    };
    hub.run(&clear(Some("ci")));
    assert_eq!(hub.pending("w1"), [2, 3]);
    hub.run(&clear(None));
    assert_eq!(hub.pending("w1"), [3]);
}
