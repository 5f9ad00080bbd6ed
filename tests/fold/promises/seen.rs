//! The person's marks of read notifications.

use super::*;

pub(super) fn mark(ids: &[Seq], up_to: Option<Seq>, seen: bool) -> Command {
    let ids = ids.to_vec();
    let ranges = up_to.map(|up_to| (1, up_to)).into_iter().collect();
    Command::Seen { ids, ranges, seen }
}

fn hub_with_three() -> Hub {
    let mut hub = Hub::new();
    hub.run(&notify(vec![said("w1", Kind::Complete); 3]));
    hub
}

#[test]
fn a_mark_that_changes_nothing_is_not_recorded() {
    let mut hub = hub_with_three();
    hub.run(&mark(&[2], Some(3), true));
    assert_eq!(hub.run(&mark(&[2], Some(3), true)), []);
    assert_eq!(hub.run(&mark(&[], Some(0), false)), []);
}

#[test]
fn an_unknown_id_cannot_be_marked() {
    let mut hub = hub_with_three();
    for unknown in [mark(&[4], None, true), mark(&[], Some(4), true)] {
        assert_eq!(hub.ask(&unknown), Err(Refusal::UnknownId(4)));
    }
}

#[test]
fn a_mark_records_exactly_what_it_changes() {
    let mut hub = hub_with_three();
    hub.run(&mark(&[2], None, true));
    let changed = |records: &[Record]| match records {
        [seen @ Record::Seen(_)] => [1, 2, 3].map(|id| seen.concerns(id)),
        other => panic!("{other:?}"),
    };
    let records = hub.run(&mark(&[], Some(3), true));
    assert_eq!(changed(&records), [true, false, true]);
    let records = hub.run(&mark(&[1, 3], None, false));
    assert_eq!(changed(&records), [true, false, true]);
    assert_eq!(
        [1, 2, 3].map(|id| hub.state.seen.contains(id)),
        [false, true, false]
    );
}

#[test]
fn a_notification_from_the_person_is_marked_as_read() {
    let mut hub = Hub::new();
    hub.run(&notify(vec![
        said("person", Kind::Message),
        said("w1", Kind::Message),
    ]));
    assert_eq!([1, 2].map(|id| hub.state.seen.contains(id)), [true, false]);
}
