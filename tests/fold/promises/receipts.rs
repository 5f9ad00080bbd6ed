//! Receipts: the session's next hook event proves what its reader has shown; without it, the item is offered again.

use hubd::core::record::SettleReason;

use super::*;

impl Hub {
    /// The session's reader shows these items of its inbox.
    fn show(&mut self, session: &str, inbox: &str, ids: &[Seq], way: Way) -> Vec<Record> {
        self.run(&Command::Ack {
            project: project(),
            items: vec![(name(inbox), ids.to_vec())],
            by: Some("reader".into()),
            shown: Some((name(session), way)),
        })
    }

    fn offered(&self, inbox: &str) -> Vec<Seq> {
        let inbox = self.state.inbox(&project(), &name(inbox));
        let items = inbox.into_iter().flat_map(Inbox::offerable);
        items.map(|item| item.seq).collect()
    }
}

/// Returns a hub in which `w1` is idle and its waiter has shown a notification of `ci`, and that notification's id.
fn shown() -> (Hub, Seq) {
    shown_by(Way::Rewake)
}

/// Like [`shown`], shown in this way.
fn shown_by(way: Way) -> (Hub, Seq) {
    let mut hub = Hub::new();
    hub.hook("w1", AgentEvent::Started);
    let id = hub.say(sent("ci", "w1"));
    let records = hub.show("w1", "w1", &[id], way);
    assert!(matches!(&records[..], [Record::Emitted(it)] if it.ids == [id]));
    (hub, id)
}

#[test]
fn a_shown_item_is_neither_offered_nor_acked() {
    let (mut hub, id) = shown();
    assert!(hub.offered("w1").is_empty());
    assert_eq!(hub.status(id), Status::Pending);
    assert_eq!(hub.show("w1", "w1", &[id], Way::Rewake), []);
}

#[test]
fn the_next_hook_event_proves_a_shown_item() {
    for event in [
        AgentEvent::Started,
        prompt(Wake),
        AgentEvent::Worked,
        stop("done"),
        failed("overloaded", false),
        asks("?"),
        AgentEvent::Seen,
    ] {
        let (mut hub, id) = shown_by(Way::Wait);
        hub.restart();
        let records = hub.hook("w1", event.clone());
        let proof = |it: &Record| match it {
            Record::Settled(it) => it.ids == [id] && it.how == SettleReason::Acked,
            _ => false,
        };
        assert!(records.iter().any(proof), "{event:?}");
        assert_eq!(hub.status(id), Status::Acked);
    }
}

#[test]
fn a_rewake_is_proved_only_by_its_own_prompt() {
    let (mut hub, id) = shown();
    for event in [AgentEvent::Worked, stop("done"), prompt(Person)] {
        hub.hook("w1", event.clone());
        assert_eq!(hub.status(id), Status::Pending, "{event:?}");
    }
    hub.hook("w1", prompt(Wake));
    assert_eq!(hub.status(id), Status::Acked);
}

#[test]
fn idle_permission_and_end_events_prove_nothing() {
    for event in [idle(), permission(), AgentEvent::Ended] {
        let (mut hub, id) = shown();
        hub.hook("w1", event.clone());
        assert_eq!(hub.status(id), Status::Pending, "{event:?}");
    }
}

#[test]
fn an_event_of_another_session_proves_nothing() {
    let (mut hub, id) = shown();
    hub.hook("w2", AgentEvent::Worked);
    assert_eq!(hub.status(id), Status::Pending);
}

#[test]
fn without_proof_an_item_is_offered_again_in_another_way() {
    let (mut hub, id) = shown();
    let due = noon().plus_millis(MINUTE);
    assert_eq!(hub.due(), Some(due));
    hub.restart();
    let records = hub.tick();
    assert!(matches!(&records[..], [Record::Returned(it)] if it.ids == [id]));
    assert_eq!(hub.offered("w1"), [id]);
    assert_eq!(hub.items("w1")[0].tried, [Way::Rewake]);
}

#[test]
fn a_working_session_has_more_time_for_its_proof() {
    let (mut hub, id) = shown();
    hub.say(said("w1", Kind::Progress));
    assert!(hub.due() > after(HOUR));
    hub.pass(HOUR);
    assert_eq!(hub.run(&Command::Tick), []);
    hub.say(said("w1", Kind::Complete));
    assert!(matches!(&hub.tick()[..], [Record::Returned(_)]));
    assert_eq!(hub.offered("w1"), [id]);
}

#[test]
fn after_another_minute_the_person_is_notified_once() {
    let (mut hub, id) = shown();
    hub.tick();
    assert_eq!(hub.due(), after(2 * MINUTE));
    hub.restart();
    let records = hub.tick();
    tells(&records, "message person!");
    assert!(matches!(&records[1], Record::Escalated(it) if it.ids == [id]));
    assert!(hub.last_msg().contains("1 notifications in inbox 'w1'"));
    assert_eq!(hub.offered("w1"), [id]);
    assert!(hub.due() > after(HOUR));
    hub.show("w1", "w1", &[id], Way::Wait);
    assert!(matches!(&hub.tick()[..], [Record::Returned(_)]));
    hub.restart();
    assert!(hub.due() > after(HOUR));
    assert_eq!(hub.items("w1")[0].tried, [Way::Rewake, Way::Wait]);
}

#[test]
fn an_item_proved_in_another_way_does_not_notify_the_person() {
    let (mut hub, id) = shown();
    hub.tick();
    hub.show("w1", "w1", &[id], Way::Hook);
    hub.hook("w1", AgentEvent::Worked);
    assert_eq!(hub.status(id), Status::Acked);
    assert_eq!(hub.due(), None);
}

#[test]
fn the_primary_proves_items_of_both_its_inboxes() {
    let mut hub = Hub::new();
    hub.chosen("boss");
    let id = hub.say(said("w1", Kind::Complete));
    hub.show("boss", "primary", &[id], Way::Wait);
    assert!(hub.offered("primary").is_empty());
    assert_eq!(hub.status(id), Status::Pending);
    hub.hook("boss", AgentEvent::Seen);
    assert_eq!(hub.status(id), Status::Acked);
}

#[test]
fn an_item_for_a_reader_without_hooks_is_acked_at_once() {
    let mut hub = Hub::new();
    hub.hook("w1", AgentEvent::Started);
    hub.run(&register("plain", SessionInfo::default()));
    for (session, inbox) in [
        ("w1", "w2"),
        ("w1", "primary"),
        ("plain", "plain"),
        ("x", "x"),
    ] {
        let id = hub.say(sent("ci", inbox));
        hub.show(session, inbox, &[id], Way::Wait);
        assert_eq!(hub.status(id), Status::Acked, "{session} {inbox}");
    }
}

#[test]
fn a_plain_ack_settles_a_shown_item() {
    let (mut hub, id) = shown();
    hub.ack("w1", &[id]);
    assert_eq!(hub.status(id), Status::Acked);
    assert_eq!(hub.due(), None);
}

#[test]
fn a_shown_item_is_not_superseded() {
    let mut hub = Hub::new();
    hub.hook("w1", AgentEvent::Started);
    let keyed = || sent("ci", "w1").key("build");
    let old = hub.say(keyed());
    hub.show("w1", "w1", &[old], Way::Wait);
    let new = hub.say(keyed());
    assert_eq!(hub.pending("w1"), [old, new]);
}

#[test]
fn an_expired_or_withdrawn_item_needs_no_proof() {
    let (mut hub, id) = shown();
    hub.run(&Command::Withdraw { ids: vec![id] });
    assert_eq!(hub.due(), None);
}

#[test]
fn both_minutes_follow_clock_jumps() {
    let (mut hub, _) = shown();
    for _ in 0..2 {
        let due = hub.due().unwrap();
        hub.pass(HOUR);
        hub.run(&Command::ClockMoved { delta_ms: HOUR });
        assert_eq!(hub.due(), Some(due.plus_millis(HOUR)));
        hub.restart();
        hub.tick();
    }
}

#[test]
fn a_reset_removes_receipts() {
    let (mut hub, _) = shown();
    hub.run(&reset(false));
    assert_eq!(hub.due(), None);
}

#[test]
fn an_event_from_outside_the_sessions_hooks_proves_nothing() {
    let (mut hub, id) = shown_by(Way::Wait);
    hub.hook("w1", prompt(Person));
    let id = {
        assert_eq!(hub.status(id), Status::Acked);
        let next = hub.say(sent("ci", "w1"));
        hub.show("w1", "w1", &[next], Way::Wait);
        next
    };
    hub.hook("w1", AgentEvent::Interrupted);
    assert_eq!(hub.status(id), Status::Pending);
    // After a held permission is answered, the hub itself records that the session works.
    hub.held_hook("w1", AgentEvent::Worked);
    assert_eq!(hub.status(id), Status::Pending);
    // A file is no proof either.
    let seq = hub.state.session(&project(), &name("w1")).unwrap().seq;
    hub.derived("w1", seq, AgentEvent::Worked);
    assert_eq!(hub.status(id), Status::Pending);
    hub.hook("w1", AgentEvent::Worked);
    assert_eq!(hub.status(id), Status::Acked);
}
