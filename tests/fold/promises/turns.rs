//! Which notifications are of one turn, and which of one dialog.

use serde_json::Value;

use super::*;

impl Hub {
    /// Returns a field of each notification of the log.
    fn all(&self, field: &str) -> Vec<Value> {
        let notified = |it: &&Record| matches!(it, Record::Notified(_));
        let ids = (1..).zip(&self.log).filter(|(_, it)| notified(it));
        let fields = ids.map(|(id, _)| {
            let json: Value = serde_json::from_str(self.json(id)).unwrap();
            json[field].clone()
        });
        fields.collect()
    }

    /// Returns the turn of each notification of the log, by the order in which they began.
    fn turns(&self) -> Vec<usize> {
        let all = self.all("turn");
        let mut known: Vec<&Value> = Vec::new();
        let mut number = |turn| {
            let at = known.iter().position(|it| *it == turn);
            at.unwrap_or_else(|| {
                known.push(turn);
                known.len() - 1
            })
        };
        all.iter().map(&mut number).collect()
    }

    /// Applies a hook event a minute after the last one.
    fn then(&mut self, event: AgentEvent) {
        self.pass(MINUTE);
        self.hook("w1", event);
    }
}

#[test]
fn the_prompt_the_steps_and_the_stop_are_of_one_turn_and_the_next_prompt_begins_another() {
    let mut hub = Hub::new();
    hub.then(prompt(Person));
    hub.then(asks("Which?"));
    hub.then(AgentEvent::Worked);
    hub.post(said("w1", Kind::Progress));
    hub.then(stop("Shall I?"));
    hub.restart();
    hub.then(prompt(Person));
    hub.then(failed("rate_limit", false));
    hub.then(AgentEvent::Worked);
    hub.then(stop("done"));
    assert_eq!(hub.turns(), [0, 0, 0, 0, 1, 1, 1]);
    assert!(hub.all("turn").iter().all(Value::is_u64));
}

#[test]
fn a_stop_that_no_prompt_began_is_of_a_turn_of_its_own() {
    let mut hub = Hub::new();
    for _ in 0..2 {
        hub.then(AgentEvent::Worked);
        hub.then(stop("done"));
    }
    assert_eq!(hub.turns(), [0, 1]);
}

#[test]
fn the_turns_of_a_sender_without_hooks_begin_when_it_works_again() {
    let mut hub = Hub::new();
    let kinds = [
        Kind::Progress,
        Kind::Question,
        Kind::Progress,
        Kind::Complete,
        Kind::Progress,
        Kind::Progress,
        Kind::Error,
    ];
    for kind in kinds {
        hub.pass(MINUTE);
        let mut draft = said("job", kind);
        (draft.body.ts, draft.tail) = (hub.now, None);
        hub.post(draft);
    }
    assert_eq!(hub.turns(), [0, 0, 0, 0, 1, 1, 1]);
    let mut at_once = Hub::new();
    at_once.run(&notify(
        [Kind::Progress, Kind::Complete]
            .map(|it| said("job", it))
            .into(),
    ));
    assert_eq!(at_once.turns(), [0, 0]);
    assert!(at_once.all("turn").iter().all(Value::is_u64));
}

#[test]
fn a_sender_without_turns_has_none() {
    let mut hub = Hub::new();
    hub.post(said("cron", Kind::Message));
    assert_eq!(hub.all("turn"), [Value::Null]);
}

#[test]
fn a_held_hook_repeats_the_question_of_the_hook_before_it_which_is_then_read() {
    let mut hub = Hub::new();
    hub.hook("w1", asks("Which?"));
    let held = hub.state.head() + 1;
    hub.held_hook("w1", asks("Which?"));
    assert_eq!(hub.all("repeats"), [Value::Null, 1.into()]);
    assert_eq!(
        [1, held].map(|id| hub.state.seen.contains(id)),
        [true, false]
    );
    let mut answer = said("person", Kind::Answer).reply_to(held);
    answer.may_approve = true;
    hub.post(answer);
    assert!(
        hub.state.seen.contains(held),
        "the person who answers it has read it"
    );
}

#[test]
fn a_dialog_after_another_one_repeats_nothing() {
    let mut hub = Hub::new();
    for _ in 0..2 {
        hub.held_hook("w1", asks("Which?"));
    }
    assert_eq!(hub.all("repeats"), [Value::Null, Value::Null]);
}

#[test]
fn a_question_that_a_session_answers_stays_unread() {
    let (mut hub, id) = Hub::with(Kind::Question);
    hub.answer("lead", id).unwrap();
    assert!(!hub.state.seen.contains(id));
}
