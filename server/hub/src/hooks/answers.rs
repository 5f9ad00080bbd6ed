//! Which answers from the hub an agent used, as far as an event tells.

use hub_core::asked::{dialog_of, request_of};
use hub_core::rejected::Rejected;
use hub_protocol::{Notification, Seq};
use serde_json::Value;

use super::HookRequest;
use crate::stored::notification;

impl HookRequest {
    /// The answers that hooks of the session delivered, each with whether the agent used it, as far as the event tells;
    /// `None` if any next step proves that.
    pub(super) async fn used_answers(&self) -> Result<Option<Vec<(Seq, bool)>>, Rejected> {
        let Some(news) = &self.event.news else {
            return Ok(None);
        };
        let mut used = Vec::new();
        for (id, answer) in self.unproven_answers()? {
            let asked = notification(&self.hub, id).await?;
            let given = notification(&self.hub, answer).await?;
            let told = asked
                .zip(given)
                .and_then(|(asked, given)| news.used(dialog(&asked), &given));
            used.extend(told.map(|it| (answer, it)));
        }
        Ok(Some(used))
    }

    /// The answers that the agent has not used yet as far as the hub knows, each after its question.
    fn unproven_answers(&self) -> Result<Vec<(Seq, Seq)>, Rejected> {
        let event = &self.event;
        let (subagent, dialog) = (event.subagent.as_deref(), event.dialog.as_deref());
        self.hub.read(|state, _| {
            let (project, key) = self.place(state);
            let place = (&project, &key);
            state.questions.unproven_answers(place, subagent, dialog)
        })
    }
}

/// The request or the dialog that a notification asks about.
fn dialog(asked: &Notification) -> &Value {
    let request = request_of(asked).filter(|it| !it.is_null());
    request.unwrap_or_else(|| dialog_of(asked))
}
