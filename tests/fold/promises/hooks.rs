//! Notifications from an agent's hooks: once a turn, and only for new information.

use hub_core::record::Turn;
use hub_protocol::QuestionState;

use super::*;

#[test]
fn a_prompt_is_progress_that_is_recorded_only() {
    let mut hub = Hub::new();
    hub.tells("w1", prompt(Person), "progress");
    hub.last_is("prompt: do it");
    assert_eq!(hub.state_of("w1"), Some(SessionState::Working));
}

#[test]
fn an_event_of_a_working_session_is_reported_with_its_text_and_state() {
    use SessionState::{Complete, Error, Waiting};
    let everyone = |kind: &str| format!("{kind} lead! primary!");
    for (event, told, text, state) in [
        (
            stop("All done."),
            everyone("complete"),
            "Agent w1 completed (worker of lead): All done.",
            Complete,
        ),
        (
            stop("I did it.\n\nShall I push?"),
            everyone("waiting"),
            "Agent w1 is waiting for input: Shall I push?",
            Waiting,
        ),
        // A question before the last paragraph does not count.
        (
            stop("Shall I push?\n\nI did."),
            everyone("complete"),
            "Agent w1 completed (worker of lead): Shall I push? I did.",
            Complete,
        ),
        (
            idle(),
            everyone("waiting"),
            "Agent w1 is waiting for input: it waits",
            Waiting,
        ),
        (
            failed("billing_error", true),
            everyone("error"),
            "Agent w1 failed: billing_error",
            Error,
        ),
    ] {
        let mut hub = working();
        hub.tells("w1", event, &told);
        hub.last_is(text);
        assert_eq!(hub.state_of("w1"), Some(state), "{text}");
    }
}

#[test]
fn a_session_with_workers_completes_its_goal() {
    let mut hub = working();
    hub.hook("lead", prompt(Wake));
    hub.hook("w1", stop("done"));
    hub.hook("lead", stop("done"));
    hub.last_is("Manager lead completed its goal: done");
}

#[test]
fn three_hundred_characters_of_the_last_message_are_passed_on() {
    let mut hub = working();
    hub.hook("w1", stop(&"é".repeat(400)));
    let kept = "é".repeat(300);
    hub.last_is(&format!("Agent w1 completed (worker of lead): {kept}…"));
}

#[test]
fn an_explicit_signal_of_the_turn_replaces_its_stop() {
    let mut hub = working();
    hub.say(said("w1", Kind::Testing));
    hub.tells("w1", stop("done"), "");
    assert_eq!(hub.state_of("w1"), Some(SessionState::Waiting));
}

#[test]
fn the_words_of_a_turn_are_kept_whole_in_one_place() {
    let words = format!("{}end", "word ".repeat(1000));
    let mut hub = working();
    hub.hook("w1", prompt_of(&words));
    assert_eq!(hub.last_words(), words);
    hub.hook("w1", stop(&words));
    assert_eq!(hub.last_words(), words);
    assert_eq!(words_of_last_stop(&hub), None);
    hub.hook("w1", prompt_of("go on"));
    hub.say(said("w1", Kind::Complete));
    hub.hook("w1", stop(&words));
    assert_eq!(words_of_last_stop(&hub), Some(words));
}

/// The last message that is in the record of the last stop.
fn words_of_last_stop(hub: &Hub) -> Option<String> {
    let words = hub.log.iter().filter_map(|record| match record {
        Record::TurnNoted(it) => match &it.turn {
            Turn::Stopped { said, .. } => Some(said.clone()),
            _ => None,
        },
        _ => None,
    });
    words.last().flatten()
}

#[test]
fn a_signal_of_an_earlier_turn_does_not_replace_the_next_stop() {
    let mut hub = working();
    hub.say(said("w1", Kind::Complete));
    hub.hook("w1", prompt(Wake));
    assert_eq!(hub.told("w1", stop("done")).len(), 1);
}

#[test]
fn a_stop_that_continues_the_turn_does_not_count() {
    let mut hub = working();
    let continues = AgentEvent::Stopped {
        text: String::new(),
        tasks: Vec::new(),
        continues: true,
    };
    assert_eq!(hub.hook("w1", continues), []);
    assert_eq!(hub.state_of("w1"), Some(SessionState::Working));
}

#[test]
fn background_work_is_progress_and_then_waiting_when_idle() {
    let mut hub = working();
    hub.tells("w1", stop_with("wait", &["b1"]), "progress");
    hub.last_is("Agent w1 stopped for now: 1 task still runs");
    hub.tells("w1", idle(), "waiting lead! primary!");
    hub.last_is("Agent w1 stopped, 1 task still runs");
    assert!(hub.due() > after(HOUR));
}

#[test]
fn background_work_is_waiting_after_ten_minutes() {
    let mut hub = working();
    hub.hook("w1", stop_with("wait", &["b1", "b2"]));
    assert_eq!(hub.due(), after(10 * MINUTE));
    hub.restart();
    tells(&hub.tick(), "waiting lead! primary!");
    hub.last_is("Agent w1 stopped, 2 tasks still run");
}

#[test]
fn background_work_that_ends_in_time_is_not_waiting() {
    let mut hub = working();
    hub.hook("w1", stop_with("wait", &["b1"]));
    hub.hook("w1", AgentEvent::Worked);
    assert_eq!(hub.due(), None);
    hub.tells("w1", stop("done"), "complete lead! primary!");
}

#[test]
fn background_work_of_the_previous_stop_does_not_count() {
    let mut hub = working();
    hub.hook("w1", stop_with("wait", &["server"]));
    hub.hook("w1", prompt(Wake));
    let done = stop_with("done", &["server"]);
    hub.tells("w1", done, "complete lead! primary!");
    hub.hook("w1", prompt(Wake));
    hub.tells("w1", stop_with("", &["server", "new"]), "progress");
}

#[test]
fn a_stop_while_workers_work_is_waiting_as_with_background_work() {
    let mut hub = working();
    hub.worker("lead", "boss");
    hub.hook("lead", prompt(Wake));
    hub.tells("lead", stop("I wait."), "progress");
    tells(&hub.tick(), "waiting boss! primary!");
    hub.last_is("Agent lead stopped, 1 worker still runs");
}

#[test]
fn a_session_that_waited_for_workers_waits_for_the_person_soon_after_the_last_of_them_rests() {
    let mut hub = working();
    hub.worker("w2", "lead");
    hub.hook("w2", prompt(Wake));
    hub.worker("lead", "boss");
    hub.hook("lead", prompt(Wake));
    let said = hub.state.head() + 1;
    hub.hook("lead", stop("I wait."));
    hub.hook("w1", AgentEvent::Exited);
    assert_eq!(hub.due(), after(10 * MINUTE), "one still works");
    hub.pass(MINUTE);
    hub.hook("w2", AgentEvent::Ended);
    assert_eq!(hub.due(), after(MINUTE + 10_000));
    hub.restart();
    tells(&hub.tick(), "waiting boss! primary!");
    hub.last_is("Agent lead stopped");
    let lead = hub.state.sessions.get(&project(), &name("lead"));
    assert_eq!(lead.and_then(|it| it.spoke), Some(said), "its words stay");
    // The stop of a worker has woken it.
    hub.hook("w3", prompt(Wake));
    hub.worker("w3", "lead");
    hub.hook("lead", prompt(Wake));
    hub.hook("lead", stop("I wait."));
    hub.hook("w3", stop("done"));
    hub.hook("lead", prompt(Wake));
    assert_ne!(hub.due(), after(MINUTE + 10_000));
    assert_eq!(hub.state_of("lead"), Some(SessionState::Working));
}

#[test]
fn after_a_stop_neither_another_nor_idle_adds_anything() {
    let mut hub = working();
    hub.hook("w1", stop("done"));
    hub.tells("w1", stop("done again"), "");
    hub.tells("w1", idle(), "");
    assert_eq!(hub.state_of("w1"), Some(SessionState::Complete));
}

#[test]
fn the_prompt_of_a_headless_session_is_what_it_does() {
    let mut hub = Hub::new();
    let headless = info(|it| it.headless = Some(true));
    hub.hook_of("shot", headless, prompt(Agent));
    hub.last_is("prompt: do it");
    hub.hook("shot", prompt(Wake));
    hub.last_is("woken");
}

#[test]
fn the_end_of_a_session_that_has_completed_is_in_no_inbox() {
    let mut hub = working();
    hub.tells("w1", stop("Done."), "complete lead! primary!");
    hub.tells("w1", AgentEvent::Ended, "ended");
    assert_eq!(hub.state_of("w1"), Some(SessionState::Ended));
    let mut hub = working();
    hub.tells("w1", stop("Shall I?"), "waiting lead! primary!");
    hub.tells("w1", AgentEvent::Ended, "ended lead primary");
}

#[test]
fn an_end_that_cuts_a_turn_off_is_told_as_a_death() {
    let dies = |hub: &mut Hub, said: &str| {
        let records = hub.hook("w1", AgentEvent::Exited);
        tells(&records, "error lead! primary!");
        let told = |it: &Record| match it {
            Record::Notified(it) => String::from_utf8_lossy(&it.json).contains(said),
            _ => false,
        };
        assert!(records.iter().any(told), "{said}");
        let session = hub.state.sessions.get(&project(), &name("w1"));
        let session = session.expect("it is known");
        assert!(!session.is_alive());
        assert_eq!(session.state, Some(SessionState::Error));
        assert_eq!(hub.hook("w1", AgentEvent::Exited), []);
    };
    let unfinished = "Agent w1 died unfinished: it ended in the middle of its turn";
    dies(&mut working(), unfinished);
    let mut hub = working();
    hub.hook("w1", permission());
    dies(&mut hub, unfinished);
    assert_eq!(hub.state.questions.open().count(), 0);
    let mut hub = working();
    hub.hook("w1", failed("rate_limit", false));
    dies(&mut hub, "Agent w1 failed: rate_limit");
    let mut hub = working();
    hub.hook("w1", stop("done"));
    hub.tells("w1", AgentEvent::Exited, "ended");
    let mut hub = working();
    hub.tells("w1", AgentEvent::Ended, "ended lead primary");
}

#[test]
fn a_stop_wakes_the_session_that_began_the_turn() {
    for by in [Person, Wake, Agent] {
        for (said, kind) in [("done", "complete"), ("done?", "waiting")] {
            let mut hub = Hub::new();
            hub.hook("solo", prompt(by));
            hub.tells("solo", stop(said), &format!("{kind} primary!"));
        }
    }
}

#[test]
fn the_stop_of_a_persons_turn_in_view_wakes_nobody() {
    let mut hub = Hub::new();
    hub.hook("solo", prompt(Person));
    tells(&hub.watched_hook("solo", stop("done")), "complete primary");
    hub.last_is("Agent solo completed: done");
    let why = r#""rides_along":"the person has this session in view""#;
    assert!(hub.json(hub.state.head() - 1).contains(why));
    hub.hook("solo", prompt(Wake));
    tells(&hub.watched_hook("solo", stop("done")), "complete primary!");
}

#[test]
fn a_prompt_that_another_session_had_sent_is_not_the_persons_at_the_end_of_its_turn() {
    let mut hub = Hub::new();
    hub.hook("solo", prompt(Person));
    let peers = |it: &mut hub_core::command::Hook| (it.watched, it.by_peer) = (true, true);
    tells(
        &hub.changed_hook("solo", stop("done"), peers),
        "complete primary!",
    );
}

#[test]
fn a_workers_stop_wakes_its_parent_also_in_view() {
    let mut hub = working();
    hub.hook("w1", prompt(Person));
    let stop = hub.watched_hook("w1", stop("done"));
    tells(&stop, "complete lead! primary!");
}

#[test]
fn the_question_at_the_end_of_a_headless_session_outlives_it() {
    let mut hub = Hub::new();
    let headless = info(|it| it.headless = Some(true));
    hub.hook_of("shot", headless, prompt(Agent));
    hub.tells("shot", stop("Shall I push?"), "waiting primary!");
    let waiting = hub.pending("primary");
    hub.hook("shot", AgentEvent::Ended);
    assert_eq!(hub.pending("primary")[..1], waiting);
}

#[test]
fn a_turn_of_the_waiters_own_timeout_is_not_reported() {
    let mut hub = working();
    hub.hook("w1", stop("done"));
    hub.tells("w1", prompt(Timeout), "");
    hub.tells("w1", stop("nothing new"), "");
    assert_eq!(hub.state_of("w1"), Some(SessionState::Complete));
    hub.tells("w1", idle(), "");
}

#[test]
fn a_timeout_of_the_waiter_within_a_turn_leaves_its_stop_to_be_told() {
    for before in [None, Some(failed("rate_limit", false))] {
        let mut hub = working();
        before.map(|it| hub.hook("w1", it));
        hub.tells("w1", prompt(Timeout), "");
        hub.tells("w1", stop("done"), "complete lead! primary!");
    }
}

#[test]
fn a_timeout_of_the_waiter_does_not_hide_a_stop_that_was_put_off() {
    let mut hub = working();
    hub.tells("w1", stop_with("I wait.", &["server"]), "progress");
    let due = after(10 * MINUTE);
    for event in [prompt(Timeout), stop_with("I wait.", &["server"])] {
        hub.tells("w1", event, "");
        assert_eq!(hub.due(), due);
        assert_eq!(hub.state_of("w1"), Some(SessionState::Working));
    }
    tells(&hub.tick(), "waiting lead! primary!");
}

#[test]
fn a_note_of_a_session_to_itself_does_not_report_its_stop() {
    let mut hub = working();
    hub.posts(said("w1", Kind::Complete).to("w1"), "complete w1");
    hub.tells("w1", stop("done"), "complete lead! primary!");
}

#[test]
fn a_temporary_model_failure_is_an_error_after_ten_minutes_without_an_event() {
    let mut hub = working();
    hub.tells("w1", failed("rate_limit", false), "progress");
    hub.restart();
    assert_eq!(hub.due(), after(10 * MINUTE));
    hub.tells("w1", idle(), "");
    tells(&hub.tick(), "error lead! primary!");
    hub.last_is("Agent w1 failed: rate_limit");
}

#[test]
fn the_error_of_a_headless_session_is_its_last_word() {
    let mut hub = Hub::new();
    let headless = info(|it| it.headless = Some(true));
    hub.hook_of("shot", headless, prompt(Agent));
    hub.tells("shot", failed("server_error", true), "error primary!");
    hub.tells("shot", AgentEvent::Exited, "");
    assert!(!hub.session("shot").is_alive());
    assert_eq!(hub.state_of("shot"), Some(SessionState::Error));
}

#[test]
fn a_model_that_recovers_is_no_error() {
    let events = [AgentEvent::Worked, prompt(Person), prompt(Timeout)];
    for event in events {
        let mut hub = working();
        hub.hook("w1", failed("overloaded", false));
        hub.hook("w1", event);
        assert_eq!(hub.due(), None);
    }
}

#[test]
fn a_dialog_is_a_question_with_its_place() {
    let mut hub = working();
    hub.tells("w1", asks("Which one?"), "question person! lead primary");
    let id = hub.open_question(0);
    let text = "Agent w1 asks: Which one? (answer it in its own terminal)";
    assert_eq!(hub.msg(id), text);
    assert!(hub.json(id).contains(r#""options":["yes","no"]"#));
    assert_eq!(hub.state_of("w1"), Some(SessionState::Blocked));
}

#[test]
fn a_permission_is_for_the_person_and_its_dialog_adds_nothing() {
    let mut hub = working();
    hub.tells("w1", permission(), "approval person! lead primary");
    hub.last_is("Agent w1 needs a permission: Bash: rm x");
    assert_eq!(hub.hook("w1", notice()), []);
    hub.hook("w1", AgentEvent::Worked);
    assert_eq!(hub.told("w1", notice()).len(), 1);
}

#[test]
fn the_next_step_withdraws_the_sessions_own_questions() {
    for next in [AgentEvent::Worked, prompt(Person), AgentEvent::Ended] {
        for waits in [asks("?"), permission(), idle(), stop("ok?")] {
            let mut hub = working();
            hub.hook("w1", waits);
            let id = hub.state.questions.all().next().map(|(id, _)| id);
            let id = id.unwrap_or_else(|| hub.pending("primary")[0]);
            hub.hook("w1", next.clone());
            if next != AgentEvent::Ended || hub.state.questions.get(id).is_some() {
                assert_eq!(hub.status(id), Status::Withdrawn, "{next:?}");
            }
            let state = hub.state.questions.get(id).map(|it| it.state);
            assert!(state.is_none_or(|it| it == QuestionState::Withdrawn));
        }
    }
}

#[test]
fn the_next_step_keeps_explicit_notifications() {
    let mut hub = working();
    let id = hub.say(said("w1", Kind::Question));
    hub.hook("w1", AgentEvent::Worked);
    assert_eq!(hub.open_question(0), id);
    assert!(hub.pending("primary").contains(&id));
}

#[test]
fn work_in_a_working_turn_changes_nothing() {
    let mut hub = working();
    assert_eq!(hub.hook("w1", AgentEvent::Worked), []);
    assert_eq!(hub.hook("w1", AgentEvent::Seen), []);
}

#[test]
fn late_events_of_an_ended_session_start_nothing() {
    let mut hub = working();
    hub.tells("w1", AgentEvent::Ended, "ended lead primary");
    assert_eq!(hub.hook("w1", AgentEvent::Ended), []);
    assert_eq!(hub.state_of("w1"), Some(SessionState::Ended));
}

#[test]
fn a_session_named_unknown_reaches_a_stable_state() {
    let mut hub = Hub::new();
    hub.hook("unknown", prompt(Wake));
    hub.hook("unknown", stop_with("wait", &["b1"]));
    tells(&hub.tick(), "waiting primary!");
}

#[test]
fn a_stop_is_told_after_a_dialog_that_nobody_could_answer() {
    for dialog in [permission(), asks("?")] {
        let mut hub = working();
        hub.hook("w1", dialog);
        hub.tells("w1", stop("denied"), "complete lead! primary!");
        assert!(hub.state.questions.open().next().is_none());
    }
}

#[test]
fn an_open_question_replaces_the_stop_of_its_own_turn_only() {
    let mut hub = working();
    hub.say(said("w1", Kind::Question));
    hub.tells("w1", stop("asked"), "");
    hub.hook("w1", prompt(Wake));
    hub.tells("w1", stop("other work"), "complete lead! primary!");
    assert_eq!(hub.state.questions.open().count(), 1);
}

#[test]
fn a_stop_is_told_after_an_interruption_that_was_only_derived() {
    let mut hub = working();
    let seq = hub.session("w1").seq;
    hub.derived("w1", seq, AgentEvent::Interrupted);
    hub.tells("w1", stop("done"), "complete lead! primary!");
}

#[test]
fn the_end_of_an_unknown_session_changes_nothing() {
    let mut hub = Hub::new();
    for end in [AgentEvent::Ended, AgentEvent::Left, AgentEvent::Cleared] {
        assert_eq!(hub.hook("w1", end), []);
    }
}

#[test]
fn an_interrupted_turn_waits_at_once_and_wakes_nobody() {
    let mut hub = working();
    hub.tells("w1", AgentEvent::Interrupted, "waiting lead primary");
    hub.last_is("Agent w1 was interrupted");
    assert_eq!(hub.state_of("w1"), Some(SessionState::Waiting));
    assert_eq!(hub.hook("w1", AgentEvent::Interrupted), []);
    hub.tells("w1", idle(), "");
    hub.hook("w1", prompt(Person));
    assert_eq!(hub.told("w1", stop("done")).len(), 1);
}

#[test]
fn leaving_a_dialog_closes_its_question() {
    for waits in [asks("?"), permission()] {
        let mut hub = working();
        hub.hook("w1", waits);
        let id = hub.open_question(0);
        hub.hook("w1", AgentEvent::Interrupted);
        assert_eq!(hub.status(id), Status::Withdrawn);
        assert_eq!(hub.state_of("w1"), Some(SessionState::Waiting));
    }
}

#[test]
fn an_event_derived_from_an_older_state_changes_nothing() {
    let mut hub = working();
    let seq = |hub: &Hub| hub.session("w1").seq;
    let before = seq(&hub);
    hub.hook("w1", asks("?"));
    assert_eq!(hub.derived("w1", before, AgentEvent::Interrupted), []);
    assert_eq!(hub.derived("w1", before, AgentEvent::Worked), []);
    let now = seq(&hub);
    assert_ne!(hub.derived("w1", now, AgentEvent::Interrupted), []);
    assert_eq!(hub.state_of("w1"), Some(SessionState::Waiting));
    let now = seq(&hub);
    hub.end("w1", true);
    assert_eq!(hub.derived("w1", now, permission()), [], "it has ended");
    assert_eq!(hub.derived("unknown", 0, permission()), []);
    let unknown = name("unknown");
    assert!(hub.state.sessions.get(&project(), &unknown).is_none());
}

#[test]
fn an_interrupt_after_a_stop_changes_nothing() {
    let failed = failed("overloaded", false);
    for over in [stop("done"), stop_with("wait", &["b1"]), failed] {
        let mut hub = working();
        hub.hook("w1", over);
        assert_eq!(hub.hook("w1", AgentEvent::Interrupted), []);
    }
}

#[test]
fn the_hooks_of_an_agent_with_a_client_of_its_protocol_report_nothing_until_its_end() {
    let mut hub = Hub::new();
    let of_client = |happened| {
        let hook = hub_core::command::Hook {
            acp: true,
            ..crate::hook(&name("w1"), happened)
        };
        Command::Hook(hook.into())
    };
    hub.run(&of_client(AgentEvent::Started));
    assert_eq!(hub.hook("w1", prompt(Person)), []);
    hub.run(&of_client(prompt(Person)));
    assert_eq!(hub.hook("w1", stop("Done.")), []);
    hub.run(&of_client(AgentEvent::Ended));
    assert_ne!(hub.hook("w1", AgentEvent::Resumed), []);
    assert_ne!(hub.hook("w1", prompt(Person)), []);
}
