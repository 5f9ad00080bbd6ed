//! Inboxes are created by the first notification, and removed when they are closed.

use super::*;

#[test]
fn the_nearest_to_a_mistyped_name_may_be_a_sessions() {
    let mut hub = Hub::new();
    hub.start("0b1c-7d", named("builder"));
    let nearest = |hub: &Hub| hub.state.nearest_inbox(&project(), &name("bilder"));
    assert_eq!(nearest(&hub), Some(name("builder")));
    hub.hook("0b1c-7d", AgentEvent::Ended);
    assert_eq!(nearest(&hub), None, "nobody is called so any more");
}

#[test]
fn the_oldest_item_is_known_at_any_priority() {
    let mut hub = Hub::new();
    hub.say(sent("w1", "w2"));
    hub.say(sent("w1", "w2").priority(Priority::Urgent));
    let inbox = hub.inbox("w2").unwrap();
    assert_eq!(inbox.oldest().map(|item| item.seq), Some(1));
    assert_eq!(inbox.len(), 2);
}

#[test]
fn closing_an_unknown_inbox_is_refused_with_the_nearest_name() {
    let mut hub = Hub::new();
    hub.say(sent("w1", "reviewer"));
    let (project, inbox, nearest) = (project(), name("reviewr"), Some(name("reviewer")));
    let refusal = Refusal::UnknownInbox {
        project,
        inbox,
        nearest,
        elsewhere: None,
    };
    assert_eq!(hub.close("reviewr"), Err(refusal));
}
