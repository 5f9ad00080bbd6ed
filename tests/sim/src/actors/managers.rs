//! People and programs that withdraw, close, reset and mark.

use hub_core::command::Command;
use hub_protocol::Seq;

use super::{inbox, project, sender};
use crate::world::{World, tell};

impl World {
    /// A manager changes the pending notifications.
    pub(crate) fn manage(&mut self) {
        if self.process.is_none() {
            return;
        }
        let head = self.oracle.state.head();
        let rng = &mut self.rng;
        let (project, inbox, sender) = (project(rng), inbox(rng), sender(rng));
        let mut numbers = || -> Vec<Seq> { (0..3).map(|_| rng.between(1, head.max(1))).collect() };
        let ids = numbers();
        let command = match self.rng.below(20) {
            0..6 => Command::Withdraw { ids },
            6..9 => Command::WithdrawKey {
                project,
                from: self.rng.chance(50).then_some(sender),
                key: (*self.rng.pick(&["build", "status"])).into(),
            },
            9..16 => Command::Seen {
                ids,
                ranges: Vec::new(),
                seen: self.rng.chance(70),
            },
            16..18 => Command::CloseInbox { project, inbox },
            18 => Command::WithdrawQuestion {
                id: ids[0],
                by: sender,
            },
            _ => Command::Reset {
                project,
                history: self.rng.chance(50),
            },
        };
        tell!(self, "{command:?}");
        self.send(command);
    }
}
