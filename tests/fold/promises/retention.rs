//! Retention trims the log's prefix, and loses no pending notification.

use bytes::Bytes;
use hub_core::fold::Loss;
use hub_core::record::{Rewritten, SettleReason, Settled, Trimmed};

use super::seen::mark;
use super::*;

pub(super) fn trim(below: Seq, carried: &[Seq]) -> Command {
    let json = |id| Bytes::from(format!("{{\"id\":{id}}}"));
    Command::Trim {
        below,
        rewritten: carried.iter().map(|&id| (id, json(id))).collect(),
        by_age: false,
    }
}

#[test]
fn a_pending_item_is_carried_to_the_head() {
    let (mut hub, id) = Hub::with(Kind::Complete);
    let acked = hub.say(said("w1", Kind::Complete));
    hub.ack("primary", &[acked]);
    assert_eq!(hub.state.needed_below(3), [(id, id)]);
    let records = hub.run(&trim(3, &[id]));
    let (json, at) = (r#"{"id":1}"#.into(), noon());
    let carried = Rewritten { id, json };
    let trimmed = Trimmed { below: 3, at };
    let expected = [Record::Rewritten(carried), Record::Trimmed(trimmed)];
    assert_eq!(records, expected);
    assert_eq!(hub.state.location(id), Some(4));
    assert_eq!(hub.state.needed_below(4), []);
    assert_eq!(hub.pending("primary"), [id]);
}

#[test]
fn an_item_that_is_not_carried_is_evicted_with_a_record() {
    let (mut hub, id) = Hub::with(Kind::Complete);
    let records = hub.run(&trim(2, &[]));
    let evicted = |it: &Settled| it.how == SettleReason::Evicted && it.ids == [id];
    assert!(matches!(&records[0], Record::Settled(it) if evicted(it)));
    assert!(hub.reached().is_empty());
    assert_eq!(hub.status(id), Status::Acked, "it is not in the log");
    assert_eq!(hub.state.location(id), None);
}

#[test]
fn an_item_settled_meanwhile_is_not_carried() {
    let (mut hub, id) = Hub::with(Kind::Complete);
    hub.ack("primary", &[id]);
    let records = hub.run(&trim(2, &[id]));
    assert!(matches!(&records[..], [Record::Trimmed(_)]), "{records:?}");
}

#[test]
fn a_trim_by_age_that_was_planned_before_a_jump_drops_nothing() {
    let (mut hub, _) = Hub::with(Kind::Complete);
    hub.jump(400 * DAY);
    let planned = |by_age| Command::Trim {
        below: 2,
        rewritten: Vec::new(),
        by_age,
    };
    assert_eq!(hub.run(&planned(true)), []);
    assert!(!hub.run(&planned(false)).is_empty());
}

#[test]
fn trimmed_items_take_no_memory() {
    let (mut hub, seen) = Hub::with(Kind::Complete);
    hub.withdraw(seen);
    hub.run(&mark(&[seen], None, true));
    hub.run(&trim(hub.state.head() + 1, &[]));
    let text = serde_json::to_string(&hub.state).unwrap();
    let empty = text.contains(r#""seen":[]"#) && text.contains(r#""withdrawn":[]"#);
    assert!(empty, "{text}");
}

#[test]
fn a_carried_item_keeps_its_mark_and_takes_no_memory_once_it_was_read() {
    let (mut hub, id) = Hub::with(Kind::Complete);
    hub.run(&mark(&[id], None, true));
    hub.run(&trim(2, &[id]));
    assert!(hub.state.seen.contains(id));
    hub.ack("primary", &[id]);
    let text = serde_json::to_string(&hub.state).unwrap();
    assert!(text.contains(r#""carried":{}"#), "{text}");
}

#[test]
fn the_log_is_never_trimmed_twice_nor_beyond_its_head() {
    let mut hub = Hub::new();
    hub.say(said("w1", Kind::Progress));
    hub.run(&trim(99, &[]));
    assert_eq!(hub.state.retention.below(), 2);
    assert_eq!(hub.run(&trim(2, &[])), []);
}

#[test]
fn what_was_evicted_unread_is_told_until_the_person_has_settled_the_question() {
    let (mut hub, first) = Hub::with(Kind::Complete);
    let second = hub.say(said("w1", Kind::Complete));
    let read = hub.say(said("w1", Kind::Complete));
    hub.ack("primary", &[read]);
    hub.run(&trim(second, &[]));
    let lost = |hub: &Hub| {
        hub.state
            .losses
            .unread()
            .map(|it| (it.count, it.from, it.to))
    };
    assert_eq!(lost(&hub), Some((1, first, first)));
    hub.run(&trim(read + 1, &[]));
    assert_eq!(lost(&hub), Some((2, first, second)));
    assert_eq!(hub.state.losses.untold(), hub.state.losses.unread());
    let question = |hub: &mut Hub| hub.say(said("hub", Kind::Question).to("person").key(Loss::KEY));
    hub.say(said("w1", Kind::Question).to("person").key(Loss::KEY));
    assert!(hub.state.losses.untold().is_some(), "an agent said that");
    let replaced = question(&mut hub);
    assert_eq!(
        (lost(&hub), hub.state.losses.untold()),
        (Some((2, first, second)), None)
    );
    let asked = question(&mut hub);
    assert_eq!(
        lost(&hub),
        Some((2, first, second)),
        "{replaced} was superseded"
    );
    hub.restart();
    let third = hub.say(said("w1", Kind::Complete));
    hub.run(&trim(third + 1, &[asked]));
    assert_eq!(hub.state.losses.untold().map(|it| it.count), Some(3));
    hub.run(&Command::WithdrawQuestion {
        id: asked,
        by: name("person"),
    });
    assert_eq!(
        lost(&hub).map(|(count, ..)| count),
        Some(1),
        "two were told"
    );
}

#[test]
fn unreadable_records_are_told_once_and_an_agent_cannot_claim_that_they_are() {
    let mut hub = Hub::new();
    let key = Loss::key_of(&[(5, 9), (20, 20)]);
    hub.say(said("w1", Kind::Question).to("person").key(&key));
    assert_eq!(hub.state.losses.untold_part((1, 30)), [(1, 30)]);
    assert!(!hub.state.questions.has_unreadable());
    let asked = hub.say(said("hub", Kind::Question).to("person").key(&key));
    assert!(hub.state.questions.has_unreadable());
    hub.restart();
    assert_eq!(
        hub.state.losses.untold_part((1, 30)),
        [(1, 4), (10, 19), (21, 30)]
    );
    hub.run(&Command::WithdrawQuestion {
        id: asked,
        by: name("person"),
    });
    assert!(!hub.state.questions.has_unreadable());
    assert_eq!(hub.state.losses.untold_part((5, 9)), []);
}
