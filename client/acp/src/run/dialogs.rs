//! The dialogs of a session. Several may be open; the hub and the terminals show the first, and the first answer wins.

use serde_json::{Value, json};

use super::turn::Prompt;
use super::{Input, Session};
use crate::dialog::{Dialog, Typed, closed};
use crate::frame::response;

impl Session {
    /// Opens a dialog for a request of the agent.
    pub(super) fn open(&mut self, request: &Value, params: &Value) {
        let asked = self.calls.asked(params);
        self.numbers += 1;
        self.dialogs
            .push_back(Dialog::new(request, self.numbers, asked));
        if self.dialogs.len() == 1 {
            self.show();
        }
    }

    /// Shows the first of the open dialogs.
    fn show(&mut self) {
        let Some(dialog) = self.dialogs.front_mut() else {
            return;
        };
        self.views.line(&dialog.shown());
        let (to_self, number) = (self.to_self.clone(), dialog.number);
        let answered = move |answer| {
            let _ = to_self.send(Input::Decided { number, answer });
        };
        dialog.hold = Some(self.reports.hold(dialog.event(), answered));
    }

    /// Takes an answer that was given in the hub. It is too late for a dialog that was closed.
    pub(super) fn decide(&mut self, number: u64, answer: &Value) {
        if self.dialogs.front().is_some_and(|it| it.number == number) {
            self.settle(answer);
        }
    }

    /// Takes words typed in a terminal as the answer to the open dialog; returns them if there is none.
    pub(super) fn reply<'a>(&mut self, words: &'a str) -> Option<&'a str> {
        let Some(dialog) = self.dialogs.front_mut() else {
            return Some(words);
        };
        match dialog.read(words) {
            Typed::Answer(answer) => self.settle(&answer),
            Typed::More(what) => self.views.line(&what),
        }
        None
    }

    /// Gives the agent the answer to the first dialog, and shows the next one.
    fn settle(&mut self, answer: &Value) {
        let Some(mut dialog) = self.dialogs.pop_front() else {
            return;
        };
        dialog.release();
        let outcome = dialog.outcome(answer);
        self.wire
            .agent
            .send(response(&dialog.request, &outcome.result));
        self.reports.tell(outcome.closed);
        self.views.line(&format!("  {}", outcome.words));
        if let Some(reason) = outcome.reason {
            self.steer(Prompt {
                words: reason,
                is_hubs: false,
            });
        }
        self.show();
    }

    /// Closes a dialog that the agent has withdrawn.
    pub(super) fn withdrawn(&mut self, request: &Value) {
        let Some(at) = self.dialogs.iter().position(|it| it.request == *request) else {
            return;
        };
        if let Some(mut dialog) = self.dialogs.remove(at) {
            dialog.release();
            self.wire.agent.send(crate::frame::failure(
                request,
                super::requests::CANCELLED,
                "cancelled",
            ));
        }
        if at == 0 {
            self.reports.tell(closed(json!({})));
            self.show();
        }
    }

    /// Answers the open dialogs of a turn that is to be cancelled.
    pub(super) fn cancel_dialogs(&mut self) {
        for dialog in &self.dialogs {
            self.wire
                .agent
                .send(response(&dialog.request, &dialog.cancelled()));
        }
        self.close_dialogs();
    }

    /// Forgets the dialogs of a turn that has ended.
    pub(super) fn close_dialogs(&mut self) {
        if self.dialogs.is_empty() {
            return;
        }
        for mut dialog in self.dialogs.drain(..) {
            dialog.release();
        }
        self.reports.tell(closed(json!({})));
    }
}
