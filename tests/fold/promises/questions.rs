//! Questions are asked once and answered once.

use hub_core::record::QuestionSettled;
use hub_protocol::QuestionState;

use super::retention::trim;
use super::*;

fn keyed(from: &str, to: Option<&str>) -> Draft {
    said(from, Kind::Question)
        .key("which")
        .with(|it| it.to = to.map(name))
}

pub(super) fn claim(id: Seq, by: &str) -> Command {
    let by = name(by);
    Command::Claim { id, by }
}

fn withdraw(id: Seq, by: &str) -> Command {
    let by = name(by);
    Command::WithdrawQuestion { id, by }
}

impl Hub {
    pub(super) fn asked(&self, id: Seq) -> (QuestionState, Option<&str>, Option<Seq>) {
        let question = self.state.questions.get(id).expect("a question");
        (question.state, question.by.as_deref(), question.answer)
    }
}

/// Returns how many records settle a question.
fn settles(records: &[Record]) -> usize {
    let settles = |it: &&Record| matches!(it, Record::QuestionSettled(_));
    records.iter().filter(settles).count()
}

#[test]
fn a_question_is_open_then_claimed_then_answered() {
    let (mut hub, id) = Hub::with(Kind::Question);
    assert_eq!(hub.asked(id), (QuestionState::Open, None, None));
    hub.run(&claim(id, "lead"));
    assert_eq!(hub.asked(id), (QuestionState::Claimed, Some("lead"), None));
    assert_eq!(hub.run(&claim(id, "lead")), []);
    tells(&hub.answer("lead", id).unwrap(), "answer w1!");
    let by = Some("lead");
    assert_eq!(hub.asked(id), (QuestionState::Answered, by, Some(id + 2)));
    assert!(hub.state.questions.open().next().is_none());
    assert_eq!(hub.state.questions.all().count(), 1);
}

#[test]
fn a_question_is_withdrawn_with_its_notification_once() {
    let (mut hub, id) = Hub::with(Kind::Question);
    let ids = vec![id, id];
    assert_eq!(settles(&hub.run(&Command::Withdraw { ids })), 1);
    assert_eq!(hub.asked(id).0, QuestionState::Withdrawn);
    let id = hub.say(keyed("w1", None).with(|it| it.kind = Kind::Approval));
    let records = hub.withdraw_key(None, "which");
    assert_eq!(settles(&records), 1, "it was in two inboxes");
    assert_eq!(hub.asked(id).0, QuestionState::Withdrawn);
}

#[test]
fn a_newer_question_with_its_key_supersedes_it_even_when_it_was_read() {
    let mut hub = Hub::new();
    let old = hub.say(keyed("w1", None));
    hub.ack("primary", &[old]);
    let new = hub.state.head() + 1;
    let records = hub.post(keyed("w1", None));
    let superseded = QuestionSettled {
        id: old,
        state: QuestionState::Superseded,
        by: None,
        answer: Some(new),
        at: noon(),
    };
    assert_eq!(records[1..], [Record::QuestionSettled(superseded)]);
    assert_eq!(hub.open_question(0), new);
}

#[test]
fn a_read_question_keeps_its_text_until_it_is_settled_and_trimmed() {
    let (mut hub, open) = Hub::with(Kind::Question);
    let settled = hub.say(said("w1", Kind::Question));
    hub.ack("primary", &[open]);
    hub.run(&withdraw(settled, "w1"));
    let below = hub.state.head() + 1;
    assert_eq!(hub.state.needed_below(below), [(open, open)]);
    hub.run(&trim(below, &[open]));
    assert_eq!(hub.state.questions.get(settled), None);
    let carried = Some(below);
    assert_eq!(hub.state.location(open), carried);
    hub.restart();
    hub.answer("lead", open).unwrap();
    let answer = hub.asked(open).2.expect("an answer");
    hub.ack("w1", &[answer]);
    hub.restart();
    assert_eq!(hub.state.location(open), carried);
    assert!(answer > hub.state.retention.below(), "its answer is there");
    hub.run(&trim(below + 1, &[]));
    assert_eq!(hub.state.location(open), None);
    assert_eq!(hub.state.questions.get(open), None);
}

#[test]
fn a_question_whose_text_is_evicted_is_settled_with_a_record() {
    let (mut hub, id) = Hub::with(Kind::Question);
    hub.ack("primary", &[id]);
    let records = hub.run(&trim(hub.state.head() + 1, &[]));
    let expired = QuestionSettled {
        id,
        state: QuestionState::Expired,
        by: None,
        answer: None,
        at: noon(),
    };
    assert_eq!(records[0], Record::QuestionSettled(expired));
    assert!(matches!(records[1..], [Record::Trimmed(_)]));
}

#[test]
fn a_reset_withdraws_open_questions_with_a_record_each() {
    let (mut hub, read) = Hub::with(Kind::Question);
    let unread = hub.say(said("w2", Kind::Approval));
    let answered = hub.say(said("w3", Kind::Question));
    hub.answer("lead", answered).unwrap();
    hub.ack("primary", &[read]);
    assert_eq!(settles(&hub.run(&reset(false))), 2);
    hub.restart();
    for id in [read, unread] {
        assert_eq!(hub.asked(id).0, QuestionState::Withdrawn);
    }
    assert_eq!(hub.asked(answered).0, QuestionState::Answered);
    assert!(hub.state.questions.open().next().is_none());
    assert_eq!(hub.due(), None);
    hub.run(&reset(true));
    assert_eq!(hub.state.questions.get(answered), None);
}

#[test]
fn a_reset_in_the_oldest_format_leaves_no_question_open() {
    let (mut hub, id) = Hub::with(Kind::Question);
    let alone = hub.run(&reset(false)).pop().unwrap();
    let mut old = Hub::new();
    old.say(said("w1", Kind::Question));
    old.state.apply(2, &alone);
    assert_eq!(old.asked(id).0, QuestionState::Withdrawn);
}

#[test]
fn a_question_closes_when_its_asker_reports_work_or_completion() {
    for kind in [Kind::Progress, Kind::Complete] {
        let mut hub = Hub::new();
        let read = hub.say(said("w1", Kind::Question));
        hub.ack("primary", &[read]);
        let unread = hub.say(said("w1", Kind::Approval));
        let other = hub.say(said("w2", Kind::Question));
        hub.say(said("w1", kind));
        for id in [read, unread] {
            let withdrawn = (QuestionState::Withdrawn, Some("resumed"), None);
            assert_eq!(hub.asked(id), withdrawn);
        }
        assert_eq!(hub.status(unread), Status::Withdrawn);
        assert_eq!(hub.asked(other).0, QuestionState::Open);
    }
}

#[test]
fn a_claimed_report_closes_nothing_that_a_hook_asks() {
    for is_held in [true, false] {
        let mut hub = Hub::new();
        if is_held {
            hub.held_hook("w1", permission());
        } else {
            hub.hook("w1", asks("A or B?"));
        }
        let id = hub.open_question(0);
        hub.say(said("w1", Kind::Progress));
        hub.say(said("other", Kind::Complete).about("w1"));
        assert_eq!(hub.asked(id).0, QuestionState::Open);
        hub.hook("w1", stop("done"));
        assert_eq!(hub.asked(id).0, QuestionState::Withdrawn);
    }
}

#[test]
fn a_notification_without_a_state_of_the_asker_closes_no_question() {
    let (mut hub, id) = Hub::with(Kind::Question);
    hub.say(said("w1", Kind::Message));
    hub.say(said("w1", Kind::Complete).implicit());
    hub.say(said("w1", Kind::Waiting));
    assert_eq!(hub.asked(id).0, QuestionState::Open);
    hub.say(said("watcher", Kind::Progress).about("w1"));
    assert_eq!(hub.asked(id).0, QuestionState::Withdrawn);
}

#[test]
fn a_session_that_ends_without_a_stop_leaves_no_open_question() {
    let (mut hub, id) = Hub::with(Kind::Question);
    let records = hub.run(&Command::End {
        project: project(),
        session: name("w1"),
        exited: false,
        process: None,
        quiet: true,
    });
    assert!(told(&records).is_empty(), "{records:?}");
    let withdrawn = (QuestionState::Withdrawn, Some("ended"), None);
    assert_eq!(hub.asked(id), withdrawn);
    let session = hub.session("w1");
    assert!(!session.is_alive() && !session.crashed);
}

#[test]
fn a_state_from_before_a_question_does_not_withdraw_it() {
    for kind in [Kind::Progress, Kind::Complete] {
        let mut hub = Hub::new();
        let id = hub.say(said("w1", Kind::Question));
        let earlier = said("w1", kind).with(|it| it.ts = noon().plus_millis(-1));
        hub.say(earlier);
        assert_eq!(hub.asked(id).0, QuestionState::Open);
        hub.say(said("w1", kind));
        assert_eq!(hub.asked(id).0, QuestionState::Withdrawn);
    }
}

#[test]
fn a_state_after_a_question_withdraws_it_whatever_the_clock_did() {
    let (mut hub, id) = Hub::with(Kind::Question);
    hub.jump(-HOUR);
    let later = said("w1", Kind::Progress).with(|it| it.ts = noon().plus_millis(MINUTE - HOUR));
    hub.say(later);
    assert_eq!(hub.asked(id).0, QuestionState::Withdrawn);
}
