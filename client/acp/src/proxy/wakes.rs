//! Turns that the hub begins through the proxy (`--wake`). The editor sees their updates; it gets no answer to a prompt that it
//! did not send, because some editors would take it for the end of their own.

use serde_json::{Value, json};

use super::carried::{Activity, Carried, Prompter};
use super::{Awaited, Event, Proxy};
use crate::frame::request;
use crate::protocol::prompt;
use crate::reports::LATER;

/// The beginning of the ids of the hub's own prompts.
const OWN: &str = "hub-";

impl Proxy {
    /// Polls for notifications while the session is idle.
    pub(super) fn poll(&self, session: &str, carried: &Carried) {
        let (to_self, session) = (self.to_self.clone(), session.to_owned());
        let woken = move |prompt| {
            let session = session.clone();
            to_self.send(Event::Woken { session, prompt }).is_ok()
        };
        let idle = carried.idle.subscribe();
        tokio::spawn(carried.reports.clone().poll(idle, woken));
    }

    /// Begins a turn for notifications. If the editor has begun one meanwhile, the hub offers them again.
    pub(super) fn wake(&mut self, session: &str, prompt: String) {
        let Some(carried) = self.sessions.get_mut(session) else {
            return;
        };
        if carried.turn != Activity::None {
            return;
        }
        carried.begin(Prompter::Hub);
        let (reports, to_self, session) = (
            carried.reports.clone(),
            self.to_self.clone(),
            session.to_owned(),
        );
        tokio::spawn(async move {
            let event = json!({ "hook_event_name": "acp.prompt", "prompt": prompt });
            let context = reports.context(event, LATER).await;
            let _ = to_self.send(Event::Ready {
                session,
                prompt,
                context,
            });
        });
    }

    /// Sends the hub's own prompt.
    pub(super) fn send_own(&mut self, session: &str, words: &str, context: &str) {
        self.numbers += 1;
        let id = format!("{OWN}{}", self.numbers);
        let params = prompt(session, &[words, context]);
        let session = session.to_owned();
        self.awaited.insert(
            Value::from(id.as_str()).to_string(),
            Awaited::Prompt { session },
        );
        self.agent.send(request(id, "session/prompt", &params));
    }

    /// Takes the answer to the hub's own prompt; returns whether it was one.
    pub(super) fn ends_own(&mut self, id: &Value, outcome: Result<&Value, &Value>) -> bool {
        if !id.as_str().is_some_and(|it| it.starts_with(OWN)) {
            return false;
        }
        let Some(Awaited::Prompt { session }) = self.awaited.remove(&id.to_string()) else {
            return true;
        };
        if let Some(carried) = self.sessions.get_mut(&session) {
            carried.stop(outcome);
            self.release(&session);
        }
        true
    }
}
