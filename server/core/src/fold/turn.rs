//! The turn of its sender in which a notification was sent, named by the first record of the turn.

use hub_protocol::{InboxName, ProjectName, Seq, SessionState};

use super::session::{Session, SessionKey};
use super::transaction::Transaction;

/// Whether a report of `next` begins a turn. A session with hooks begins its turns by them.
pub(super) fn begins(
    session: Option<&Session>,
    before: Option<SessionState>,
    next: SessionState,
) -> bool {
    let is_in_turn = matches!(before, Some(SessionState::Working | SessionState::Blocked));
    next == SessionState::Working && !is_in_turn && !session.is_some_and(Session::has_hooks)
}

impl Transaction<'_> {
    /// Begins a turn with the next notification; returns what names it.
    pub(super) fn begin_turn(&mut self, place: SessionKey) -> Seq {
        let turn = self.next_id();
        self.turns.insert(place, turn);
        turn
    }

    /// Notes the state that the next notification reports, and the turn that this begins.
    pub(super) fn report(&mut self, place: SessionKey, state: SessionState) {
        let session = self.state.sessions.get(&place.0, &place.1);
        let before = self.sessions.get(&place).copied();
        let before = before.or_else(|| session?.state);
        if begins(session, before, state) {
            self.begin_turn(place.clone());
        }
        self.sessions.insert(place, state);
    }

    /// Returns the last turn of a session, if it is known.
    pub(super) fn turn_of(&self, project: &ProjectName, key: &InboxName) -> Option<Seq> {
        let begun = self.turns.get(&(project.clone(), key.clone()));
        begun
            .copied()
            .or_else(|| self.state.sessions.get(project, key)?.turn.first)
    }
}
