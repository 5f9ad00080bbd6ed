//! The phase of a session: whether it waits for the person.

use hub_core::fold::SessionPhase;
use hub_core::waiters::ToolReport;
use hub_engine::{needs, phase, sessions};
use hub_protocol::{NeedKind, PhaseName, ToolCall};

use super::*;
use crate::check::nobody;

impl Hub {
    fn phase(&self, id: &str) -> SessionPhase {
        let key = self.state.sessions.resolve(&project(), &name(id)).clone();
        let session = self.state.sessions.get(&project(), &key).unwrap();
        self.state
            .phase(&project(), &key, session, self.now, self.now)
    }

    #[track_caller]
    fn is_in(&self, id: &str, phase: PhaseName) {
        assert_eq!(self.phase(id).name, phase);
    }
}

impl Hub {
    /// The person closes what a session needs, until a time or for good.
    fn close_need(&mut self, id: &str, until: Option<Timestamp>) {
        let of = self.state.sessions.get(&project(), &name(id)).unwrap().seq;
        let session = (project(), name(id));
        self.run(&Command::CloseNeed { session, of, until });
    }

    fn mark_all_read(&mut self) {
        let ids = (1..=self.state.head()).collect();
        self.run(&Command::Seen {
            ids,
            ranges: Vec::new(),
            seen: true,
        });
    }
}

/// A session that no other one started, in a turn of the person.
fn typed() -> Hub {
    let mut hub = Hub::new();
    hub.start("w1", SessionInfo::default());
    hub.is_in("w1", PhaseName::Done);
    hub.hook("w1", prompt(Person));
    hub.is_in("w1", PhaseName::Working);
    hub
}

#[test]
fn a_session_that_stopped_waits_until_the_person_says_that_it_is_done() {
    let mut hub = typed();
    hub.hook("w1", stop("All tests pass."));
    hub.is_in("w1", PhaseName::YourTurn);
    hub.mark_all_read();
    hub.is_in("w1", PhaseName::YourTurn);
    hub.close_need("w1", None);
    hub.is_in("w1", PhaseName::Done);
    hub.hook("w1", prompt(Person));
    hub.hook("w1", stop("Done again."));
    hub.is_in("w1", PhaseName::YourTurn);
}

#[test]
fn a_session_is_silent_by_no_clock_that_was_set() {
    for moved in [-HOUR, HOUR] {
        let mut hub = typed();
        hub.pass(9 * MINUTE);
        hub.jump(moved);
        let is_silent = |hub: &Hub| {
            let (project, key, session) = (project(), name("w1"), hub.session("w1"));
            let phase = hub
                .state
                .phase(&project, &key, session, session.ts, hub.now);
            phase.is_silent
        };
        assert!(!is_silent(&hub), "{moved}");
        hub.pass(2 * MINUTE);
        assert!(is_silent(&hub), "{moved}");
    }
}

#[test]
fn a_session_whose_tool_runs_for_long_is_shown_as_silent_by_no_view() {
    let (hub, waiters, place) = (typed(), nobody(), (project(), name("w1")));
    let is_silent = || {
        let session = hub.state.sessions.get(&place.0, &place.1).unwrap();
        let found = phase::find(&hub.state, &waiters, &place, session);
        let shown = sessions::shown(&hub.state, &waiters, &place, session, &found);
        (shown.silent, found.phase.name == PhaseName::Blocked)
    };
    assert_eq!(is_silent(), (true, true));
    let call = ToolCall {
        name: "Bash".into(),
        on: "cargo build".into(),
        since: hub.now,
    };
    let report = ToolReport::Began(call);
    waiters
        .write()
        .activity()
        .note_tool(place.clone(), "1", report);
    assert_eq!(is_silent(), (false, false));
}

#[test]
fn a_need_that_the_person_snoozed_opens_again() {
    let mut hub = typed();
    hub.hook("w1", stop("All tests pass."));
    hub.close_need("w1", Some(hub.now.plus_millis(HOUR)));
    hub.is_in("w1", PhaseName::Done);
    hub.pass(HOUR - 1);
    hub.is_in("w1", PhaseName::Done);
    hub.pass(1);
    hub.is_in("w1", PhaseName::YourTurn);
}

#[test]
fn a_need_is_closed_only_in_the_state_that_the_person_saw() {
    let mut hub = typed();
    hub.hook("w1", stop("All tests pass."));
    let of = hub.session("w1").seq;
    hub.hook("w1", prompt(Person));
    hub.hook("w1", stop("Which of the two?"));
    let session = (project(), name("w1"));
    let until = None;
    let refused = hub.ask(&Command::CloseNeed { session, of, until });
    assert_eq!(refused.err(), Some(Refusal::NeedChanged));
    hub.is_in("w1", PhaseName::YourTurn);
}

#[test]
fn a_session_that_the_person_has_answered_waits_for_nothing() {
    let mut hub = typed();
    hub.hook("w1", stop("Which of the two?"));
    hub.post(said("w2", Kind::Message).to("w1"));
    hub.is_in("w1", PhaseName::YourTurn);
    hub.post(said("person", Kind::Message).to("w1"));
    hub.is_in("w1", PhaseName::Done);
    hub.post(said("w1", Kind::Error));
    hub.post(said("person", Kind::Message).to("w1"));
    hub.is_in("w1", PhaseName::Blocked);
}

#[test]
fn a_session_works_again_as_soon_as_its_permission_is_given() {
    let mut hub = typed();
    hub.held_hook("w1", permission());
    hub.is_in("w1", PhaseName::NeedsYou);
    let asked = hub.phase("w1").report.unwrap();
    let mut answer = said("person", Kind::Answer).reply_to(asked);
    answer.may_approve = true;
    hub.post(answer);
    hub.is_in("w1", PhaseName::Working);
}

#[test]
fn a_worker_that_stopped_waits_for_its_parent() {
    let mut hub = Hub::new();
    hub.start("lead", SessionInfo::default());
    hub.worker("w1", "lead");
    hub.hook("w1", prompt(Wake));
    hub.hook("w1", stop("Done."));
    hub.is_in("w1", PhaseName::Done);
    hub.hook("lead", AgentEvent::Ended);
    hub.is_in("w1", PhaseName::YourTurn);
    hub.is_in("lead", PhaseName::Gone);
}

#[test]
fn a_question_in_prose_stays_until_the_person_speaks_whatever_the_hub_begins() {
    let asking = || {
        let mut hub = typed();
        hub.hook("w1", stop("Shall I push?"));
        hub.is_in("w1", PhaseName::YourTurn);
        let asked = hub.phase("w1").report;
        hub.pass(MINUTE);
        hub.hook("w1", prompt(Wake));
        hub.hook("w1", stop("Nothing to do for me."));
        hub.restart();
        (hub, asked)
    };
    let (mut hub, asked) = asking();
    let phase = hub.phase("w1");
    assert_eq!((phase.name, phase.report), (PhaseName::YourTurn, asked));
    hub.hook("w1", prompt(Wake));
    hub.hook("w1", stop("And what is this?"));
    assert_ne!(hub.phase("w1").report, asked, "it asks something else");
    let (mut hub, asked) = asking();
    hub.hook("w1", prompt(Person));
    hub.hook("w1", stop("Pushed."));
    assert_ne!(hub.phase("w1").report, asked);
    let (mut hub, _) = asking();
    hub.close_need("w1", None);
    hub.hook("w1", prompt(Wake));
    hub.hook("w1", stop("Pushed."));
    assert_eq!(hub.phase("w1").since, hub.now);
}

#[test]
fn a_failed_model_blocks_its_session_until_it_works_again() {
    let mut hub = typed();
    let until = hub.now.plus_millis(HOUR);
    hub.hook("w1", failed_until(until, false));
    let phase = hub.phase("w1");
    assert_eq!(phase.name, PhaseName::Blocked);
    assert_eq!(phase.since, hub.now);
    assert_eq!(
        (phase.reason.as_deref(), phase.until),
        (Some("rate_limit"), Some(until))
    );
    hub.close_need("w1", Some(hub.now.plus_millis(MINUTE)));
    hub.is_in("w1", PhaseName::Done);
    hub.pass(MINUTE);
    hub.is_in("w1", PhaseName::Blocked);
    // After ten minutes a notification reports the failure.
    hub.pass(10 * MINUTE);
    hub.tick();
    let phase = hub.phase("w1");
    assert_eq!((phase.name, phase.until), (PhaseName::Blocked, Some(until)));
    hub.hook("w1", AgentEvent::Worked);
    hub.is_in("w1", PhaseName::Working);
}

#[test]
fn what_has_an_end_is_a_limit_whatever_its_agent_calls_it() {
    let mut hub = typed();
    let until = Some(hub.now.plus_millis(HOUR));
    let event = AgentEvent::Failed {
        reason: "other: try again at 3:05 PM.".into(),
        permanent: true,
        until,
        resumes: false,
    };
    hub.tells("w1", event, "progress");
    assert_eq!(hub.phase("w1").until, until);
}

#[test]
fn a_session_that_died_at_work_is_blocked_until_the_person_closes_that() {
    let mut hub = typed();
    hub.end("w1", true);
    hub.is_in("w1", PhaseName::Blocked);
    hub.mark_all_read();
    hub.is_in("w1", PhaseName::Blocked);
    hub.close_need("w1", None);
    hub.is_in("w1", PhaseName::Gone);
}

#[test]
fn how_a_session_failed_needs_the_person_also_once_its_process_is_gone() {
    let ends: [fn(&mut Hub); 2] = [
        |hub| drop(hub.end("w1", true)),
        |hub| drop(hub.hook("w1", AgentEvent::Exited)),
    ];
    for end in ends {
        let mut hub = typed();
        let failed = hub.say(said("w1", Kind::Error));
        end(&mut hub);
        hub.restart();
        assert!(!hub.session("w1").is_alive());
        let phase = hub.phase("w1");
        let expected = (PhaseName::Blocked, Some(failed));
        assert_eq!((phase.name, phase.report), expected);
        hub.close_need("w1", None);
        hub.is_in("w1", PhaseName::Gone);
        let mut hub = typed();
        hub.say(said("w1", Kind::Error));
        hub.close_need("w1", None);
        end(&mut hub);
        hub.is_in("w1", PhaseName::Gone);
    }
}

#[test]
fn a_session_that_reports_nothing_at_work_is_blocked_after_ten_minutes() {
    let hub = typed();
    let session = hub.session("w1");
    let later = |millis| hub.now.plus_millis(millis);
    let phase = |heard, now| {
        let phase = hub
            .state
            .phase(&project(), &name("w1"), session, heard, now);
        phase.name
    };
    assert_eq!(phase(hub.now, later(10 * MINUTE)), PhaseName::Working);
    assert_eq!(phase(hub.now, later(10 * MINUTE + 1)), PhaseName::Blocked);
    assert_eq!(phase(later(MINUTE), later(11 * MINUTE)), PhaseName::Working);
}

#[test]
fn a_sender_that_is_not_registered_waits_only_if_it_says_so() {
    for (kind, phase) in [
        (Kind::Complete, PhaseName::Gone),
        (Kind::Waiting, PhaseName::YourTurn),
        (Kind::Testing, PhaseName::YourTurn),
        (Kind::Error, PhaseName::Blocked),
        (Kind::Question, PhaseName::NeedsYou),
    ] {
        let (hub, _) = Hub::with(kind);
        hub.is_in("w1", phase);
    }
}

/// A session that is blocked by a limit which ends in an hour.
fn limited(resumes: bool) -> (Hub, Timestamp) {
    let mut hub = typed();
    let until = hub.now.plus_millis(HOUR);
    hub.hook("w1", failed_until(until, resumes));
    let (at, chosen) = hub.session("w1").resume().expect("a limit");
    assert_eq!(chosen, resumes);
    assert!((0..60_000).contains(&(at.as_millis() - until.as_millis())));
    (hub, at)
}

fn failed_until(until: Timestamp, resumes: bool) -> AgentEvent {
    AgentEvent::Failed {
        reason: "rate_limit".into(),
        permanent: false,
        until: Some(until),
        resumes,
    }
}

/// The texts that the hub sends by the time.
fn told_at(hub: &mut Hub, at: Timestamp) -> Vec<String> {
    let is_due = |hub: &Hub| hub.state.next_deadline().is_some_and(|due| due <= at);
    let mut records = Vec::new();
    while is_due(hub) {
        records.extend(hub.tick());
    }
    hub.now = at;
    let notified = records.iter().filter_map(|it| match it {
        Record::Notified(it) if it.route.from.as_str() == "hub" => Some(it),
        _ => None,
    });
    notified
        .map(|it| it.route.targets[0].inbox.to_string())
        .collect()
}

#[test]
fn a_session_that_is_still_blocked_goes_on_once_when_its_limit_ends() {
    let (mut hub, at) = limited(true);
    assert_eq!(told_at(&mut hub, at.plus_millis(-1)), [""; 0]);
    hub.is_in("w1", PhaseName::Blocked);
    assert_eq!(told_at(&mut hub, at), ["w1"]);
    assert_eq!(told_at(&mut hub, at.plus_millis(HOUR)), [""; 0]);
    hub.hook("w1", prompt(Wake));
    let until = hub.now.plus_millis(HOUR);
    hub.hook("w1", failed_until(until, true));
    assert_eq!(
        told_at(&mut hub, until.plus_millis(60_000)),
        ["w1"],
        "the next limit"
    );
}

#[test]
fn a_session_that_went_on_by_itself_or_for_which_the_person_did_not_choose_it_is_told_nothing() {
    let (mut hub, at) = limited(true);
    hub.hook("w1", prompt(Person));
    hub.hook("w1", stop("Done."));
    assert_eq!(told_at(&mut hub, at.plus_millis(HOUR)), [""; 0]);
    let (mut hub, at) = limited(false);
    assert_eq!(told_at(&mut hub, at.plus_millis(HOUR)), [""; 0]);
    let (mut hub, at) = limited(true);
    hub.end("w1", false);
    assert_eq!(told_at(&mut hub, at.plus_millis(HOUR)), [""; 0]);
    let (mut hub, at) = limited(true);
    hub.hook("w1", AgentEvent::Cleared);
    assert_eq!(told_at(&mut hub, at.plus_millis(HOUR)), [""; 0]);
}

#[test]
fn a_limit_that_is_over_is_the_persons_turn() {
    for resumes in [false, true] {
        let (mut hub, at) = limited(resumes);
        let kind = |hub: &Hub| {
            let found = needs::list_at(&hub.state, &nobody(), hub.now);
            found[0].need.kind
        };
        told_at(&mut hub, at.plus_millis(60_000));
        assert_eq!(kind(&hub), NeedKind::Limit);
        hub.now = hub.now.plus_millis(1);
        assert_eq!(kind(&hub), NeedKind::Turn);
    }
}

#[test]
fn the_person_chooses_whether_a_session_goes_on_as_long_as_it_is_blocked() {
    let (mut hub, at) = limited(false);
    let session = (project(), name("w1"));
    let of = hub.session("w1").seq;
    let choose = |on| Command::Resume {
        session: session.clone(),
        of,
        on,
    };
    hub.run(&choose(true));
    hub.run(&choose(false));
    hub.run(&choose(true));
    assert_eq!(told_at(&mut hub, at), ["w1"]);
    hub.hook("w1", prompt(Wake));
    assert_eq!(hub.ask(&choose(true)), Err(Refusal::NeedChanged));
}
