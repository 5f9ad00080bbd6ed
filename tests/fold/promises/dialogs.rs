//! Dialogs that an agent shows at once: one that has an id closes by its own end.

use hub_protocol::QuestionState::{self, Open, Withdrawn};

use super::*;

impl Hub {
    /// Lets `w1` show two dialogs with these ids; returns their questions.
    fn shows(&mut self, dialogs: [&str; 2]) -> [Seq; 2] {
        for dialog in dialogs {
            self.named_hook(dialog, permission());
        }
        [self.open_question(0), self.open_question(1)]
    }

    fn states(&self, ids: [Seq; 2]) -> [QuestionState; 2] {
        ids.map(|id| self.asked(id).0)
    }
}

#[test]
fn dialogs_with_ids_wait_side_by_side_and_each_closes_by_its_own_end() {
    let mut hub = working();
    let both = hub.shows(["1", "2"]);
    hub.restart();
    hub.named_hook("2", AgentEvent::Worked);
    assert_eq!(hub.states(both), [Open, Withdrawn]);
    assert_eq!(hub.state_of("w1"), Some(SessionState::Blocked));
    hub.named_hook("1", AgentEvent::Worked);
    assert_eq!(hub.states(both), [Withdrawn, Withdrawn]);
    assert_eq!(hub.state_of("w1"), Some(SessionState::Working));
}

#[test]
fn the_end_of_another_call_closes_only_a_dialog_without_an_id() {
    let mut hub = working();
    let both = hub.shows(["1", "2"]);
    hub.named_hook("another", AgentEvent::Worked);
    assert_eq!(hub.states(both), [Open, Open]);
    assert_eq!(hub.state_of("w1"), Some(SessionState::Blocked));
    let mut hub = working();
    hub.hook("w1", permission());
    let id = hub.open_question(0);
    hub.named_hook("another", AgentEvent::Worked);
    assert_eq!(hub.asked(id).0, Withdrawn);
    assert_eq!(hub.state_of("w1"), Some(SessionState::Working));
}

#[test]
fn an_event_that_names_no_dialog_closes_all_of_them() {
    for end in [
        AgentEvent::Worked,
        AgentEvent::Interrupted,
        AgentEvent::Ended,
        prompt(Person),
        stop("done"),
    ] {
        let mut hub = working();
        hub.shows(["1", "2"]);
        hub.hook("w1", end);
        assert_eq!(hub.state.questions.open().count(), 0);
    }
}

#[test]
fn a_dialog_with_an_id_closes_by_its_end_although_its_session_reported_work_meanwhile() {
    let mut hub = working();
    let both = hub.shows(["1", "2"]);
    hub.say(said("w1", Kind::Progress));
    for (dialog, states) in [("1", [Withdrawn, Open]), ("2", [Withdrawn, Withdrawn])] {
        hub.named_hook(dialog, AgentEvent::Worked);
        assert_eq!(hub.states(both), states);
    }
}

#[test]
fn two_dialogs_of_a_subagent_close_by_their_own_ends_too() {
    let mut hub = working();
    let inside = |hub: &mut Hub, dialog: Option<&str>, event: AgentEvent| {
        hub.changed_hook("w1", event, |it| {
            (it.subagent, it.dialog) = (Some("a".into()), dialog.map(str::to_owned));
        });
    };
    inside(&mut hub, Some("1"), permission());
    inside(&mut hub, Some("2"), permission());
    let both = [hub.open_question(0), hub.open_question(1)];
    hub.named_hook("1", AgentEvent::Worked);
    assert_eq!(hub.states(both), [Open, Open], "the session itself went on");
    inside(&mut hub, Some("1"), AgentEvent::Worked);
    assert_eq!(hub.states(both), [Withdrawn, Open]);
    inside(&mut hub, None, AgentEvent::Worked);
    assert_eq!(hub.states(both), [Withdrawn, Withdrawn]);
}

#[test]
fn the_key_of_a_dialog_without_an_id_is_that_of_earlier_logs() {
    for (dialog, subagent, key) in [
        (None, None, "hook:permission_dialog"),
        (None, Some("a"), "hook:permission_dialog@a"),
        (Some("1"), None, "hook:permission_dialog#1"),
        (Some("1"), Some("a"), "hook:permission_dialog#1@a"),
    ] {
        let ids = |it: &mut hub_core::command::Hook| {
            (it.dialog, it.subagent) = (dialog.map(str::to_owned), subagent.map(str::to_owned));
        };
        let mut hub = working();
        hub.changed_hook("w1", permission(), ids);
        let id = hub.open_question(0);
        let question = hub.state.questions.get(id).expect("a question");
        assert_eq!(question.key.as_deref(), Some(key));
        hub.changed_hook("w1", AgentEvent::Worked, ids);
        assert_eq!(hub.asked(id).0, Withdrawn, "{key}");
    }
}

#[test]
fn a_dialog_of_an_earlier_log_closes_by_an_event_that_names_one() {
    for (key, subagent) in [("hook:permission", None), ("hook:dialog@a", Some("a"))] {
        let mut hub = working();
        let id = hub.say(said("w1", Kind::Approval).key(key));
        hub.changed_hook("w1", AgentEvent::Worked, |it| {
            (it.dialog, it.subagent) = (Some("1".into()), subagent.map(str::to_owned));
        });
        assert_eq!(hub.asked(id).0, Withdrawn, "{key}");
    }
}
