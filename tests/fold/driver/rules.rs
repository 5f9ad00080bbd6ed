//! Rules in the fold and in the model.

use hub_core::command::{Command, Refusal, RuleCommand};
use hub_core::rule::{self, RuleSet};
use hub_protocol::{InboxName, PhaseName, ProjectName};

use super::Driver;
use crate::action::Action;

/// The rules that [`crate::model::Model::fire`] knows.
pub(super) fn rules() -> RuleSet {
    let text = r#"
        [[on]]
        name = "mute"
        type = ["error"]
        from = ["w2"]
        mute = true
        [[on]]
        name = "notify"
        type = ["testing"]
        cooldown = "10s"
        notify = { to = "person", msg = "{from}: {msg}" }
        [[on]]
        name = "escalate"
        type = ["question", "complete"]
        from = ["w1"]
        cooldown = "0s"
        escalate = "5s"
        [[on]]
        name = "lasting"
        phase = ["working"]
        for = "1h"
        notify = { to = "person", msg = "{from} is {msg}" }
        run = ["true"]
    "#;
    rule::parse(text).unwrap()
}

impl Driver {
    pub(super) fn rule(&mut self, action: &Action) {
        match action {
            Action::Lasted(session, ago) => self.lasted(session, *ago),
            Action::StartProgram => {
                let oldest = self
                    .state
                    .rules
                    .open_runs()
                    .next()
                    .map(|(firing, _)| firing);
                if let Some(firing) = oldest {
                    self.model.runs.remove(0);
                    self.must(&Command::Rule(RuleCommand::Start(firing)));
                }
                // It starts only once.
                let firing = oldest.unwrap_or(0);
                let again = self.decide(&Command::Rule(RuleCommand::Start(firing)));
                assert_eq!(again, Err(Refusal::UnknownId(firing)));
            }
            other => unreachable!("{other:?} is done elsewhere"),
        }
    }

    fn lasted(&mut self, session: &InboxName, ago: i64) {
        let project = ProjectName::default();
        let since = self.now.plus_millis(-ago);
        let key = (project.clone(), session.clone());
        self.model.lasted(self.state.head(), &key, since, self.now);
        self.must(&Command::Rule(RuleCommand::Lasted {
            rule: "lasting".into(),
            project,
            session: session.clone(),
            phase: PhaseName::Working,
            since,
        }));
    }
}
