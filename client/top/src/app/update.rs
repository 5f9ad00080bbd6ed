//! The effects of the hub's news.

use hub_protocol::{AnswerDelivery, Need, Notification, Question, Seq, Session, Timestamp};
use serde::Deserialize;

use super::{App, Link};
use crate::store::FirstView;
use crate::text::line;

/// The hub's answer to an answer.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Answered {
    /// A question, with the answer.
    Question(Box<Question>),
    /// The need of the session to which a reply was sent.
    Replied(Box<Need>),
}

/// News of the hub, or the result of a request.
#[derive(Debug)]
pub(crate) enum Update {
    /// The hub is here; this is everything.
    Loaded(Box<FirstView>),
    /// All live sessions.
    Refreshed(Vec<Session>),
    /// What the person has to do.
    Needs(Vec<Need>),
    /// A need with all that it says; `None` if the hub did not give it.
    Whole(String, Option<Box<Need>>),
    Arrived(Box<Notification>),
    /// Why the hub is away, and when it is tried again, by this machine's clock.
    Away(String, Timestamp),
    /// The thread of a notification.
    Thread(Seq, Vec<Notification>),
    /// The result of an answer, or why the hub refused it.
    Answered(String, Result<Answered, String>),
    /// The result of another request in words.
    Said(String),
}

impl App {
    /// Applies an update at `now` of this machine's clock.
    pub(crate) fn apply(&mut self, update: Update, now: Timestamp) {
        match update {
            Update::Loaded(view) => {
                self.store.load(*view, now);
                self.link = Link::Live;
                self.threads.clear();
                self.asked.clear();
                self.forget_settled();
            }
            Update::Refreshed(sessions) => self.store.sessions = sessions,
            Update::Needs(needs) => {
                self.store.set_needs(needs);
                self.forget_settled();
            }
            Update::Whole(id, need) => {
                self.loading.remove(&id);
                if let Some(need) = need {
                    self.store.complete(*need);
                    // Only the brief text of it was drawn.
                    self.read = self.read.take().filter(|it| *it != id);
                }
            }
            Update::Arrived(notification) => {
                if notification.reply_to.is_some() {
                    self.threads.clear();
                    self.asked.clear();
                }
            }
            Update::Away(reason, retry_at) => self.link = Link::Away(reason, retry_at),
            Update::Thread(id, thread) => drop(self.threads.insert(id, thread)),
            Update::Answered(id, result) => self.answered(&id, result),
            Update::Said(text) => self.note = line(&text),
        }
        let now = self.store.hub_time(now);
        self.keep_selection(now);
    }

    fn answered(&mut self, id: &str, result: Result<Answered, String>) {
        match result {
            Ok(answered) => {
                self.outbox.sent(id, None);
                self.drafts.remove(id);
                self.note = match answered {
                    Answered::Question(question) => progress(&question),
                    Answered::Replied(need) => {
                        let name = line(&need.name);
                        format!("Sent: {name} gets it with its next turn")
                    }
                };
                self.store.needs.retain(|it| it.id != id);
            }
            Err(problem) => {
                self.note = format!("Not answered: {}", line(&problem));
                self.outbox.sent(id, Some(problem));
            }
        }
    }

    /// Drops the held answers to needs that were settled elsewhere.
    fn forget_settled(&mut self) {
        let store = &self.store;
        if self.outbox.forget(|id| store.need(id).is_some()) {
            self.note = "It was settled elsewhere: your answer was not sent".into();
        }
    }
}

/// How far an answer has come.
fn progress(question: &Question) -> String {
    let answer = line(question.answer.as_deref().unwrap_or_default());
    let name = question
        .from_name
        .as_deref()
        .unwrap_or(question.from.as_str());
    let way = match question.delivery {
        Some(AnswerDelivery::Terminal) => "but it waits in its own terminal",
        Some(AnswerDelivery::Delivered | AnswerDelivery::Taken) => "the session has it",
        _ => "the session gets it with its next turn",
    };
    format!("{} – {answer}: {way}", line(name))
}
