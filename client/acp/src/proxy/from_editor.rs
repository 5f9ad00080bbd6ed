//! The lines of the editor.

use std::path::Path;

use serde_json::{Value, json};

use super::carried::{Activity, Prompter, decision};
use super::{Awaited, Event, Proxy};
use crate::frame::{Frame, Message, response};
use crate::reports::{Reports, SOON};

impl Proxy {
    /// Takes a line. While a prompt waits for the hub's words, what is behind it waits too.
    pub(super) async fn take_from_editor(&mut self, frame: Frame) {
        if self.prompt.is_some() {
            self.held.push_back(frame);
        } else {
            self.pass_to_agent(frame).await;
        }
    }

    async fn pass_to_agent(&mut self, frame: Frame) {
        match frame.message() {
            Message::Request { id, method, params } if self.is_known => {
                let id = id.to_string();
                match (method, &params["sessionId"]) {
                    ("initialize", _) => drop(self.awaited.insert(id, Awaited::Initialize)),
                    ("session/prompt", Value::String(session)) => {
                        let session = session.clone();
                        return self.prompted(frame, id, session);
                    }
                    ("session/close", Value::String(session)) => {
                        let session = session.clone();
                        self.awaited.insert(id, Awaited::Close { session });
                    }
                    ("session/new" | "session/load" | "session/resume", session) => {
                        let session = session.as_str().map(str::to_owned);
                        let cwd = params["cwd"].as_str().unwrap_or("/").to_owned();
                        // The agent begins meanwhile.
                        self.agent.send(frame.line);
                        return self.begins(id, session, cwd).await;
                    }
                    _ => {}
                }
            }
            Message::Notification {
                method: "session/cancel",
                params,
            } => {
                if let Some(carried) = self.of(params) {
                    carried.cancelled = true;
                }
                self.cancel_waiting(params["sessionId"].as_str().unwrap_or_default());
            }
            Message::Response { id, outcome } => {
                if self.answered.remove(&id.to_string()) {
                    return;
                }
                let (id, result) = (id.clone(), outcome.cloned().unwrap_or_default());
                self.answered_by_editor(&id, &result);
            }
            _ => {}
        }
        self.agent.send(frame.line);
    }

    /// Notes where a session begins, for the agent's answer. The hub knows one that goes on before the hooks of the agent can
    /// wait for it.
    async fn begins(&mut self, id: String, session: Option<String>, cwd: String) {
        let place = self.hub.place("acp", Path::new(&cwd), None).await;
        let place = place
            .with("agent", &self.name)
            .with("shared", true)
            .with("rewake", self.wakes);
        let awaited = match session {
            Some(session) => {
                let reports = Reports::new(&self.hub, &place, (&session, cwd.as_ref()));
                reports.tell(json!({ "hook_event_name": "acp.loaded" }));
                Awaited::Load { reports }
            }
            None => Awaited::New { place, cwd },
        };
        self.awaited.insert(id, awaited);
    }

    /// Reports a prompt of the editor, which is passed on with the hub's words. In a turn of the hub it waits.
    fn prompted(&mut self, frame: Frame, id: String, session: String) {
        let Some(carried) = self.sessions.get_mut(&session) else {
            return self.agent.send(frame.line);
        };
        if carried.turn == Activity::Of(Prompter::Hub) {
            carried.waiting.push_back(frame);
            return;
        }
        carried.begin(Prompter::Editor);
        let Message::Request { params, .. } = frame.message() else {
            return;
        };
        let event = json!({ "hook_event_name": "acp.prompt", "prompt": words(params) });
        self.awaited.insert(
            id,
            Awaited::Prompt {
                session: session.clone(),
            },
        );
        self.prompt = Some(frame);
        let (reports, to_self) = (carried.reports.clone(), self.to_self.clone());
        tokio::spawn(async move {
            let context = reports.context(event, SOON).await;
            let _ = to_self.send(Event::Context { session, context });
        });
    }

    /// Passes the prompt on that waited for the hub's words, and what is behind it.
    pub(super) async fn go_on(&mut self, session: &str, context: &str) {
        let Some(frame) = self.prompt.take() else {
            return;
        };
        let notes = self
            .sessions
            .get_mut(session)
            .map(|it| std::mem::take(&mut it.notes));
        let mut texts = notes.unwrap_or_default();
        texts.extend(Some(context.to_owned()).filter(|it| !it.is_empty()));
        self.agent.send(if texts.is_empty() {
            frame.line
        } else {
            with(&frame, &texts)
        });
        while self.prompt.is_none()
            && let Some(next) = self.held.pop_front()
        {
            Box::pin(self.pass_to_agent(next)).await;
        }
    }

    /// Passes the editor's prompts on that waited for the end of a turn of the hub.
    pub(super) fn release(&mut self, session: &str) {
        let waiting = self
            .sessions
            .get_mut(session)
            .map(|it| std::mem::take(&mut it.waiting));
        for frame in waiting.unwrap_or_default().into_iter().rev() {
            self.held.push_front(frame);
        }
        if self.prompt.is_none()
            && let Some(next) = self.held.pop_front()
            && let Message::Request { id, .. } = next.message()
        {
            let id = id.to_string();
            self.prompted(next, id, session.to_owned());
        }
    }

    /// Cancels the editor's prompts that wait for the end of a turn of the hub.
    pub(super) fn cancel_waiting(&mut self, session: &str) {
        let Some(carried) = self.sessions.get_mut(session) else {
            return;
        };
        for frame in carried.waiting.drain(..) {
            if let Message::Request { id, .. } = frame.message() {
                let cancelled = json!({ "stopReason": "cancelled" });
                let _ = self.to_editor.send(response(id, &cancelled));
            }
        }
    }

    /// Closes the hub's view of a dialog that the editor has answered.
    fn answered_by_editor(&mut self, id: &Value, result: &Value) {
        for (session, carried) in &mut self.sessions {
            let dialog = carried.dialogs.iter().find(|it| it.request == *id);
            let Some(how) = dialog.map(|it| decision(it.asked(), result)) else {
                continue;
            };
            if carried.close(id, how) {
                let session = session.clone();
                self.show(&session);
            }
            return;
        }
    }
}

/// The text of a prompt.
fn words(params: &Value) -> String {
    let blocks = params["prompt"].as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|it| it["text"].as_str()).collect();
    texts.join("\n")
}

/// The line of a prompt with more texts.
fn with(frame: &Frame, texts: &[String]) -> String {
    let Message::Request { params, .. } = frame.message() else {
        return frame.line.clone();
    };
    let mut params = params.clone();
    if let Some(blocks) = params["prompt"].as_array_mut() {
        blocks.extend(texts.iter().map(|it| json!({ "type": "text", "text": it })));
    }
    frame.with_params(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_gets_the_hubs_words_as_blocks_after_its_own() {
        let line = r#"{"jsonrpc":"2.0","id":"a","method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"Hi"}]}}"#;
        let frame = Frame::new(line.into());
        let more = with(&frame, &["news".into()]);
        let wanted = line.replace("\"Hi\"}", "\"Hi\"},{\"type\":\"text\",\"text\":\"news\"}");
        assert_eq!(more, wanted);
        let Message::Request { params, .. } = frame.message() else {
            panic!()
        };
        assert_eq!(words(params), "Hi");
    }
}
