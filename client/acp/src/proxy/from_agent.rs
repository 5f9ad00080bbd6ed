//! The lines of the agent.

use std::sync::Arc;

use hubctl::{Connection, Path};
use serde_json::{Value, json};

use super::carried::Carried;
use super::{Awaited, Event, Proxy};
use crate::dialog::{self, Dialog};
use crate::frame::{Frame, Message, notification, response};
use crate::protocol::{VERSION, is_known};
use crate::reports::Reports;

/// Tells the person something urgent, in place of an earlier message about the same.
async fn warn(hub: Arc<Connection>, why: String) {
    let post = json!({
        "from": "hub-acp", "to": "person", "type": "message", "priority": "urgent", "key": "acp version", "msg": why,
    });
    if let Err(error) = hub.post::<Value>(Path::new("/notify"), &post).await {
        eprintln!("hub-acp: {error}");
    }
}

impl Proxy {
    /// Takes a line: the editor gets it as it is, unless it answers a prompt of the hub.
    pub(super) fn take_from_agent(&mut self, frame: Frame) {
        let mut begun = None;
        match frame.message() {
            _ if !self.is_known => {}
            Message::Response { id, outcome } => {
                if self.ends_own(id, outcome) {
                    return;
                }
                begun = self.answered_by_agent(&id.to_string(), outcome);
            }
            Message::Notification {
                method: "session/update",
                params,
            } => {
                if let Some(carried) = self.of(params) {
                    carried.update(&params["update"]);
                }
            }
            Message::Notification {
                method: "$/cancel_request",
                params,
            } => self.withdrawn(&params["requestId"]),
            Message::Request { id, method, params } => self.asks(id, method, params),
            Message::Notification { .. } | Message::Other => {}
        }
        // An editor may drop what precedes the answer that names a session, so nothing is reordered.
        let _ = self.to_editor.send(frame.line);
        if let Some((session, carried)) = begun {
            self.follow(session, carried);
        }
    }

    pub(super) fn of(&mut self, params: &Value) -> Option<&mut Carried> {
        self.sessions.get_mut(params["sessionId"].as_str()?)
    }

    /// Takes the answer to a request of the editor; returns the session that begins with it.
    fn answered_by_agent(
        &mut self,
        id: &str,
        outcome: Result<&Value, &Value>,
    ) -> Option<(String, Carried)> {
        match (self.awaited.remove(id)?, outcome) {
            (Awaited::Initialize, Ok(result)) => self.negotiated(&result["protocolVersion"]),
            (Awaited::New { place, cwd }, Ok(result)) => {
                let session = result["sessionId"].as_str()?.to_owned();
                let reports = Reports::new(&self.hub, &place, (&session, cwd.as_ref()));
                reports.tell(json!({ "hook_event_name": "acp.started" }));
                return Some((session, Carried::new(reports)));
            }
            (Awaited::Load { reports }, Ok(_)) => {
                return Some((reports.session.clone(), Carried::new(reports)));
            }
            (Awaited::Load { reports }, Err(_)) => {
                reports.tell(json!({ "hook_event_name": "acp.ended" }));
            }
            // Some agents refuse a second prompt in a turn, or end the first one for it.
            (Awaited::Prompt { session }, _) if self.awaits_answer(&session) => {}
            (Awaited::Prompt { session }, outcome) => {
                if let Some(carried) = self.sessions.get_mut(&session) {
                    carried.stop(outcome);
                }
            }
            (Awaited::Close { session }, Ok(_)) => self.close(&session),
            (_, Err(_)) => {}
        }
        None
    }

    /// Whether a prompt of this session has no answer yet.
    fn awaits_answer(&self, session: &str) -> bool {
        let mut awaited = self.awaited.values();
        awaited.any(|it| matches!(it, Awaited::Prompt { session: of } if of == session))
    }

    /// Ends a session that the editor has closed.
    fn close(&mut self, session: &str) {
        self.cancel_waiting(session);
        let Some(mut carried) = self.sessions.remove(session) else {
            return;
        };
        carried.dialogs.iter_mut().for_each(Dialog::release);
        carried
            .reports
            .tell(json!({ "hook_event_name": "acp.ended" }));
    }

    /// Notes the version of the protocol that both have agreed on.
    fn negotiated(&mut self, version: &Value) {
        self.is_known = is_known(version);
        if self.is_known {
            return;
        }
        let why = format!(
            "the editor and {} speak version {version} of the Agent Client Protocol, and this proxy knows version {VERSION}: \
             the hub sees of their sessions only what the agent's hooks report",
            self.name
        );
        eprintln!("hub-acp: {why}");
        tokio::spawn(warn(Arc::clone(&self.hub), why));
    }

    /// Follows a session from now on.
    fn follow(&mut self, session: String, carried: Carried) {
        if self.wakes {
            self.poll(&session, &carried);
        }
        if let Some(mut before) = self.sessions.insert(session, carried) {
            before.dialogs.iter_mut().for_each(Dialog::release);
        }
    }

    /// Shows a dialog of the agent in the hub too.
    fn asks(&mut self, id: &Value, method: &str, params: &Value) {
        if !dialog::opens(method, params) {
            return;
        }
        self.numbers += 1;
        let number = self.numbers;
        let Some(carried) = self.of(params) else {
            return;
        };
        let asked = carried.calls.asked(params);
        carried.dialogs.push_back(Dialog::new(id, number, asked));
        if carried.dialogs.len() == 1
            && let Some(session) = params["sessionId"].as_str()
        {
            self.show(session);
        }
    }

    /// Shows the first of a session's dialogs in the hub.
    pub(super) fn show(&mut self, session: &str) {
        let Some(carried) = self.sessions.get_mut(session) else {
            return;
        };
        let Some(dialog) = carried.dialogs.front_mut() else {
            return;
        };
        let (to_self, session, number) = (self.to_self.clone(), session.to_owned(), dialog.number);
        let answered = move |answer| {
            let _ = to_self.send(Event::Decided {
                session,
                number,
                answer,
            });
        };
        dialog.hold = Some(carried.reports.hold(dialog.event(), answered));
    }

    /// Gives the agent the hub's answer to a dialog, and tells the editor that it need not answer any more.
    pub(super) fn decide(&mut self, session: &str, number: u64, answer: &Value) {
        let Some(carried) = self.sessions.get_mut(session) else {
            return;
        };
        let is_it = |it: &&mut Dialog| it.number == number;
        let Some(dialog) = carried.dialogs.front_mut().filter(is_it) else {
            return;
        };
        let (request, outcome) = (dialog.request.clone(), dialog.outcome(answer));
        carried.notes.extend(outcome.reason);
        carried.dialogs.pop_front();
        carried.reports.tell(outcome.closed);
        self.agent.send(response(&request, &outcome.result));
        self.answered.insert(request.to_string());
        let params = json!({ "requestId": request });
        let _ = self
            .to_editor
            .send(notification("$/cancel_request", &params));
        self.show(session);
    }

    /// Closes the hub's view of a dialog that the agent has withdrawn.
    fn withdrawn(&mut self, request: &Value) {
        let sessions: Vec<String> = self.sessions.keys().cloned().collect();
        for session in sessions {
            let carried = self.sessions.get_mut(&session);
            if carried.is_some_and(|it| it.close(request, json!({}))) {
                self.show(&session);
            }
        }
    }
}
