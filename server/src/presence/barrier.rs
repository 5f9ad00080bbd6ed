//! Barriers: they decide when a waiter is woken, never what it gets.

use hub_protocol::{
    BarrierReport, InboxName, Kind, Priority, ProjectName, Seq, SessionState, WhyWoken,
};

use crate::state::{Item, State};

/// What a waiter waits for before it is woken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Barrier {
    /// Each of these sessions is complete, failed or over.
    pub all: Vec<InboxName>,
    /// At least this many notifications are there.
    pub count: usize,
    /// Only what a session said after this counts.
    pub since: Seq,
}

impl Barrier {
    /// Why the waiter is woken now, if it is: the barrier is met, or something came that cannot wait.
    pub(super) fn verdict<'a, I>(
        &self,
        state: &State,
        project: &ProjectName,
        available: impl Fn() -> I,
    ) -> Option<WhyWoken>
    where
        I: Iterator<Item = &'a Item>,
    {
        if self.missing(state, project).is_empty()
            && available().take(self.count).count() >= self.count
        {
            return Some(WhyWoken::Barrier);
        }
        let breaker = available().find(|item| breaks(item))?;
        Some(WhyWoken::Arrived {
            id: breaker.seq,
            from: breaker.from.clone(),
            kind: breaker.kind,
        })
    }

    /// What became of it.
    pub(super) fn report(
        &self,
        state: &State,
        project: &ProjectName,
        why: &WhyWoken,
    ) -> BarrierReport {
        BarrierReport {
            met: *why == WhyWoken::Barrier,
            missing: self.missing(state, project),
        }
    }

    fn missing(&self, state: &State, project: &ProjectName) -> Vec<InboxName> {
        let unfinished = |session: &&InboxName| match state.session_state(project, session) {
            Some((SessionState::Complete | SessionState::Error | SessionState::Ended, seq)) => {
                seq <= self.since
            }
            _ => true,
        };
        self.all.iter().filter(unfinished).cloned().collect()
    }
}

fn breaks(item: &Item) -> bool {
    item.wakes
        && (item.priority == Priority::Urgent
            || matches!(item.kind, Kind::Question | Kind::Approval | Kind::Error))
}
