//! Notifications from an agent's hooks: once a turn, and only for new information.

use hub_protocol::{QuestionState, SessionState};
use hubd::core::command::Happened;
use hubd::core::record::Beginner;
use hubd::fold::Status;

use super::agents::{asks, failed, idle, permission, prompt, stop, stop_with, told};
use super::*;

/// `w1`, worker of `lead`, in a turn that a wake began.
fn working() -> Hub {
    let mut hub = Hub::new();
    hub.worker("w1", "lead");
    hub.hook("w1", prompt(Beginner::Wake));
    hub
}

#[test]
fn a_prompt_is_progress_that_is_recorded_only() {
    let mut hub = Hub::new();
    assert_eq!(
        told(&hub.hook("w1", prompt(Beginner::Person))),
        ["progress"]
    );
    assert_eq!(hub.last_msg(), "prompt: do it");
    assert_eq!(hub.state_of("w1"), Some(SessionState::Working));
}

#[test]
fn a_stop_completes_the_turn() {
    let mut hub = working();
    let records = hub.hook("w1", stop("All done."));
    assert_eq!(told(&records), ["complete lead! primary!"]);
    assert_eq!(
        hub.last_msg(),
        "Agent w1 completed (worker of lead): All done."
    );
    assert_eq!(hub.state_of("w1"), Some(SessionState::Complete));
}

#[test]
fn a_stop_with_a_question_at_its_end_is_waiting() {
    let mut hub = working();
    let records = hub.hook("w1", stop("I did it.\n\nShall I push?"));
    assert_eq!(told(&records), ["waiting lead! primary!"]);
    assert_eq!(
        hub.last_msg(),
        "Agent w1 is waiting for input: Shall I push?"
    );
}

#[test]
fn a_question_before_the_last_paragraph_does_not_count() {
    let mut hub = working();
    let records = hub.hook("w1", stop("Shall I push?\n\nI did."));
    assert_eq!(told(&records), ["complete lead! primary!"]);
}

#[test]
fn a_session_with_workers_completes_its_goal() {
    let mut hub = working();
    hub.hook("lead", prompt(Beginner::Wake));
    hub.hook("w1", stop("done"));
    hub.hook("lead", stop("done"));
    assert_eq!(hub.last_msg(), "Manager lead completed its goal: done");
}

#[test]
fn three_hundred_characters_of_the_last_message_are_passed_on() {
    let mut hub = working();
    hub.hook("w1", stop(&"é".repeat(400)));
    let text = format!("Agent w1 completed (worker of lead): {}…", "é".repeat(300));
    assert_eq!(hub.last_msg(), text);
}

#[test]
fn an_explicit_signal_of_the_turn_replaces_its_stop() {
    let mut hub = working();
    hub.say(said("w1", Kind::Testing));
    assert!(told(&hub.hook("w1", stop("done"))).is_empty());
    assert_eq!(hub.state_of("w1"), Some(SessionState::Waiting));
}

#[test]
fn a_signal_of_an_earlier_turn_does_not_replace_the_next_stop() {
    let mut hub = working();
    hub.say(said("w1", Kind::Complete));
    hub.hook("w1", prompt(Beginner::Wake));
    assert_eq!(told(&hub.hook("w1", stop("done"))).len(), 1);
}

#[test]
fn an_open_question_replaces_the_stop() {
    let mut hub = working();
    let id = hub.say(said("w1", Kind::Question));
    hub.hook("w1", prompt(Beginner::Wake));
    assert!(told(&hub.hook("w1", stop("done"))).is_empty());
    hub.run(&Command::WithdrawQuestion {
        id,
        by: name("person"),
    });
    hub.hook("w1", prompt(Beginner::Wake));
    assert_eq!(told(&hub.hook("w1", stop("done"))).len(), 1);
}

#[test]
fn a_stop_that_continues_the_turn_does_not_count() {
    let mut hub = working();
    let goes_on = Happened::Stopped {
        text: String::new(),
        tasks: Vec::new(),
        goes_on: true,
    };
    assert_eq!(hub.hook("w1", goes_on), []);
    assert_eq!(hub.state_of("w1"), Some(SessionState::Working));
}

#[test]
fn a_second_stop_of_a_turn_adds_nothing() {
    let mut hub = working();
    hub.hook("w1", stop("done"));
    assert!(told(&hub.hook("w1", stop("done again"))).is_empty());
}

#[test]
fn background_work_is_progress_and_then_waiting_when_idle() {
    let mut hub = working();
    assert_eq!(
        told(&hub.hook("w1", stop_with("wait", &["b1"]))),
        ["progress"]
    );
    assert_eq!(
        hub.last_msg(),
        "Agent w1 stopped for now: 1 tasks and 0 workers still run"
    );
    assert_eq!(told(&hub.hook("w1", idle())), ["waiting lead! primary!"]);
    assert_eq!(hub.last_msg(), "Agent w1 stopped, 1 tasks still run");
    assert!(hub.state.next_deadline() > Some(noon().plus_millis(HOUR)));
}

#[test]
fn background_work_is_waiting_after_ten_minutes() {
    let mut hub = working();
    hub.hook("w1", stop_with("wait", &["b1", "b2"]));
    assert_eq!(
        hub.state.next_deadline(),
        Some(noon().plus_millis(10 * MINUTE))
    );
    hub.restart();
    assert_eq!(told(&hub.tick()), ["waiting lead! primary!"]);
    assert_eq!(hub.last_msg(), "Agent w1 stopped, 2 tasks still run");
}

#[test]
fn background_work_that_ends_in_time_is_not_waiting() {
    let mut hub = working();
    hub.hook("w1", stop_with("wait", &["b1"]));
    hub.hook("w1", Happened::Worked);
    assert_eq!(hub.state.next_deadline(), None);
    assert_eq!(
        told(&hub.hook("w1", stop("done"))),
        ["complete lead! primary!"]
    );
}

#[test]
fn background_work_of_the_previous_stop_does_not_count() {
    let mut hub = working();
    hub.hook("w1", stop_with("wait", &["server"]));
    hub.hook("w1", prompt(Beginner::Wake));
    let records = hub.hook("w1", stop_with("done", &["server"]));
    assert_eq!(told(&records), ["complete lead! primary!"]);
    hub.hook("w1", prompt(Beginner::Wake));
    assert_eq!(
        told(&hub.hook("w1", stop_with("", &["server", "new"]))),
        ["progress"]
    );
}

#[test]
fn a_stop_while_workers_work_is_waiting_as_with_background_work() {
    let mut hub = working();
    hub.worker("lead", "boss");
    hub.hook("lead", prompt(Beginner::Wake));
    assert_eq!(told(&hub.hook("lead", stop("I wait."))), ["progress"]);
    assert_eq!(told(&hub.tick()), ["waiting boss! primary!"]);
    assert_eq!(
        hub.last_msg(),
        "Agent lead stopped, 0 tasks and 1 workers still run"
    );
}

#[test]
fn idle_after_a_stop_is_recorded_and_not_enqueued() {
    let mut hub = working();
    hub.hook("w1", stop("done"));
    assert_eq!(told(&hub.hook("w1", idle())), ["waiting"]);
    assert_eq!(hub.state_of("w1"), Some(SessionState::Complete));
}

#[test]
fn idle_without_a_stop_is_waiting() {
    let mut hub = working();
    assert_eq!(told(&hub.hook("w1", idle())), ["waiting lead! primary!"]);
    assert_eq!(hub.last_msg(), "Agent w1 is waiting for input: it waits");
}

#[test]
fn a_stop_wakes_the_session_that_began_the_turn() {
    for by in [Beginner::Person, Beginner::Wake, Beginner::Agent] {
        for (said, kind) in [("done", "complete"), ("done?", "waiting")] {
            let mut hub = Hub::new();
            hub.hook("solo", prompt(by));
            let records = hub.hook("solo", stop(said));
            assert_eq!(told(&records), [format!("{kind} primary!")], "{by:?}");
        }
    }
}

#[test]
fn the_stop_of_a_persons_turn_in_view_wakes_nobody() {
    let mut hub = Hub::new();
    hub.hook("solo", prompt(Beginner::Person));
    assert_eq!(
        told(&hub.watched_hook("solo", stop("done"))),
        ["complete primary"]
    );
    assert_eq!(hub.last_msg(), "Agent solo completed: done");
    let why = r#""rides_along":"the person has this session in view""#;
    assert!(hub.json(hub.state.head() - 1).contains(why));
    hub.hook("solo", prompt(Beginner::Wake));
    let woken = hub.watched_hook("solo", stop("done"));
    assert_eq!(told(&woken), ["complete primary!"], "nobody typed it");
}

#[test]
fn a_workers_stop_wakes_its_parent_also_in_view() {
    let mut hub = working();
    hub.hook("w1", prompt(Beginner::Person));
    assert_eq!(
        told(&hub.watched_hook("w1", stop("done"))),
        ["complete lead! primary!"]
    );
}

#[test]
fn the_question_at_the_end_of_a_headless_session_outlives_it() {
    let mut hub = Hub::new();
    let info = hub_protocol::SessionInfo {
        headless: Some(true),
        ..Default::default()
    };
    hub.hook_of("shot", info, prompt(Beginner::Agent));
    let records = hub.hook("shot", stop("Shall I push?"));
    assert_eq!(told(&records), ["waiting primary!"]);
    let waiting = hub.pending("primary");
    hub.hook("shot", Happened::Ended);
    assert_eq!(hub.pending("primary")[..1], waiting);
}

#[test]
fn a_turn_of_the_waiters_own_timeout_is_not_reported() {
    let mut hub = working();
    hub.hook("w1", stop("done"));
    assert!(told(&hub.hook("w1", prompt(Beginner::Timeout))).is_empty());
    assert!(told(&hub.hook("w1", stop("nothing new"))).is_empty());
    assert_eq!(hub.state_of("w1"), Some(SessionState::Complete));
    assert_eq!(told(&hub.hook("w1", idle())), ["waiting"], "recorded");
}

#[test]
fn a_temporary_model_failure_is_an_error_after_ten_minutes_without_an_event() {
    let mut hub = working();
    assert_eq!(
        told(&hub.hook("w1", failed("rate_limit", false))),
        ["progress"]
    );
    hub.restart();
    assert_eq!(
        hub.state.next_deadline(),
        Some(noon().plus_millis(10 * MINUTE))
    );
    assert_eq!(told(&hub.hook("w1", idle())), ["waiting"]);
    assert_eq!(told(&hub.tick()), ["error lead! primary!"]);
    assert_eq!(hub.last_msg(), "Agent w1 failed: rate_limit");
}

#[test]
fn a_model_that_recovers_is_no_error() {
    let events = [
        Happened::Worked,
        prompt(Beginner::Person),
        prompt(Beginner::Timeout),
    ];
    for event in events {
        let mut hub = working();
        hub.hook("w1", failed("overloaded", false));
        hub.hook("w1", event);
        assert_eq!(hub.state.next_deadline(), None);
    }
}

#[test]
fn a_permanent_model_failure_is_an_error_at_once() {
    let mut hub = working();
    let records = hub.hook("w1", failed("billing_error", true));
    assert_eq!(told(&records), ["error lead! primary!"]);
    assert_eq!(hub.last_msg(), "Agent w1 failed: billing_error");
}

#[test]
fn a_dialog_is_a_question_with_its_place() {
    let mut hub = working();
    let records = hub.hook("w1", asks("Which one?"));
    assert_eq!(told(&records), ["question lead! primary!"]);
    let id = hub.state.questions(false)[0].0;
    let text = "Agent w1 asks: Which one? (answer it in its own terminal)";
    assert_eq!(hub.msg(id), text);
    assert!(hub.json(id).contains(r#""options":["yes","no"]"#));
    assert_eq!(hub.state_of("w1"), Some(SessionState::Blocked));
}

#[test]
fn a_permission_is_for_the_person_and_its_dialog_adds_nothing() {
    let mut hub = working();
    assert_eq!(
        told(&hub.hook("w1", permission())),
        ["approval person! lead primary"]
    );
    assert_eq!(hub.last_msg(), "Agent w1 needs a permission: Bash: rm x");
    let notice = Happened::Permission {
        text: "w1 needs your permission".into(),
        data: None,
    };
    assert_eq!(hub.hook("w1", notice.clone()), []);
    hub.hook("w1", Happened::Worked);
    assert_eq!(told(&hub.hook("w1", notice)).len(), 1);
}

#[test]
fn the_next_step_withdraws_the_sessions_own_questions() {
    for next in [Happened::Worked, prompt(Beginner::Person), Happened::Ended] {
        for waits in [asks("?"), permission(), idle(), stop("ok?")] {
            let mut hub = working();
            hub.hook("w1", waits);
            let id = hub.state.questions(true).first().map(|(id, _)| *id);
            let id = id.unwrap_or_else(|| hub.pending("primary")[0]);
            hub.hook("w1", next.clone());
            if next != Happened::Ended || hub.state.question(id).is_some() {
                assert_eq!(hub.state.status(id, true), Status::Withdrawn, "{next:?}");
            }
            let state = hub.state.question(id).map(|it| it.state);
            assert!(state.is_none_or(|it| it == QuestionState::Withdrawn));
        }
    }
}

#[test]
fn the_next_step_keeps_explicit_notifications() {
    let mut hub = working();
    let id = hub.say(said("w1", Kind::Question));
    hub.hook("w1", Happened::Worked);
    assert_eq!(hub.state.questions(false)[0].0, id);
    assert!(hub.pending("primary").contains(&id));
}

#[test]
fn work_in_a_working_turn_changes_nothing() {
    let mut hub = working();
    assert_eq!(hub.hook("w1", Happened::Worked), []);
    assert_eq!(hub.hook("w1", Happened::Seen), []);
}

#[test]
fn late_events_of_an_ended_session_start_nothing() {
    let mut hub = working();
    assert_eq!(
        told(&hub.hook("w1", Happened::Ended)),
        ["ended lead primary"]
    );
    assert_eq!(hub.hook("w1", Happened::Ended), []);
    assert_eq!(hub.state_of("w1"), Some(SessionState::Ended));
}

#[test]
fn a_session_named_unknown_reaches_a_stable_state() {
    let mut hub = Hub::new();
    hub.hook("unknown", prompt(Beginner::Wake));
    hub.hook("unknown", stop_with("wait", &["b1"]));
    assert_eq!(told(&hub.tick()), ["waiting primary!"]);
}

#[test]
fn a_session_first_seen_at_its_end_is_over() {
    let mut hub = Hub::new();
    hub.hook("w1", Happened::Ended);
    let session = hub.state.session(&project(), &name("w1")).unwrap();
    assert!(!session.is_alive());
}
