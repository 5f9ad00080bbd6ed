//! Acknowledgements end a delivery in one inbox.

use hubd::core::record::{SettleReason, Settled};

use super::*;

#[test]
fn an_inbox_offers_the_most_important_first_then_the_oldest() {
    let mut hub = Hub::new();
    for priority in [
        Priority::Low,
        Priority::Normal,
        Priority::Urgent,
        Priority::High,
        Priority::Normal,
    ] {
        hub.say(said("w1", Kind::Message).priority(priority));
    }
    assert_eq!(hub.pending("primary"), [3, 4, 2, 5, 1]);
}

#[test]
fn an_acked_item_is_not_offered_again() {
    let mut hub = Hub::new();
    let (first, second) = (
        hub.say(said("w1", Kind::Error)),
        hub.say(said("w1", Kind::Error)),
    );
    hub.ack("primary", &[first]);
    assert_eq!(hub.pending("primary"), [second]);
    assert_eq!(hub.status(first), Status::Acked);
}

#[test]
fn an_ack_records_the_reader_the_ids_and_the_inbox() {
    let mut hub = Hub::new();
    let id = hub.say(said("w1", Kind::Error));
    let records = hub.run(&Command::Ack {
        shown: None,
        project: project(),
        items: vec![(name("primary"), vec![id, id])],
        by: Some("reader".into()),
    });
    let settled = Settled {
        ids: vec![id],
        inbox: Some((project(), name("primary"))),
        how: SettleReason::Acked,
        by: Some("reader".into()),
        at: noon(),
    };
    assert_eq!(records, [Record::Settled(settled)]);
}

#[test]
fn a_second_ack_changes_nothing() {
    let mut hub = Hub::new();
    let id = hub.say(said("w1", Kind::Error));
    hub.ack("primary", &[id]);
    assert_eq!(hub.ack("primary", &[id]), []);
}

#[test]
fn an_ack_in_one_inbox_leaves_the_others() {
    let mut hub = Hub::new();
    let id = hub.say(said("w1", Kind::Approval));
    hub.ack("person", &[id]);
    assert_eq!(hub.reached(), ["primary"]);
    assert_eq!(hub.status(id), Status::Pending);
}

#[test]
fn an_ack_of_an_unknown_id_is_refused() {
    let mut hub = Hub::new();
    let id = hub.say(said("w1", Kind::Error));
    let command = Command::Ack {
        shown: None,
        project: project(),
        items: vec![(name("primary"), vec![id, id + 1])],
        by: None,
    };
    assert_eq!(hub.ask(&command), Err(Refusal::UnknownId(id + 1)));
    assert_eq!(hub.pending("primary"), [id]);
}

#[test]
fn an_ack_in_a_closed_inbox_changes_nothing() {
    let mut hub = Hub::new();
    let id = hub.say(sent("w1", "w2"));
    assert_eq!(hub.ack("w3", &[id]), []);
    assert_eq!(hub.pending("w2"), [id]);
}

#[test]
fn a_withdrawn_item_is_offered_nowhere() {
    let mut hub = Hub::new();
    let id = hub.say(said("w1", Kind::Approval));
    hub.run(&Command::Withdraw { ids: vec![id] });
    assert!(hub.reached().is_empty());
    assert_eq!(hub.status(id), Status::Withdrawn);
}

#[test]
fn a_long_ack_is_cut_into_records_of_a_block() {
    let mut hub = Hub::new();
    hub.run(&notify(vec![said("w1", Kind::Error); 1000]));
    let ids: Vec<Seq> = (1..=1000).collect();
    let records = hub.ack("primary", &ids);
    assert!(records.iter().all(|record| record.encode().1.len() < 4096));
    assert!(hub.reached().is_empty());
}
