//! Receipts: the session's next hook event proves what its reader has shown; without it, the item is offered again.

use super::*;

impl Hub {
    /// The session's reader shows these items of its inbox.
    pub(super) fn show(
        &mut self,
        session: &str,
        inbox: &str,
        ids: &[Seq],
        way: Way,
    ) -> Vec<Record> {
        self.run(&Command::Ack {
            project: project(),
            items: vec![(name(inbox), ids.to_vec())],
            by: Some("reader".into()),
            shown: Some((name(session), way)),
        })
    }

    fn offered(&self, inbox: &str) -> Vec<Seq> {
        let items = self.inbox(inbox).into_iter().flat_map(Inbox::offerable);
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
        let settles = |it: &Record| matches!(it, Record::Settled(it) if it.ids == [id]);
        assert!(records.iter().any(settles), "{event:?}");
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
fn without_proof_an_item_is_offered_again_in_another_way() {
    let (mut hub, id) = shown();
    let due = noon().plus_millis(MINUTE);
    assert_eq!(hub.due(), Some(due));
    hub.restart();
    let records = hub.tick();
    assert!(matches!(&records[..], [Record::Returned(it)] if it.ids == [id]));
    assert_eq!(hub.offered("w1"), [id]);
    assert_eq!(hub.items("w1")[0].delivery().tried, [Way::Rewake]);
}

#[test]
fn an_item_that_the_agent_refused_is_offered_at_once_in_another_way() {
    let (mut hub, id) = shown_by(Way::Socket);
    let refused = |way| Command::Undelivered {
        project: project(),
        items: vec![(name("w1"), vec![id])],
        way,
        why: "held".into(),
    };
    assert_eq!(
        hub.run(&refused(Way::Rewake)),
        [],
        "it was shown in another way"
    );
    let records = hub.run(&refused(Way::Socket));
    assert!(matches!(&records[..], [Record::Returned(it)] if it.why.as_deref() == Some("held")));
    assert_eq!(hub.offered("w1"), [id]);
    assert_eq!(hub.items("w1")[0].delivery().tried, [Way::Socket]);
    assert_eq!(hub.run(&refused(Way::Socket)), []);
}

#[test]
fn an_item_that_is_pushed_to_an_ended_session_stays_pending() {
    for way in [
        Way::Module,
        Way::FileChanged,
        Way::Socket,
        Way::AppServer,
        Way::Pane,
    ] {
        let mut hub = Hub::new();
        hub.hook("w1", AgentEvent::Started);
        let id = hub.say(sent("ci", "w1"));
        hub.hook("w1", AgentEvent::Ended);
        assert_eq!(hub.show("w1", "w1", &[id], way), [], "{way:?}");
        assert_eq!(hub.offered("w1"), [id], "{way:?}");
    }
}

#[test]
fn the_hook_of_the_announcing_prompt_delivers_an_announced_item() {
    for way in [Way::Module, Way::FileChanged, Way::Socket, Way::Pane] {
        let (mut hub, id) = shown_by(way);
        hub.hook("w1", prompt(Wake));
        assert_eq!(
            hub.status(id),
            Status::Pending,
            "{way:?}: an announcement is no proof"
        );
        hub.show("w1", "w1", &[id], Way::Hook);
        hub.hook("w1", AgentEvent::Worked);
        assert_eq!(hub.status(id), Status::Acked, "{way:?}");
    }
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
fn a_report_after_the_stop_gives_no_more_time_for_a_proof() {
    let mut hub = Hub::new();
    hub.hook("w1", prompt(Person));
    hub.hook("w1", stop("done"));
    hub.say(said("w1", Kind::Progress));
    let id = hub.say(sent("ci", "w1"));
    hub.show("w1", "w1", &[id], Way::Rewake);
    assert_eq!(hub.due(), Some(noon().plus_millis(MINUTE)));
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
    assert_eq!(
        hub.items("w1")[0].delivery().tried,
        [Way::Rewake, Way::Wait]
    );
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
    let places = [
        ("w1", "w2"),
        ("w1", "primary"),
        ("plain", "plain"),
        ("x", "x"),
    ];
    for (session, inbox) in places {
        let id = hub.say(sent("ci", inbox));
        hub.show(session, inbox, &[id], Way::Wait);
        assert_eq!(hub.status(id), Status::Acked, "{session} {inbox}");
    }
}

#[test]
fn a_shown_item_that_is_acked_or_withdrawn_or_reset_needs_no_proof() {
    let ends: [fn(&mut Hub, Seq) -> Vec<Record>; 3] = [
        |hub, id| hub.ack("w1", &[id]),
        Hub::withdraw,
        |hub, _| hub.run(&reset(false)),
    ];
    for end in ends {
        let (mut hub, id) = shown();
        end(&mut hub, id);
        assert!(hub.pending("w1").is_empty());
        assert_eq!(hub.due(), None);
    }
}

#[test]
fn an_event_from_outside_the_sessions_hooks_proves_nothing() {
    let (mut hub, id) = shown_by(Way::Wait);
    hub.hook("w1", AgentEvent::Interrupted);
    assert_eq!(hub.status(id), Status::Pending);
    // After a held permission is answered, the hub itself records that the session works.
    hub.held_hook("w1", AgentEvent::Worked);
    assert_eq!(hub.status(id), Status::Pending);
    // A file is no proof either.
    let seq = hub.session("w1").seq;
    hub.derived("w1", seq, AgentEvent::Worked);
    assert_eq!(hub.status(id), Status::Pending);
    hub.hook("w1", AgentEvent::Worked);
    assert_eq!(hub.status(id), Status::Acked);
}
