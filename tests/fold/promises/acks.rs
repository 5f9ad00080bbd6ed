//! Acknowledgements end a delivery in one inbox.

use hub_core::record::{SettleReason, Settled};

use super::*;

#[test]
fn an_inbox_offers_the_most_important_first_then_the_oldest() {
    use Priority::{High, Low, Normal, Urgent};
    let mut hub = Hub::new();
    for priority in [Low, Normal, Urgent, High, Normal] {
        hub.say(said("w1", Kind::Message).priority(priority));
    }
    assert_eq!(hub.pending("primary"), [3, 4, 2, 5, 1]);
}

#[test]
fn an_acked_item_is_not_offered_again_and_a_second_ack_changes_nothing() {
    let (mut hub, first) = Hub::with(Kind::Error);
    let second = hub.say(said("w1", Kind::Error));
    hub.ack("primary", &[first]);
    assert_eq!(hub.pending("primary"), [second]);
    assert_eq!(hub.status(first), Status::Acked);
    assert_eq!(hub.ack("primary", &[first]), []);
}

#[test]
fn an_ack_records_the_reader_the_ids_and_the_inbox() {
    let (mut hub, id) = Hub::with(Kind::Error);
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
fn a_long_ack_is_cut_into_records_of_a_block() {
    let mut hub = Hub::new();
    hub.run(&notify(vec![said("w1", Kind::Error); 1000]));
    let ids: Vec<Seq> = (1..=1000).collect();
    let records = hub.ack("primary", &ids);
    assert!(records.iter().all(|record| record.encode().1.len() < 4096));
    assert!(hub.reached().is_empty());
}
