//! The person's answers: each is held back for a few seconds, in which it can be undone, and then sent.

use hub_protocol::{Answer, Need, Seq, Timestamp};

/// The time in which an answer can be undone, in ms.
const UNDO_TIME: i64 = 5000;
/// An answer to a held request is sent at least this long before the agent stops waiting, in ms.
const MARGIN: i64 = 1000;

/// An answer that has not been sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Held {
    /// The need that it answers.
    pub(crate) id: String,
    /// The state of the need that it was given to.
    pub(crate) revision: Seq,
    /// The answer as the hub takes it.
    pub(crate) answer: Answer,
    /// When it is sent, by the hub's clock.
    pub(crate) due: Timestamp,
}

/// The answers that are held back or being sent, and the refusals of the last ones.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    held: Vec<Held>,
    sending: Vec<Held>,
    problems: Vec<(String, String)>,
}

impl Outbox {
    /// Holds an answer back. Returns `false` if the need has one already.
    pub(crate) fn hold(&mut self, need: &Need, answer: Answer, now: Timestamp) -> bool {
        let id = &need.id;
        if self.held(id).is_some() || self.is_sending(id) {
            return false;
        }
        let latest = need.until.map(|it| it.plus_millis(-MARGIN));
        let due = now.plus_millis(UNDO_TIME);
        let due = latest.map_or(due, |latest| due.min(latest));
        self.problems.retain(|it| it.0 != *id);
        self.held.push(Held {
            id: id.clone(),
            revision: need.revision,
            answer,
            due,
        });
        true
    }

    /// The answer that is held back.
    pub(crate) fn held(&self, id: &str) -> Option<&Held> {
        self.held.iter().find(|it| it.id == id)
    }

    /// Whether an answer is being sent.
    pub(crate) fn is_sending(&self, id: &str) -> bool {
        self.sending.iter().any(|it| it.id == id)
    }

    /// The answers that are being sent.
    pub(crate) fn sending(&self) -> &[Held] {
        &self.sending
    }

    /// The refusal of the last answer.
    pub(crate) fn problem(&self, id: &str) -> Option<&str> {
        let found = self.problems.iter().find(|it| it.0 == id);
        found.map(|(_, text)| text.as_str())
    }

    /// Takes the newest held answer back.
    pub(crate) fn undo(&mut self) -> Option<Held> {
        self.held.pop()
    }

    /// Returns the answers that are due at `now`, to be sent.
    pub(crate) fn due(&mut self, now: Timestamp) -> Vec<Held> {
        self.release(|it| it.due <= now)
    }

    /// Returns the held answer to one need, to be sent at once.
    pub(crate) fn send(&mut self, id: &str) -> Vec<Held> {
        self.release(|it| it.id == id)
    }

    /// Returns all held answers, to be sent at once.
    pub(crate) fn flush(&mut self) -> Vec<Held> {
        self.release(|_| true)
    }

    /// Notes the result of sending an answer.
    pub(crate) fn sent(&mut self, id: &str, problem: Option<String>) {
        self.sending.retain(|it| it.id != id);
        self.problems.extend(problem.map(|it| (id.to_owned(), it)));
    }

    /// Drops the held answer to a need that was settled elsewhere. Returns whether there was one.
    pub(crate) fn forget(&mut self, is_open: impl Fn(&str) -> bool) -> bool {
        let before = self.held.len();
        self.held.retain(|it| is_open(&it.id));
        self.problems.retain(|it| is_open(&it.0));
        self.held.len() < before
    }

    fn release(&mut self, is_released: impl Fn(&Held) -> bool) -> Vec<Held> {
        let (released, kept) = self.held.drain(..).partition(is_released);
        self.held = kept;
        let released: Vec<Held> = released;
        self.sending.extend_from_slice(&released);
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixture::at;

    fn question(id: Seq, until: Option<Timestamp>) -> Need {
        Need {
            id: id.to_string(),
            until,
            ..Need::default()
        }
    }

    fn say(text: &str) -> Answer {
        Answer::Reply(text.into())
    }

    #[test]
    fn an_answer_is_sent_after_five_seconds_unless_it_is_undone() {
        let mut outbox = Outbox::default();
        assert!(outbox.hold(&question(1, None), say("a"), at(100)));
        assert!(
            !outbox.hold(&question(1, None), say("b"), at(101)),
            "it has one"
        );
        assert!(outbox.hold(&question(2, None), say("c"), at(101)));
        assert_eq!(outbox.undo().map(|it| it.id), Some("2".into()));
        assert_eq!(outbox.due(at(104)), []);
        assert_eq!(outbox.due(at(105))[0].answer.to_string(), "a");
        assert!(outbox.is_sending("1") && !outbox.hold(&question(1, None), say("d"), at(106)));
        outbox.sent("1", Some("refused".into()));
        assert_eq!(outbox.problem("1"), Some("refused"));
    }

    #[test]
    fn an_answer_is_sent_before_the_agent_stops_waiting() {
        let mut outbox = Outbox::default();
        outbox.hold(&question(1, Some(at(103))), say("a"), at(100));
        assert_eq!(outbox.due(at(101)), []);
        assert_eq!(outbox.due(at(102)).len(), 1);
    }

    #[test]
    fn the_answer_to_a_question_that_was_settled_elsewhere_is_dropped() {
        let mut outbox = Outbox::default();
        outbox.hold(&question(1, None), say("a"), at(100));
        assert!(!outbox.forget(|_| true));
        assert!(outbox.forget(|_| false));
        assert_eq!(outbox.due(at(200)), []);
    }
}
