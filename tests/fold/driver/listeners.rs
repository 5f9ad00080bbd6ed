//! Listens and stops to listen, in the fold and in the model.

use hub_core::command::{Command, Refusal};

use super::Driver;
use crate::action::Action;

impl Driver {
    pub(super) fn listen(&mut self, action: &Action) {
        match action {
            Action::Listen {
                pair,
                within_ms,
                fresh,
            } => {
                let (project, target, caller) = pair.clone();
                let command = Command::Listen {
                    project,
                    target,
                    caller,
                    within_ms: *within_ms,
                    fresh: *fresh,
                };
                let head = self.state.head();
                if self.model.listen(head, pair, *within_ms, *fresh, self.now) {
                    self.must(&command);
                } else {
                    let refusal = self.decide(&command).unwrap_err();
                    let known = matches!(
                        refusal,
                        Refusal::OwnListener | Refusal::UnknownSession { .. }
                    );
                    assert!(known, "{refusal}");
                }
            }
            Action::Unlisten(pair) => {
                let (project, target, caller) = pair.clone();
                self.model.listeners.remove(pair);
                self.must(&Command::Unlisten {
                    project,
                    target,
                    caller,
                });
            }
            other => self.ask(other),
        }
    }
}
