//! A session that an editor runs through the proxy.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::calls::{self, Calls};
use crate::dialog::{Dialog, closed};
use crate::frame::{Frame, words};
use crate::reports::Reports;

/// The activity of the agent in a session.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Activity {
    /// It waits for a prompt.
    #[default]
    None,
    /// A prompt of the editor, or of the hub, waits for the hub's words or is being worked on.
    Of(Prompter),
}

/// The side that began a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prompter {
    /// The person at the editor.
    Editor,
    /// The hub, for notifications.
    Hub,
}

/// A session in the eyes of the proxy.
#[derive(Debug)]
pub(super) struct Carried {
    pub(super) reports: Reports,
    pub(super) turn: Activity,
    /// Whether the agent has shown that it has the prompt.
    accepted: bool,
    /// Whether the editor has cancelled it.
    pub(super) cancelled: bool,
    /// The agent's last message.
    said: String,
    pub(super) calls: Calls,
    /// Its open dialogs; the hub shows the first.
    pub(super) dialogs: VecDeque<Dialog>,
    /// Texts of the hub for the next prompt: about itself, and why the person denied something.
    pub(super) notes: Vec<String>,
    /// Prompts of the editor that wait for the end of the hub's turn.
    pub(super) waiting: VecDeque<Frame>,
    /// Whether the hub may wake it.
    pub(super) idle: watch::Sender<bool>,
}

impl Carried {
    /// A session that has just begun.
    pub(super) fn new(reports: Reports) -> Self {
        Self {
            reports,
            turn: Activity::None,
            accepted: false,
            cancelled: false,
            said: String::new(),
            calls: Calls::default(),
            dialogs: VecDeque::new(),
            notes: Vec::new(),
            waiting: VecDeque::new(),
            idle: watch::channel(true).0,
        }
    }

    /// Notes the beginning of a turn.
    pub(super) fn begin(&mut self, by: Prompter) {
        self.turn = Activity::Of(by);
        self.accepted = false;
        self.cancelled = false;
        self.said.clear();
        self.calls.clear();
        self.idle.send_replace(false);
    }

    /// Takes what the agent tells of its turn.
    pub(super) fn update(&mut self, update: &Value) {
        if self.turn == Activity::None {
            return;
        }
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        if !matches!(
            kind,
            "agent_message_chunk" | "tool_call" | "tool_call_update"
        ) {
            return;
        }
        if !std::mem::replace(&mut self.accepted, true) {
            self.reports
                .tell(json!({ "hook_event_name": "acp.accepted" }));
        }
        if kind == "agent_message_chunk" {
            self.said += update["content"]["text"].as_str().unwrap_or_default();
            return;
        }
        self.said.clear();
        let call = self.calls.merge(update).clone();
        if let Some(event) = calls::event(update, &call, !self.dialogs.is_empty()) {
            self.reports.tell(event);
        }
    }

    /// Reports the end of the turn.
    pub(super) fn stop(&mut self, outcome: Result<&Value, &Value>) {
        self.close_all();
        let text = std::mem::take(&mut self.said);
        let stopped = |reason: &Value| json!({ "hook_event_name": "acp.stopped", "reason": reason, "text": text });
        self.reports.tell(match outcome {
            // Some agents answer a cancelled turn with an error, or as if it had come to its end.
            _ if self.cancelled => stopped(&"cancelled".into()),
            Ok(result) => stopped(&result["stopReason"]),
            Err(error) => json!({ "hook_event_name": "acp.failed", "reason": words(error) }),
        });
        self.turn = Activity::None;
        self.idle.send_replace(true);
    }

    /// Closes the dialog of this request, because somebody else answered it; returns it.
    pub(super) fn close(&mut self, request: &Value, how: Value) -> bool {
        let Some(at) = self.dialogs.iter().position(|it| it.request == *request) else {
            return false;
        };
        if let Some(mut dialog) = self.dialogs.remove(at) {
            dialog.release();
        }
        if at == 0 {
            self.reports.tell(closed(how));
        }
        at == 0
    }

    fn close_all(&mut self) {
        if self.dialogs.is_empty() {
            return;
        }
        for mut dialog in self.dialogs.drain(..) {
            dialog.release();
        }
        self.reports.tell(closed(json!({})));
    }
}

/// How the editor answered a permission: whether it allows it, if it says so.
pub(super) fn decision(asked: &Value, result: &Value) -> Value {
    let chosen = &result["outcome"]["optionId"];
    let options = asked["options"].as_array().into_iter().flatten();
    let chosen = options
        .filter(|it| it["optionId"] == *chosen)
        .find_map(|it| it["kind"].as_str());
    match chosen {
        Some(kind) => json!({ "allowed": kind.starts_with("allow") }),
        None => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_editors_choice_is_an_allowance_a_denial_or_nothing() {
        let asked = json!({"options": [
            {"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"},
        ]});
        let of = |result: Value| decision(&asked, &result);
        assert_eq!(
            of(json!({"outcome": {"outcome": "selected", "optionId": "y"}})),
            json!({"allowed": true})
        );
        assert_eq!(
            of(json!({"outcome": {"outcome": "selected", "optionId": "n"}})),
            json!({"allowed": false})
        );
        assert_eq!(of(json!({"outcome": {"outcome": "cancelled"}})), json!({}));
    }
}
