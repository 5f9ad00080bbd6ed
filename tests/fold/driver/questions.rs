//! Asks, answers and withdraws, in the fold and in the model.

use hub_protocol::{InboxName, Kind, Priority};
use hubd::core::command::{Command, Draft};
use proptest::sample::Index;

use super::{Driver, Seq, draft};
use crate::action::{Action, Said};

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
                let expected = self.model.withdraw_question(id);
                let by = by.clone();
                self.either(&Command::WithdrawQuestion { id, by }, expected);
            }
            other => unreachable!("{other:?} is done elsewhere"),
        }
    }

    fn answer(&mut self, pick: Index, by: &InboxName, may_approve: bool) {
        let id = self.question(pick);
        let known = self.model.questions.get(&id);
        let said = Said {
            project: known.map(|it| it.project.clone()).unwrap_or_default(),
            from: by.clone(),
            kind: Kind::Answer,
            explicit_kind: true,
            to: None,
            parent: None,
            session: None,
            priority: Priority::Normal,
            key: None,
            hops: 0,
            ttl_ms: 1000,
            quiet: false,
        };
        let draft = Draft {
            reply_to: Some(id),
            may_approve,
            ..draft(&said, self.now)
        };
        self.publish(vec![draft], None);
    }

    /// Picks a known question, open or not; without any, an id that is not a question.
    fn question(&self, pick: Index) -> Seq {
        let ids: Vec<Seq> = self.model.questions.keys().copied().collect();
        *pick.get(&[ids, vec![0]].concat())
    }

    /// Runs a command that the model accepts, or refuses in the same way.
    fn either(&mut self, command: &Command, expected: Result<(), hubd::core::command::Refusal>) {
        match expected {
            Ok(()) => self.must(command),
            Err(refusal) => assert_eq!(self.decide(command), Err(refusal)),
        }
    }
}
