//! Inboxes are created by the first notification, and removed when they are closed.

use super::*;

#[test]
fn naming_a_new_inbox_creates_it_and_returns_the_nearest_name() {
    let mut hub = Hub::new();
    hub.say(sent("w1", "reviewer"));
    hub.say(sent("w1", "reveiwer"));
    let nearest = hub.state.nearest_inbox(&project(), &name("reveiwer"));
    assert_eq!(nearest, Some(name("reviewer")));
    assert!(hub.state.inbox(&project(), &name("reveiwer")).is_some());
}

#[test]
fn the_nearest_to_a_mistyped_name_may_be_a_sessions() {
    let mut hub = Hub::new();
    hub.hook_of("0b1c-7d", named("builder"), AgentEvent::Started);
    let nearest = |hub: &Hub| hub.state.nearest_inbox(&project(), &name("bilder"));
    assert_eq!(nearest(&hub), Some(name("builder")));
    hub.hook("0b1c-7d", AgentEvent::Ended);
    assert_eq!(nearest(&hub), None, "nobody is called so any more");
}

#[test]
fn an_inbox_stays_when_it_is_empty() {
    let mut hub = Hub::new();
    let id = hub.say(sent("w1", "w2"));
    hub.ack("w2", &[id]);
    let inbox = hub.state.inbox(&project(), &name("w2")).unwrap();
    assert!(inbox.is_empty() && inbox.oldest().is_none());
}

#[test]
fn the_oldest_item_is_known_at_any_priority() {
    let mut hub = Hub::new();
    hub.say(sent("w1", "w2"));
    hub.say(sent("w1", "w2").priority(Priority::Urgent));
    let inbox = hub.state.inbox(&project(), &name("w2")).unwrap();
    assert_eq!(inbox.oldest().map(|item| item.seq), Some(1));
    assert_eq!(inbox.len(), 2);
}

#[test]
fn closing_an_inbox_drops_its_pending_items_only() {
    let mut hub = Hub::new();
    let both = hub.say(said("w1", Kind::Approval));
    let one = hub.say(sent("w1", "person"));
    hub.run(&Command::CloseInbox {
        project: project(),
        inbox: name("person"),
    });
    assert_eq!(hub.state.inbox(&project(), &name("person")), None);
    assert_eq!(hub.reached(), ["primary"]);
    assert_eq!(hub.status(both), Status::Pending);
    assert_eq!(hub.status(one), Status::Dropped);
}

#[test]
fn closing_an_unknown_inbox_is_refused_with_the_nearest_name() {
    let mut hub = Hub::new();
    hub.say(sent("w1", "reviewer"));
    let refusal = hub.ask(&Command::CloseInbox {
        project: project(),
        inbox: name("reviewr"),
    });
    assert_eq!(
        refusal,
        Err(Refusal::UnknownInbox {
            project: project(),
            inbox: name("reviewr"),
            nearest: Some(name("reviewer")),
        })
    );
}

#[test]
fn a_reset_empties_one_project() {
    let mut hub = Hub::new();
    let other: ProjectName = "other".parse().unwrap();
    let here = hub.say(said("w1", Kind::Complete));
    let there = hub.say(said("w1", Kind::Complete).with(|it| it.project = other.clone()));
    hub.run(&reset(false));
    assert_eq!(hub.status(here), Status::Dropped);
    assert_eq!(hub.status(there), Status::Pending);
    assert_eq!(hub.state.inboxes(None).count(), 1);
    assert_eq!(hub.state.session_state(&project(), &name("w1")), None);
    assert!(hub.state.session_state(&other, &name("w1")).is_some());
}

#[test]
fn a_reset_with_history_hides_past_notifications_until_retention_drops_it() {
    let mut hub = Hub::new();
    hub.say(said("w1", Kind::Complete));
    hub.run(&reset(false));
    assert_eq!(hub.state.hidden().count(), 0);
    hub.run(&reset(true));
    let at = hub.state.head();
    hub.say(said("w1", Kind::Complete));
    hub.restart();
    let hidden: Vec<_> = hub.state.hidden().collect();
    assert_eq!(hidden, [(&project(), at)]);
    for (below, hidden) in [(at - 1, 1), (at, 0)] {
        let carried = Vec::new();
        hub.run(&Command::Trim {
            below,
            rewritten: carried,
        });
        assert_eq!(hub.state.hidden().count(), hidden);
    }
}
