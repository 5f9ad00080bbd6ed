//! Sessions: state, identity and end.

use super::*;

fn state_of(hub: &Hub, session: &str) -> Option<(SessionState, Seq)> {
    let session = hub.state.sessions.with_name(&project(), &name(session))?;
    Some((session.state?, session.seq))
}

#[test]
fn the_ten_thousand_latest_sessions_are_kept() {
    let mut hub = Hub::new();
    for n in 0..10_000 {
        hub.say(said(&format!("w{n}"), Kind::Progress));
    }
    hub.say(said("w0", Kind::Progress));
    hub.say(said("one-more", Kind::Progress));
    assert!(state_of(&hub, "w0").is_some());
    assert_eq!(state_of(&hub, "w1"), None);
    assert!(state_of(&hub, "w2").is_some());
}

#[test]
fn an_inbox_is_closed_a_day_after_the_end_of_its_session() {
    let mut hub = Hub::new();
    hub.hook("w1", AgentEvent::Started);
    hub.say(sent("ci", "w1"));
    hub.hook("w1", AgentEvent::Ended);
    hub.say(sent("ci", "w1"));
    hub.restart();
    hub.pass(DAY - 1);
    assert_eq!(hub.run(&Command::Tick), []);
    assert_eq!(hub.due(), after(DAY));
    hub.tick();
    hub.restart();
    assert_eq!(hub.inbox("w1"), None);
    hub.finds("w1", None);
}

#[test]
fn deadlines_of_a_session_follow_clock_jumps() {
    for (event, due) in [
        (AgentEvent::Ended, DAY),
        (stop_with("", &["b1"]), 10 * MINUTE),
        (failed("overloaded", false), 10 * MINUTE),
    ] {
        let mut hub = Hub::new();
        hub.worker("w1", "w1");
        hub.hook("w1", prompt(Wake));
        hub.hook("w1", event);
        hub.ack("primary", &[hub.state.head()]);
        hub.jump(HOUR);
        let at = noon().plus_millis(HOUR + due);
        assert_eq!(hub.due(), Some(at));
        hub.restart();
        assert!(!hub.tick().is_empty());
    }
}

#[test]
fn a_resumed_session_keeps_its_inbox() {
    let mut hub = Hub::new();
    hub.hook("w1", AgentEvent::Ended);
    hub.hook("w1", AgentEvent::Started);
    assert_eq!(hub.state_of("w1"), None);
    assert!(hub.session("w1").is_alive());
    hub.pass(2 * DAY);
    hub.run(&Command::Tick);
    hub.finds("w1", Some("w1"));
}

#[test]
fn a_session_that_dies_at_work_is_one_error() {
    for unfinished in [prompt(Wake), asks("?")] {
        let mut hub = Hub::new();
        hub.worker("w1", "lead");
        hub.hook("w1", unfinished);
        tells(&hub.end("w1", true), "error lead! primary!");
        hub.last_is("Agent w1 died unfinished: its process is gone");
        assert_eq!(hub.end("w1", true), []);
        let session = hub.session("w1");
        assert!(session.crashed && !session.is_alive());
        assert!(hub.state.questions.open().next().is_none());
    }
}

#[test]
fn a_session_that_dies_after_its_turn_is_ended() {
    let mut hub = Hub::new();
    hub.worker("w1", "lead");
    hub.hook("w1", prompt(Wake));
    hub.hook("w1", stop("done"));
    tells(&hub.end("w1", true), "ended");
    assert_eq!(hub.end("w1", false), []);
}

#[test]
fn a_sender_that_is_no_session_is_a_source() {
    let mut hub = Hub::new();
    hub.say(sent("ci", "w1"));
    hub.say(said("w1", Kind::Progress));
    let sources = hub.state.sources(None);
    assert_eq!(sources.len(), 1);
    assert_eq!((sources[0].name.as_str(), sources[0].last), ("ci", 1));
}

#[test]
fn a_report_without_a_type_finishes_its_sender_unless_hooks_report_its_turns() {
    let mut hub = Hub::new();
    let finished = |hub: &Hub, who: &str| hub.state.finished(&project(), &name(who));
    hub.say(said("job", Kind::Complete).implicit());
    hub.restart();
    assert_eq!(finished(&hub, "job"), Some(1));
    hub.say(said("job", Kind::Progress));
    assert_eq!(finished(&hub, "job"), None, "it works again");
    hub.say(said("job", Kind::Complete).implicit());
    assert_eq!(finished(&hub, "job"), Some(3));
    hub.hook("w1", prompt(Wake));
    hub.say(said("w1", Kind::Complete).implicit());
    assert_eq!(finished(&hub, "w1"), None, "its turn goes on");
    hub.say(said("w1", Kind::Error));
    assert_eq!(finished(&hub, "w1"), Some(hub.state.head()));
}

#[test]
fn a_reset_removes_sessions_roles_names_and_sources() {
    let mut hub = Hub::new();
    hub.start("s1", named("fix"));
    hub.take_primary("s1");
    hub.hook("s1", prompt(Wake));
    hub.hook("s1", stop_with("", &["b1"]));
    hub.say(sent("ci", "s1"));
    hub.run(&reset(false));
    hub.restart();
    assert_eq!(hub.primary(), None);
    hub.finds("fix", None);
    assert!(hub.state.sources(None).is_empty());
    assert_eq!(hub.due(), None);
}
