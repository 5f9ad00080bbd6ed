//! The phase of a session as the API shows it: the fold's answer, with the text of the notification that says more.

use std::collections::HashMap;
use std::sync::Arc;

use hub_core::fold::{Session as FoldSession, SessionKey, State as Fold};
use hub_core::line;
use hub_core::rejected::Rejected;
use hub_core::waiters::SharedWaiters;
use hub_log::Log;
use hub_protocol::{Phase, PhaseName, Seq, Timestamp};

use super::{Hub, needs, stored};

/// A phase and the record that holds its text.
pub struct FoundPhase {
    /// The phase, without its text.
    pub phase: Phase,
    report: Option<Seq>,
    /// Whether the session is at work and has reported nothing for a while.
    pub is_silent: bool,
}

impl FoundPhase {
    /// Whether the session has ended.
    pub fn is_gone(&self) -> bool {
        self.phase.name == PhaseName::Gone
    }
}

/// Returns the phase of a session now.
pub fn find(
    state: &Fold,
    waiters: &SharedWaiters,
    place: &SessionKey,
    session: &FoldSession,
) -> FoundPhase {
    let (project, key) = place;
    let now = Timestamp::now();
    let tool = waiters.read().tool(place).cloned();
    let found = state.phase(project, key, session, heard(waiters, place, now), now);
    let says_more = found.name != PhaseName::Gone && found.reason.is_none();
    let report = found.report.filter(|_| says_more);
    let is_open = found.name == PhaseName::NeedsYou;
    let can_close = matches!(found.name, PhaseName::YourTurn | PhaseName::Blocked);
    FoundPhase {
        report: report.map(|id| state.location(id).unwrap_or(id)),
        is_silent: found.is_silent,
        phase: Phase {
            name: found.name,
            since: found.since,
            text: found.reason,
            question: found.report.filter(|_| is_open),
            need: can_close.then(|| needs::id_of(session)),
            until: found.until,
            tool: tool.filter(|_| found.name == PhaseName::Working),
        },
    }
}

/// Returns when the hub last received anything from a session.
pub fn heard(waiters: &SharedWaiters, place: &SessionKey, now: Timestamp) -> Timestamp {
    waiters.read().heard(place, now)
}

/// The texts of the notifications that say more, read once.
#[derive(Debug, Default)]
pub struct PhaseTexts(HashMap<Seq, Option<String>>);

impl PhaseTexts {
    /// Returns the phases with their texts, and forgets the texts of others. A text that the disk lost is left out.
    pub(crate) async fn complete(
        mut self,
        hub: &Hub,
        found: Vec<FoundPhase>,
    ) -> Result<(Vec<Phase>, Self), Rejected> {
        let log = Arc::clone(hub.log());
        let read = tokio::task::spawn_blocking(move || {
            let mut used = HashMap::new();
            let phases = found.into_iter().map(|FoundPhase { phase, report, .. }| {
                let report = report.filter(|_| phase.text.is_none());
                let said = report.and_then(|report| {
                    let known = self.0.remove(&report);
                    let said = known.unwrap_or_else(|| text(&log, report));
                    used.entry(report).or_insert(said).clone()
                });
                let text = phase.text.or(said);
                Phase { text, ..phase }
            });
            (phases.collect(), Self(used))
        });
        read.await.map_err(|_| Rejected::ShuttingDown)
    }
}

/// Returns the phases with the texts of the notifications that say more.
pub async fn with_texts(hub: &Hub, found: Vec<FoundPhase>) -> Result<Vec<Phase>, Rejected> {
    let (phases, _) = PhaseTexts::default().complete(hub, found).await?;
    Ok(phases)
}

/// Returns the text of the notification that is stored at `location`, on one line.
pub fn text(log: &Log, location: Seq) -> Option<String> {
    Some(line::of(&stored::at(log, location)?))
}
