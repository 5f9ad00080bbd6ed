//! The person's marks of read notifications.

use super::*;

fn mark(ids: &[Seq], up_to: Option<Seq>, seen: bool) -> Command {
    Command::Seen {
        ids: ids.to_vec(),
        up_to,
        seen,
    }
}

fn hub_with_three() -> Hub {
    let mut hub = Hub::new();
    hub.run(&notify(vec![said("w1", Kind::Complete); 3]));
    hub
}

fn seen(hub: &Hub) -> Vec<Seq> {
    (1..=3).filter(|&id| hub.state.is_seen(id)).collect()
}

#[test]
fn a_mark_is_undone() {
    let mut hub = hub_with_three();
    hub.run(&mark(&[1, 3], None, true));
    assert_eq!(seen(&hub), [1, 3]);
    hub.run(&mark(&[3], None, false));
    assert_eq!(seen(&hub), [1]);
}

#[test]
fn everything_up_to_an_id_is_marked_at_once() {
    let mut hub = hub_with_three();
    hub.run(&mark(&[], Some(2), true));
    assert_eq!(seen(&hub), [1, 2]);
    hub.run(&mark(&[], Some(1), false));
    assert_eq!(seen(&hub), [2]);
}

#[test]
fn a_mark_has_no_effect_on_inboxes() {
    let mut hub = hub_with_three();
    hub.run(&mark(&[], Some(3), true));
    assert_eq!(hub.pending("primary"), [1, 2, 3]);
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
    assert_eq!(hub.ask(&mark(&[4], None, true)), Err(Refusal::UnknownId(4)));
    assert_eq!(
        hub.ask(&mark(&[], Some(4), true)),
        Err(Refusal::UnknownId(4))
    );
}
