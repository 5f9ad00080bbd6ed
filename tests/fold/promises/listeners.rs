//! Listeners: a session is notified of another's next stop, once.

use hub_core::record::ListenerEnd;

use super::*;

impl Hub {
    fn listen(&mut self, caller: &str, target: &str) -> Vec<Record> {
        self.ask(&listen(caller, target, None, false)).unwrap()
    }

    fn listeners(&self, target: &str) -> usize {
        self.state.listeners(&project(), &name(target)).count()
    }

    /// Returns the reasons for which listeners ended.
    fn ends(records: &[Record]) -> Vec<ListenerEnd> {
        let ends = records.iter().filter_map(|record| match record {
            Record::ListenerRemoved(it) => Some(it.why),
            _ => None,
        });
        ends.collect()
    }
}

pub(super) fn listen(caller: &str, target: &str, within_ms: Option<i64>, fresh: bool) -> Command {
    Command::Listen {
        project: project(),
        target: name(target),
        caller: name(caller),
        within_ms,
        fresh,
    }
}

/// Ends that `a` listens to `w1`.
fn unlisten() -> Command {
    Command::Unlisten {
        project: project(),
        target: name("w1"),
        caller: name("a"),
    }
}

/// Returns a hub in which `a` listens to `w1`, which works.
fn listening() -> Hub {
    let mut hub = Hub::new();
    hub.hook("a", prompt(Wake));
    hub.hook("w1", prompt(Wake));
    tells(&hub.listen("a", "w1"), "");
    hub
}

#[test]
fn a_stop_notifies_the_listener_with_its_cause_and_ends_it() {
    let mut hub = listening();
    let records = hub.hook("w1", stop("done"));
    tells(&records, "complete primary!, complete a!");
    let cause = hub.pending("primary")[0];
    assert_eq!(Hub::ends(&records), [ListenerEnd::Fired { cause }]);
    hub.last_is("Session w1 finished its turn. Look: hubctl look w1");
    assert!(hub.json(cause + 1).contains(&format!(r#""cause":{cause}"#)));
    hub.hook("w1", prompt(Wake));
    hub.tells("w1", stop("done"), "complete primary!");
}

#[test]
fn each_stop_fires_and_nothing_else_does() {
    use Kind::{Approval, Complete, Ended, Error, Question, Testing, Waiting};
    for kind in [Complete, Waiting, Testing, Question, Approval, Error, Ended] {
        let mut hub = listening();
        hub.say(said("w1", kind));
        assert_eq!(hub.listeners("w1"), 0, "{kind}");
    }
    let mut hub = listening();
    hub.say(said("w1", Kind::Progress));
    hub.say(said("w1", Kind::Message));
    hub.say(said("w1", Kind::Complete).implicit());
    assert_eq!(hub.listeners("w1"), 1);
    assert!(told(&hub.end("w1", true)).contains(&"error a!".into()));
}

#[test]
fn the_notification_of_a_question_says_how_to_answer_it() {
    let mut hub = listening();
    let id = hub.say(said("w1", Kind::Question));
    let end = format!("Answer: hubctl answer {id} \"…\"");
    assert!(hub.last_msg().starts_with("Session w1 needs input"));
    assert!(hub.last_msg().ends_with(&end), "{}", hub.last_msg());
    assert_eq!(hub.state.questions.all().count(), 1);
}

#[test]
fn the_notification_of_a_dialog_says_where_it_is_shown() {
    let mut hub = listening();
    hub.hook("w1", asks("Which?"));
    let begin = "Session w1 needs input: Agent w1 asks: Which?";
    let end = "It is answered in its own terminal.";
    assert!(hub.last_msg().starts_with(begin) && hub.last_msg().ends_with(end));
    assert_eq!(hub.state.questions.all().count(), 1);
}

#[test]
fn a_text_names_host_and_title() {
    let mut hub = listening();
    let info = info(|it| (it.host, it.title) = (Some("box".into()), Some("Fix it".into())));
    hub.run(&register("w1", info));
    hub.hook("w1", stop("done"));
    hub.last_is("Session w1 on box \"Fix it\" finished its turn. Look: hubctl look w1");
}

#[test]
fn a_listener_fires_at_once_for_a_stop_since_its_pair_fired() {
    let mut hub = listening();
    hub.hook("w1", stop("done"));
    tells(&hub.listen("a", "w1"), "");
    hub.run(&unlisten());
    hub.hook("w1", prompt(Wake));
    hub.hook("w1", stop("done"));
    tells(&hub.listen("a", "w1"), "complete a!");
    assert_eq!(hub.listeners("w1"), 0);
    tells(&hub.listen("b", "w1"), "complete b!");
}

#[test]
fn a_turn_without_a_notification_is_not_a_stop_for_listeners() {
    let mut hub = listening();
    hub.hook("w1", stop("done"));
    hub.hook("w1", prompt(Timeout));
    hub.hook("w1", stop("nothing new"));
    tells(&hub.listen("a", "w1"), "");
    assert_eq!(hub.listeners("w1"), 1);
}

#[test]
fn a_need_for_input_fires_at_once() {
    let (mut hub, id) = Hub::with(Kind::Question);
    tells(&hub.listen("a", "w1"), "message a!");
    let text = format!("Session w1 needs input. Answer: hubctl answer {id} \"…\"");
    hub.last_is(&text);
}

#[test]
fn removing_a_listener_is_never_an_error() {
    let mut hub = listening();
    let unlisten = unlisten();
    assert_eq!(Hub::ends(&hub.run(&unlisten)), [ListenerEnd::Removed]);
    assert_eq!(hub.run(&unlisten), []);
    hub.tells("w1", stop("done"), "complete primary!");
}

#[test]
fn a_missed_deadline_is_reported_once() {
    let mut hub = Hub::new();
    hub.run(&listen("a", "later", Some(10 * MINUTE), false));
    hub.restart();
    assert_eq!(hub.due(), after(10 * MINUTE));
    let records = hub.tick();
    tells(&records, "error a!");
    assert_eq!(Hub::ends(&records), [ListenerEnd::Late]);
    hub.last_is("Expected later within 10 min, nothing came. Look: hubctl look later");
    assert_eq!(hub.state_of("later"), None);
}

#[test]
fn a_stop_and_the_deadline_at_the_same_time_are_reported_once() {
    let mut hub = listening();
    hub.run(&listen("b", "w1", Some(10 * MINUTE), false));
    hub.hook("w1", failed("overloaded", false));
    let records = hub.tick();
    tells(&records, "error primary!, error a!, error b!");
    assert_eq!(Hub::ends(&records).len(), 2);
}

#[test]
fn the_deadline_notification_states_the_duration_despite_clock_jumps() {
    let mut hub = Hub::new();
    hub.run(&listen("a", "later", Some(90 * SECOND), false));
    hub.jump(DAY);
    let due = noon().plus_millis(DAY + 90 * SECOND);
    assert_eq!(hub.due(), Some(due));
    hub.tick();
    assert!(hub.last_msg().starts_with("Expected later within 90 s"));
}

#[test]
fn a_caller_that_receives_the_stop_itself_gets_no_second_text() {
    let mut hub = Hub::new();
    hub.worker("w1", "lead");
    hub.hook("lead", AgentEvent::Started);
    hub.listen("lead", "w1");
    hub.hook("w1", prompt(Wake));
    hub.tells("w1", stop("done"), "complete lead! primary!");
    assert_eq!(hub.listeners("w1"), 0);
}

#[test]
fn the_primary_gets_the_stops_of_its_second_inbox() {
    let mut hub = Hub::new();
    hub.chosen("boss");
    hub.hook("w1", prompt(Wake));
    hub.listen("boss", "w1");
    hub.tells("w1", stop("done"), "complete primary!");
    assert_eq!(hub.listeners("w1"), 0);
}

#[test]
fn a_listening_caller_is_woken_by_a_stop_that_wakes_nobody_else() {
    let quiet = |hub: &mut Hub, draft| told(&hub.post(draft));
    let low = said("w1", Kind::Complete).priority(Priority::Low);
    for (draft, expected) in [
        (low, "complete primary!"),
        (said("w1", Kind::Approval), "approval person! primary!"),
        (said("w1", Kind::Ended), "ended primary!"),
    ] {
        let mut hub = Hub::new();
        hub.chosen("boss");
        hub.run(&listen("boss", "w1", Some(MINUTE), true));
        assert_eq!(quiet(&mut hub, draft.clone()), [expected]);
        assert_ne!(quiet(&mut hub, draft), [expected], "once");
    }
    let mut hub = Hub::new();
    hub.chosen("boss");
    hub.hook("w1", prompt(Person));
    hub.listen("boss", "w1");
    hub.tells("w1", stop("done"), "complete primary!");
}

#[test]
fn a_stop_without_a_type_fires_listeners_of_sessions_without_hooks() {
    let untyped = |from: &str| said(from, Kind::Complete).implicit();
    let mut hub = Hub::new();
    hub.run(&listen("a", "backup", Some(MINUTE), true));
    hub.posts(untyped("backup"), "complete primary!, complete a!");
    assert_eq!(hub.state_of("backup"), None, "its state is not told");
    hub.hook("w1", prompt(Wake));
    hub.run(&listen("a", "w1", Some(MINUTE), true));
    hub.posts(untyped("w1"), "complete primary!");
    assert_eq!(hub.listeners("w1"), 1, "its own hook tells its stop");
}

#[test]
fn an_expected_name_may_be_assigned_later() {
    let mut hub = Hub::new();
    hub.run(&listen("a", "later", Some(10 * MINUTE), true));
    hub.hook_of("11111111-1111", named("later"), prompt(Wake));
    assert_eq!(hub.listeners("11111111-1111"), 1);
    let again = hub.run(&listen("a", "11111111-1111", None, true));
    assert_eq!(again, [], "it is the same listener");
    let told = "complete primary!, complete a!";
    hub.tells("11111111-1111", stop("done"), told);
    assert_eq!(hub.listeners("11111111-1111"), 0);
}

#[test]
fn a_listener_ends_with_its_caller_once() {
    type End = fn(&mut Hub) -> Vec<Record>;
    let ends: [End; 4] = [
        |hub| hub.hook("a", AgentEvent::Ended),
        |hub| hub.end("a", false),
        |hub| hub.end("a", true),
        |hub| {
            hub.run(&notify(vec![
                said("a", Kind::Ended),
                said("w1", Kind::Complete),
            ]))
        },
    ];
    for end in ends {
        let mut hub = listening();
        let records = end(&mut hub);
        assert_eq!(Hub::ends(&records), [ListenerEnd::CallerEnded]);
        assert_eq!(hub.listeners("w1"), 0);
        hub.say(said("w1", Kind::Complete));
        assert!(hub.pending("a").is_empty());
    }
}

#[test]
fn there_are_a_thousand_listeners_at_most() {
    let mut hub = Hub::new();
    let pair = |n: u32| {
        let (caller, target) = (format!("caller-{}", n % 40), format!("w{n}"));
        listen(&caller, &target, Some(60_000), true)
    };
    for n in 0..1000 {
        hub.run(&pair(n));
    }
    let refused = Err(Refusal::TooManyListeners { cap: 1000 });
    assert_eq!(hub.ask(&pair(1000)), refused);
    assert_eq!(hub.run(&pair(7)), [], "it is there");
    hub.hook("w7", stop("done"));
    hub.run(&pair(1000));
}

#[test]
fn a_listener_whose_target_is_gone_makes_room_and_its_caller_is_notified() {
    let mut hub = Hub::new();
    for n in 0..1000 {
        let target = format!("w{n}");
        hub.say(said(&target, Kind::Progress));
        hub.listen("a", &target);
    }
    hub.say(said("late", Kind::Progress));
    let another = listen("b", "late", None, false);
    let refused = Err(Refusal::TooManyListeners { cap: 1000 });
    assert_eq!(hub.ask(&another), refused);
    hub.run(&Command::End {
        project: project(),
        session: name("w7"),
        exited: false,
        quiet: true,
        process: None,
    });
    let records = hub.run(&another);
    assert_eq!(Hub::ends(&records), [ListenerEnd::Removed]);
    assert_eq!((hub.listeners("w7"), hub.listeners("late")), (0, 1));
    hub.last_is("w7 is gone, and no stop of it came: nothing listens for it any more");
    assert_eq!(hub.pending("a").len(), 1);
}

/// Returns a hub in which `a` expects `later`, which then becomes the name of the session `uuid`; likewise `boss` and
/// `uuid-a`.
fn named_later() -> Hub {
    let mut hub = Hub::new();
    hub.run(&listen("boss", "later", Some(10 * MINUTE), true));
    hub.hook_of("uuid", named("later"), prompt(Wake));
    hub.hook_of("uuid-a", named("boss"), prompt(Wake));
    hub
}

#[test]
fn a_pair_named_before_its_session_is_known_is_notified_once() {
    let mut hub = named_later();
    hub.tells("uuid", stop("done"), "complete primary!, complete uuid-a!");
    tells(&hub.listen("uuid-a", "uuid"), "");
    assert_eq!(hub.listeners("uuid"), 1);
}

#[test]
fn a_listener_named_before_its_caller_is_known_ends_with_it() {
    let mut hub = named_later();
    let records = hub.end("uuid-a", false);
    assert_eq!(Hub::ends(&records), [ListenerEnd::CallerEnded]);
}
