//! Agents' hook events, and shown notifications, in the fold and in the model.

use hub_core::command::{AgentEvent, Command, Hook};
use hub_protocol::{InboxName, ProjectName, Way};

use super::{Driver, pending};
use crate::action::Action;

impl Driver {
    pub(super) fn agents(&mut self, action: &Action) {
        match action {
            Action::Hook(id, happened) => self.hook(id, happened),
            Action::Show(inbox, way) => self.show(inbox, *way),
            other => self.listen(other),
        }
    }

    fn hook(&mut self, id: &InboxName, happened: &AgentEvent) {
        let key = (ProjectName::default(), id.clone());
        let next = self.state.head() + 1;
        // The person has this agent in view, also when it stops.
        let watched = id.as_str() == "w2";
        let told = self.model.hook(next, &key, happened, watched, self.now);
        self.must(&Command::Hook(Box::new(Hook {
            watched,
            ..crate::hook(id, happened.clone())
        })));
        if told {
            let head = self.state.head();
            self.model
                .sessions
                .entry(key)
                .and_modify(|it| it.seq = head);
        }
    }

    /// The reader of a session shows what it leased.
    fn show(&mut self, inbox: &InboxName, way: Way) {
        let key = (ProjectName::default(), inbox.clone());
        let mut ids = self.release(&key.0, inbox);
        ids.retain(|id| {
            let items = pending(&self.state, &key.0, inbox);
            items.iter().any(|item| item.seq == *id)
        });
        if !self.model.show(&key, &ids, way, self.now) {
            let acked = ids.iter().map(|id| (key.0.clone(), inbox.clone(), *id));
            self.unanswered_acks.extend(acked);
        }
        self.must(&Command::Ack {
            shown: Some((inbox.clone(), way)),
            project: key.0,
            items: vec![(inbox.clone(), ids)],
            by: None,
        });
    }
}
