//! Answers: which posts and senders answer a question, and how an answer reaches the asker.

use hub_core::fold::{AnswerPath, HookConnection};
use hub_protocol::{AnswerDelivery, Post, QuestionState};

use super::questions::claim;
use super::*;

fn answer(from: &str, id: Seq) -> Draft {
    said(from, Kind::Answer).reply_to(id)
}

impl Hub {
    fn reach(&self, id: Seq) -> AnswerPath {
        let question = self.state.questions.get(id).expect("a question");
        self.state.reach(question)
    }

    fn delivery(&self, id: Seq, is_held: bool) -> Option<AnswerDelivery> {
        let hook = if is_held {
            HookConnection::Held
        } else {
            HookConnection::Gone
        };
        self.delivery_with(id, hook)
    }

    fn delivery_with(&self, id: Seq, hook: HookConnection) -> Option<AnswerDelivery> {
        let question = self.state.questions.get(id).expect("a question");
        self.state.answer_delivery(question, hook)
    }

    fn unfinished(&self) -> Vec<Seq> {
        { self.state.unfinished_questions() }
            .map(|(id, _)| id)
            .collect()
    }

    fn note_answer(&mut self, question: Seq, delivered: bool) -> Vec<Record> {
        self.run(&Command::NoteAnswer {
            question,
            delivered,
        })
    }

    /// Applies an event of `w1` that tells this of answers to it, and nothing of others.
    fn tells_of(&mut self, used: &[(Seq, bool)], event: AgentEvent) {
        self.changed_hook("w1", event, |it| it.used = Some(used.to_vec()));
    }

    pub(super) fn answer(&mut self, from: &str, id: Seq) -> Result<Vec<Record>, Refusal> {
        self.try_notify(vec![answer(from, id)])
    }
}

#[test]
fn two_answers_in_one_request_are_refused() {
    let (mut hub, id) = Hub::with(Kind::Question);
    let twice = vec![answer("lead", id), answer("person", id)];
    let refusal = hub.try_notify(twice).unwrap_err();
    let settled = matches!(refusal, Refusal::QuestionSettled { .. });
    assert!(settled, "{refusal}");
    assert_eq!(hub.asked(id).0, QuestionState::Open);
}

#[test]
fn a_session_cannot_answer_or_claim_its_own_question_under_any_name() {
    let mut hub = Hub::new();
    hub.start("w1", named("short"));
    let id = hub.say(said("w1", Kind::Question));
    for who in ["w1", "short"] {
        assert!(matches!(hub.answer(who, id), Err(Refusal::NotAllowed(_))));
        let refusal = hub.ask(&claim(id, who));
        assert!(matches!(refusal, Err(Refusal::NotAllowed(_))));
    }
}

fn approves(who: &str, id: Seq) -> Draft {
    answer(who, id).may_approve()
}

#[test]
fn an_asker_with_an_inbox_is_reachable_until_it_is_over() {
    let (mut hub, id) = Hub::with(Kind::Question);
    assert_eq!(hub.reach(id), AnswerPath::Inbox);
    let approval = hub.say(said("w1", Kind::Approval));
    assert_eq!(hub.reach(approval), AnswerPath::Inbox);
    hub.say(said("w1", Kind::Ended));
    assert_eq!(hub.reach(id), AnswerPath::Nowhere);
}

#[test]
fn a_dialog_is_answered_in_its_terminal_and_a_permission_through_its_request() {
    let mut hub = Hub::new();
    hub.hook("w1", asks("A or B?"));
    let dialog = hub.open_question(0);
    assert_eq!(hub.reach(dialog), AnswerPath::Nowhere);
    hub.held_hook("w2", permission());
    let held = hub.open_question(1);
    assert_eq!(hub.reach(held), AnswerPath::Request);
    hub.hook("w3", permission());
    let shown = hub.open_question(2);
    assert_eq!(hub.reach(shown), AnswerPath::Nowhere);
}

#[test]
fn the_answer_to_a_held_request_goes_to_no_inbox() {
    for event in [permission(), asks("A or B?")] {
        let mut hub = Hub::new();
        hub.held_hook("w1", event);
        let id = hub.open_question(0);
        hub.post(approves("person", id));
        assert_eq!(hub.asked(id).0, QuestionState::Answered);
        assert!(hub.pending("w1").is_empty(), "its hook takes it there");
    }
}

#[test]
fn the_answer_to_a_held_request_is_stored_then_delivered_then_taken() {
    use AnswerDelivery::{Delivered, Stored, Taken, Terminal, Waiting};
    for event in [permission(), asks("A or B?")] {
        let mut hub = Hub::new();
        hub.held_hook("w1", event);
        let id = hub.open_question(0);
        assert_eq!(hub.delivery(id, true), Some(Waiting));
        assert_eq!(hub.delivery(id, false), Some(Terminal));
        hub.post(approves("person", id));
        assert_eq!(hub.delivery(id, true), Some(Stored));
        assert_eq!(hub.unfinished(), [id]);
        // A held request of the same session proves nothing.
        hub.held_hook("w1", AgentEvent::Worked);
        hub.hook("w1", AgentEvent::Seen);
        assert_eq!(hub.delivery(id, true), Some(Stored));
        hub.note_answer(id, true);
        hub.held_hook("w1", AgentEvent::Worked);
        assert_eq!(hub.delivery(id, false), Some(Delivered));
        assert_eq!(hub.unfinished(), [id]);
        assert_eq!(hub.note_answer(id, false), [], "it was delivered");
        hub.hook("w1", AgentEvent::Seen);
        assert_eq!(hub.delivery(id, false), Some(Taken));
        assert!(hub.unfinished().is_empty());
    }
}

#[test]
fn the_next_dialog_of_a_session_proves_that_it_took_the_answer_to_the_one_before() {
    let mut hub = Hub::new();
    hub.held_hook("w1", permission());
    let id = hub.open_question(0);
    hub.post(approves("person", id));
    hub.note_answer(id, true);
    hub.held_hook("w1", permission());
    assert_eq!(hub.delivery(id, false), Some(AnswerDelivery::Taken));
}

#[test]
fn a_notice_that_comes_after_the_answer_opens_no_dialog() {
    let mut hub = Hub::new();
    hub.held_hook("w1", permission());
    let id = hub.open_question(0);
    hub.post(approves("person", id));
    hub.note_answer(id, true);
    assert_eq!(hub.hook("w1", notice()), []);
    hub.hook("w1", AgentEvent::Worked);
    hub.pass(9_999);
    assert_eq!(hub.hook("w1", notice()), []);
    hub.pass(1);
    assert_eq!(hub.told("w1", notice()).len(), 1);
}

#[test]
fn an_answer_before_the_clock_was_set_back_hides_no_later_dialog() {
    let mut hub = Hub::new();
    hub.held_hook("w1", permission());
    let id = hub.open_question(0);
    hub.post(approves("person", id));
    hub.note_answer(id, true);
    hub.pass(-HOUR);
    assert_eq!(hub.told("w1", notice()).len(), 1);
}

#[test]
fn an_event_that_names_a_dialog_tells_nothing_of_the_answer_to_another() {
    let mut hub = Hub::new();
    for dialog in ["1", "2"] {
        let held = held(&permission());
        hub.changed_hook("w1", permission(), |it| {
            (it.held, it.dialog) = (Some(held), Some(dialog.into()));
        });
    }
    let both = [hub.open_question(0), hub.open_question(1)];
    for id in both {
        hub.post(approves("person", id));
        hub.note_answer(id, true);
    }
    let told = |hub: &Hub, dialog: &str| {
        let (questions, place) = (&hub.state.questions, (&project(), &name("w1")));
        questions.unproven_answers(place, None, Some(dialog)).len()
    };
    assert_eq!((told(&hub, "1"), told(&hub, "another")), (1, 0));
    hub.named_hook("1", AgentEvent::Worked);
    let deliveries = both.map(|id| hub.delivery(id, false));
    let expected = [AnswerDelivery::Taken, AnswerDelivery::Delivered];
    assert_eq!(deliveries, expected.map(Some));
}

#[test]
fn an_event_that_tells_which_answer_counted_proves_no_other() {
    for (used, state, delivery) in [
        (
            Some(true),
            QuestionState::Answered,
            Some(AnswerDelivery::Taken),
        ),
        (Some(false), QuestionState::Withdrawn, None),
        (
            None,
            QuestionState::Answered,
            Some(AnswerDelivery::Delivered),
        ),
    ] {
        let mut hub = Hub::new();
        hub.held_hook("w1", permission());
        let id = hub.open_question(0);
        hub.post(approves("person", id));
        let answer = hub.asked(id).2.expect("an answer");
        hub.tells_of(&[(answer, true)], AgentEvent::Seen);
        assert_eq!(hub.delivery(id, true), Some(AnswerDelivery::Stored));
        hub.note_answer(id, true);
        let told = used.map(|used| (answer, used));
        hub.tells_of(told.as_slice(), AgentEvent::Seen);
        assert_eq!(
            (hub.asked(id).0, hub.delivery(id, false)),
            (state, delivery)
        );
    }
}

#[test]
fn an_answer_is_not_waited_for_beyond_its_turn() {
    let mut hub = Hub::new();
    hub.held_hook("w1", permission());
    let id = hub.open_question(0);
    hub.post(approves("person", id));
    hub.note_answer(id, true);
    hub.held_hook("w1", AgentEvent::Worked);
    assert_eq!(hub.unfinished(), [id]);
    hub.tells_of(&[], stop("Done."));
    assert!(hub.unfinished().is_empty());
    hub.tells_of(&[], AgentEvent::Worked);
    assert!(hub.unfinished().is_empty(), "in a later turn");
    assert_eq!(hub.delivery(id, false), Some(AnswerDelivery::Delivered));
}

#[test]
fn an_answer_that_its_hook_could_not_deliver_leaves_the_question_to_the_terminal() {
    let mut hub = Hub::new();
    hub.held_hook("w1", permission());
    let id = hub.open_question(0);
    assert_eq!(hub.note_answer(id, false), [], "it has no answer");
    hub.post(approves("person", id));
    hub.note_answer(id, false);
    assert_eq!(hub.asked(id), (QuestionState::Open, None, None));
    assert_eq!(hub.delivery(id, false), Some(AnswerDelivery::Terminal));
    hub.hook("w1", AgentEvent::Worked);
    assert_eq!(hub.asked(id).0, QuestionState::Withdrawn);
    assert_eq!(hub.delivery(id, false), None);
    assert!(hub.unfinished().is_empty());
}

#[test]
fn an_answer_that_no_hook_delivered_closes_the_question_of_a_session_that_has_gone_on() {
    let mut hub = Hub::new();
    hub.held_hook("w1", permission());
    let id = hub.open_question(0);
    hub.post(approves("person", id));
    hub.pass(1);
    hub.hook("w1", AgentEvent::Worked);
    hub.note_answer(id, false);
    assert_eq!(hub.asked(id).0, QuestionState::Withdrawn);
}

#[test]
fn while_a_hook_is_expected_at_a_new_hub_its_question_waits_for_it() {
    let mut hub = Hub::new();
    hub.held_hook("w1", permission());
    let id = hub.open_question(0);
    let expected = |hub: &Hub| hub.delivery_with(id, HookConnection::Expected);
    assert_eq!(expected(&hub), Some(AnswerDelivery::Reconnecting));
    hub.post(approves("person", id));
    assert_eq!(expected(&hub), Some(AnswerDelivery::Stored));
    assert_eq!(hub.delivery(id, false), Some(AnswerDelivery::Terminal));
}

#[test]
fn the_answer_in_an_inbox_is_listed_until_the_session_has_it_or_has_ended() {
    for ends in [false, true] {
        let mut hub = Hub::new();
        hub.start("w1", SessionInfo::default());
        let id = hub.say(said("w1", Kind::Question));
        let delivery = |hub: &Hub| hub.delivery(id, false);
        assert_eq!(delivery(&hub), Some(AnswerDelivery::Waiting));
        hub.answer("lead", id).unwrap();
        assert_eq!(delivery(&hub), Some(AnswerDelivery::Stored));
        assert_eq!(hub.unfinished(), [id]);
        if ends {
            hub.hook("w1", AgentEvent::Ended);
        } else {
            let answer = hub.asked(id).2.expect("an answer");
            hub.show("w1", "w1", &[answer], Way::Hook);
            assert_eq!(delivery(&hub), Some(AnswerDelivery::Delivered));
            assert_eq!(hub.unfinished(), [id]);
            hub.hook("w1", AgentEvent::Worked);
            assert_eq!(delivery(&hub), Some(AnswerDelivery::Taken));
        }
        assert!(hub.unfinished().is_empty());
    }
}

#[test]
fn only_a_person_answers_a_held_dialog_so_it_wakes_no_agent() {
    let mut hub = Hub::new();
    hub.held_hook("w1", asks("A or B?"));
    let id = hub.open_question(0);
    assert!(matches!(
        hub.answer("lead", id),
        Err(Refusal::NotAllowed(_))
    ));
    assert_eq!(hub.asked(id).0, QuestionState::Open);
    let wakes = |inbox: &str| {
        hub.items(inbox)
            .iter()
            .map(|it| it.wakes)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (wakes("person"), wakes("primary")),
        (vec![true], vec![false])
    );
}

/// Returns a reply of `lead` to `id`, without a type.
fn reply(id: Seq) -> Post {
    Post {
        from: Some(name("lead")),
        reply_to: Some(id),
        ..Post::default()
    }
}

/// Returns the type of a post after its defaults are applied.
fn placed(hub: &Hub, post: Post) -> Option<Kind> {
    let mut posts = [post];
    hub.state.place_answers(&mut posts);
    posts[0].kind
}

#[test]
fn a_reply_to_an_open_question_is_its_answer() {
    let (mut hub, id) = Hub::with(Kind::Question);
    hub.ack("primary", &[id]);
    for (kind, to) in [
        (None, None),
        (Some(Kind::Message), None),
        (None, Some(name("w1"))),
    ] {
        let post = Post {
            kind,
            to,
            ..reply(id)
        };
        assert_eq!(placed(&hub, post), Some(Kind::Answer));
    }
    let mut two = [reply(id), reply(id)];
    hub.state.place_answers(&mut two);
    let [first, second] = two;
    let answer = (Some(Kind::Answer), Some(project()));
    assert_eq!((first.kind, first.project), answer);
    assert_eq!((second.kind, second.project), (None, None));
    tells(&hub.answer("lead", id).unwrap(), "answer w1!");
    assert_eq!(placed(&hub, reply(id)), None, "what is settled takes none");
}

#[test]
fn a_reply_with_another_type_or_target_answers_nothing() {
    let (mut hub, id) = Hub::with(Kind::Question);
    let approval = hub.say(said("w2", Kind::Approval));
    hub.hook("w3", asks("A or B?"));
    let dialog = hub.open_question(2);
    let changed = |change: fn(&mut Post)| {
        let mut post = reply(id);
        change(&mut post);
        post
    };
    for post in [
        changed(|it| it.kind = Some(Kind::Question)),
        changed(|it| it.data = Some(serde_json::json!({ "type": "error" }))),
        changed(|it| it.to = Some(name("w2"))),
        changed(|it| it.from = Some(name("w1"))),
        changed(|it| it.project = Some("elsewhere".parse().unwrap())),
        reply(approval),
        reply(dialog),
        reply(7_777),
    ] {
        assert_eq!(placed(&hub, post.clone()), post.kind, "{post:?}");
    }
}
