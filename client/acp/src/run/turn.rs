//! The turns of a session: prompts, one after another, and their ends.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Input, QUIET, Session};
use crate::frame::{notification, words};
use crate::protocol::{cancel, is_steered, prompt, steering};
use crate::reports::{LATER, SOON};

/// Words for the agent.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) words: String,
    /// Whether they are the hub's own, not the person's.
    pub(crate) is_hubs: bool,
}

/// The activity of the agent.
#[derive(Debug, Default)]
pub(super) enum Turn {
    /// It waits for a prompt.
    #[default]
    None,
    /// A prompt waits for the hub's notifications.
    Prepared { cancelled: bool },
    /// It works on the request with this id.
    Runs {
        id: u64,
        /// Whether the agent has shown that it has the prompt.
        accepted: bool,
        cancelled: bool,
    },
    /// It began by itself; it counts as ended at this time, if nothing happens.
    OfItself { until: Instant },
}

impl Turn {
    /// When a turn without an end counts as ended.
    pub(super) fn quiet_until(&self) -> Option<Instant> {
        match self {
            Self::OfItself { until } => Some(*until),
            _ => None,
        }
    }
}

impl Session {
    /// Begins the next prompt if the agent is free, and tells the hub whether it may wake the session.
    pub(super) fn go_on(&mut self) {
        let is_free = matches!(self.turn, Turn::None | Turn::OfItself { .. });
        if is_free && let Some(next) = self.prompts.pop_front() {
            self.rest();
            self.begin(next);
        }
        let is_idle = matches!(self.turn, Turn::None) && self.prompts.is_empty();
        self.idle
            .send_if_modified(|idle| std::mem::replace(idle, is_idle) != is_idle);
    }

    /// Reports a prompt; the hub's answer brings what is pending.
    fn begin(&mut self, Prompt { words, is_hubs }: Prompt) {
        self.turn = Turn::Prepared { cancelled: false };
        let (reports, to_self) = (self.reports.clone(), self.to_self.clone());
        tokio::spawn(async move {
            let (by, patience) = if is_hubs {
                (Some("wake"), LATER)
            } else {
                (None, SOON)
            };
            let event = json!({ "hook_event_name": "acp.prompt", "prompt": words, "by": by });
            let context = reports.context(event, patience).await;
            let _ = to_self.send(Input::Ready { words, context });
        });
    }

    /// Sends the prompt with the hub's words below it.
    pub(super) fn send(&mut self, words: &str, context: String) {
        self.notes.push(context);
        if matches!(self.turn, Turn::Prepared { cancelled: true }) {
            self.stopped("cancelled");
            return;
        }
        self.calls.clear();
        self.said.clear();
        let notes = std::mem::take(&mut self.notes);
        let notes = notes.iter().map(String::as_str);
        let texts: Vec<&str> = [words].into_iter().chain(notes).collect();
        let params = prompt(&self.reports.session, &texts);
        self.turn = Turn::Runs {
            id: self.wire.ask("session/prompt", &params),
            accepted: false,
            cancelled: false,
        };
    }

    /// Notes that the agent works. Its first sign after a prompt proves that the model has the prompt.
    pub(super) fn works(&mut self) {
        match &mut self.turn {
            Turn::Runs { accepted, .. } if !*accepted => {
                *accepted = true;
                self.reports
                    .tell(json!({ "hook_event_name": "acp.accepted" }));
            }
            Turn::OfItself { until } => *until = Instant::now() + QUIET,
            Turn::None if self.launch.begins_turns => {
                self.said.clear();
                self.reports
                    .tell(json!({ "hook_event_name": "acp.prompt", "by": "task" }));
                self.turn = Turn::OfItself {
                    until: Instant::now() + QUIET,
                };
            }
            Turn::None | Turn::Prepared { .. } | Turn::Runs { .. } => {}
        }
    }

    /// Ends a turn that the agent began by itself.
    pub(super) fn rest(&mut self) {
        if matches!(self.turn, Turn::OfItself { .. }) {
            self.stopped("end_turn");
        }
    }

    /// Takes the answer to a request.
    pub(super) fn answered(&mut self, id: &Value, outcome: Result<&Value, &Value>) {
        let steered = id.as_u64().and_then(|id| self.steered.remove(&id));
        if let Some(steered) = steered {
            if !is_steered(outcome) {
                self.prompts.push_front(steered);
            }
            return;
        }
        let Turn::Runs {
            id: of, cancelled, ..
        } = self.turn
        else {
            return;
        };
        if *id != of {
            return;
        }
        match outcome {
            // Some agents answer a cancelled turn with an error, or as if it had come to its end.
            _ if cancelled => self.stopped("cancelled"),
            Ok(result) => self.stopped(result["stopReason"].as_str().unwrap_or("end_turn")),
            Err(error) => {
                let reason = words(error);
                self.views.line(&format!("hub-acp: {reason}"));
                self.close_dialogs();
                self.reports
                    .tell(json!({ "hook_event_name": "acp.failed", "reason": reason }));
                self.turn = Turn::None;
            }
        }
    }

    fn stopped(&mut self, reason: &str) {
        self.close_dialogs();
        let text = std::mem::take(&mut self.said);
        self.views.line(if reason == "cancelled" {
            "(cancelled)"
        } else {
            ""
        });
        let event = json!({ "hook_event_name": "acp.stopped", "reason": reason, "text": text });
        self.reports.tell(event);
        self.turn = Turn::None;
    }

    /// Reports a call of a tool. In a turn that takes more prompts, what is pending goes there.
    pub(super) fn tool(&mut self, mut event: Value) {
        let runs = matches!(self.turn, Turn::Runs { .. });
        if !(self.steers && runs && event["tool"]["ended"] == true) {
            self.reports.tell(event);
            return;
        }
        event["steers"] = true.into();
        let (reports, to_self) = (self.reports.clone(), self.to_self.clone());
        tokio::spawn(async move {
            let context = reports.context(event, LATER).await;
            if !context.is_empty() {
                let _ = to_self.send(Input::Steer(context));
            }
        });
    }

    /// Puts words into the running turn; where that is not possible, they are the next prompt.
    pub(super) fn steer(&mut self, next: Prompt) {
        if self.steers && matches!(self.turn, Turn::Runs { .. }) {
            let params = steering(&self.reports.session, &next.words);
            let id = self.wire.ask("_session/steering", &params);
            self.steered.insert(id, next);
        } else {
            self.prompts.push_back(next);
        }
    }

    /// Cancels the turn; returns false if there is none, or if it is cancelled already.
    pub(super) fn cancel(&mut self) -> bool {
        match &mut self.turn {
            Turn::Prepared { cancelled } | Turn::Runs { cancelled, .. } => {
                if std::mem::replace(cancelled, true) {
                    return false;
                }
            }
            Turn::OfItself { .. } => self.rest(),
            Turn::None => return false,
        }
        // The person's go with the turn. What the hub has given out already is not lost.
        self.prompts.retain(|it| it.is_hubs);
        self.steered.retain(|_, it| it.is_hubs);
        // First: some agents wait for the answer, or never ask again.
        self.cancel_dialogs();
        let cancel = cancel(&self.reports.session);
        self.wire
            .agent
            .send(notification("session/cancel", &cancel));
        true
    }
}
