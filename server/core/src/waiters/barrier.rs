//! Barriers: they decide when a waiter is woken, never which notifications it receives.

use hub_protocol::{BarrierReport, InboxName, Kind, Priority, ProjectName, Seq, WhyWoken};

use crate::fold::{Item, State};

/// The conditions that must hold before a waiter is woken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Barrier {
    /// Sessions or senders that must each be complete, failed or ended.
    pub all: Vec<InboxName>,
    /// Sessions or senders of which at least one must be complete, failed or ended; ignored if empty.
    pub any: Vec<InboxName>,
    /// The number of notifications that must be available.
    pub count: usize,
    /// Only what was reported after this record counts.
    pub since: Seq,
}

impl Barrier {
    /// Returns why the waiter is woken now: the barrier is met, or an urgent item arrived. `None` if it must wait on.
    pub(super) fn verdict<'a, I>(
        &self,
        state: &State,
        project: &ProjectName,
        available: impl Fn() -> I,
    ) -> Option<WhyWoken>
    where
        I: Iterator<Item = &'a Item>,
    {
        if self.is_met(state, project) && available().take(self.count).count() >= self.count {
            return Some(WhyWoken::Barrier);
        }
        let breaker = available().find(|item| breaks(item))?;
        Some(WhyWoken::Arrived {
            id: breaker.seq,
            from: breaker.from.clone(),
            kind: breaker.kind,
        })
    }

    /// Returns whether the barrier was met, and the names of the sessions that are missing.
    pub(super) fn report(
        &self,
        state: &State,
        project: &ProjectName,
        why: &WhyWoken,
    ) -> BarrierReport {
        BarrierReport {
            met: *why == WhyWoken::Barrier,
            missing: self.missing_names(state, project),
        }
    }

    /// Returns the names of the sessions that the barrier still waits for, each once.
    pub(super) fn missing_names(&self, state: &State, project: &ProjectName) -> Vec<InboxName> {
        let missing = self.missing(state, project).into_iter();
        let name = |key: &InboxName| state.sessions.shown_name(project, key).parse();
        let shown = |key: InboxName| name(&key).unwrap_or(key);
        missing.map(shown).collect()
    }

    /// Whether the sessions have stopped. It is asked at each change of a session, for each barrier, and so ends at the
    /// first one that has not.
    fn is_met(&self, state: &State, project: &ProjectName) -> bool {
        let stopped = |session: &InboxName| self.has_stopped(state, project, session);
        self.all.iter().all(stopped) && (self.any.is_empty() || self.any.iter().any(stopped))
    }

    fn has_stopped(&self, state: &State, project: &ProjectName, session: &InboxName) -> bool {
        let finished = state.finished(project, session);
        finished.is_some_and(|seq| seq > self.since)
    }

    /// Returns the sessions that the barrier still waits for, each once.
    fn missing(&self, state: &State, project: &ProjectName) -> Vec<InboxName> {
        let unfinished = |session: &&InboxName| !self.has_stopped(state, project, session);
        let mut missing: Vec<InboxName> = self.all.iter().filter(unfinished).cloned().collect();
        if self.any.iter().all(|session| unfinished(&session)) {
            let any = self.any.iter().filter(|it| !self.all.contains(it));
            missing.extend(any.cloned());
        }
        missing
    }
}

fn breaks(item: &Item) -> bool {
    item.wakes
        && (item.priority == Priority::Urgent
            || matches!(item.kind, Kind::Question | Kind::Approval | Kind::Error))
}
