//! Asks, answers and withdraws, in the fold and in the model.

use hub_core::command::Command;
use hub_core::notification::Draft;
use hub_protocol::{InboxName, Kind};
use proptest::sample::Index;

use super::{Driver, Seq};
use crate::action::{Action, TEXT};

impl Driver {
    pub(super) fn ask(&mut self, action: &Action) {
        match action {
            Action::Answer(pick, by, may_approve) => self.answer(*pick, by, *may_approve),
            Action::Claim(pick, by) => {
                let id = self.question(*pick);
                let expected = self.model.claim(id, by);
                let by = by.clone();
                self.either(&Command::Claim { id, by }, expected);
            }
            Action::WithdrawQuestion(pick, by) => {
                let id = self.question(*pick);
                let expected = self.model.withdraw_question(id, by);
                let by = by.clone();
                self.either(&Command::WithdrawQuestion { id, by }, expected);
            }
            other => self.rule(other),
        }
    }

    fn answer(&mut self, pick: Index, by: &InboxName, may_approve: bool) {
        let id = self.question(pick);
        let known = self.model.questions.get(&id);
        let project = known.map(|it| it.project.clone()).unwrap_or_default();
        let msg = TEXT.to_owned();
        let mut draft = Draft::new((&project, by), Kind::Answer, msg, self.now, 1000);
        draft.body.reply_to = Some(id);
        draft.may_approve = may_approve;
        self.publish(vec![draft], None);
    }

    /// Picks a known question, open or not; without any, an id that is not a question.
    fn question(&self, pick: Index) -> Seq {
        let ids: Vec<Seq> = self.model.questions.keys().copied().collect();
        *pick.get(&[ids, vec![0]].concat())
    }

    /// Runs a command that the model accepts, or refuses in the same way.
    fn either(&mut self, command: &Command, expected: Result<(), hub_core::command::Refusal>) {
        match expected {
            Ok(()) => self.must(command),
            Err(refusal) => assert_eq!(self.decide(command), Err(refusal)),
        }
    }
}
