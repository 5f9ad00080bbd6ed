//! The person's marks of read notifications.

use super::*;

pub(super) fn mark(ids: &[Seq], up_to: Option<Seq>, seen: bool) -> Command {
    let ids = ids.to_vec();
    Command::Seen { ids, up_to, seen }
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
