//! The reports of records about a session: its state, its turn, its end, and that the person closed what it needs.

use hub_protocol::{InboxName, Kind, ProjectName, Seq, Timestamp};

use super::session::{Session, SessionKey};
use super::sessions::Sessions;
use crate::command::Refusal;
use crate::notification::HOOK_KEYS;
use crate::record::{NeedClosed, Record, Route, SessionEnded, Target, Turn, TurnNoted};

/// The record that the hub lets a session go on when its limit ends, or not.
pub(super) fn resumes(
    (project, session): (&ProjectName, &InboxName),
    on: bool,
    at: Timestamp,
) -> Record {
    Record::TurnNoted(TurnNoted {
        project: project.clone(),
        session: session.clone(),
        turn: Turn::Resumes { on },
        evidence: String::new(),
        at,
    })
}

impl Sessions {
    /// Applies the state of a session that a notification reports, if it reports one.
    pub(super) fn note_report(&mut self, seq: Seq, route: &Route) {
        let Some((name, state)) = &route.session else {
            return;
        };
        let evidence = format!("notify {}", route.kind);
        self.change(&route.project, name, seq, |session| {
            // A text that a hook derives from a turn does not replace the session's own words about its end.
            let key = route.key.as_deref();
            let is_word = !key.is_some_and(|it| it.starts_with(HOOK_KEYS));
            // Its last words are those of the stop before, if it only waited for workers.
            let is_later = !is_word && session.waits_for_workers();
            session.note_state(*state, seq, route.ts, &evidence, is_word);
            if is_later {
                return;
            }
            session.last = Some(seq);
            if !matches!(route.kind, Kind::Question | Kind::Approval) {
                session.spoke = Some(seq);
            }
        });
    }

    /// Applies what hooks reported about a session's turn.
    pub(super) fn note_turn(&mut self, seq: Seq, it: &TurnNoted) {
        let note = |session: &mut Session| {
            session.note_turn(seq, &it.turn, &it.evidence, it.at);
        };
        self.change(&it.project, &it.session, seq, note);
    }

    /// Applies the end of a session.
    pub(super) fn end(&mut self, seq: Seq, it: &SessionEnded) {
        let end = |session: &mut Session| session.end(it.at, !it.ended);
        self.change(&it.project, &it.session, seq, end);
    }

    /// Closes what a session needs of the person. Refuses it if the session has reported another state since `of`.
    pub(super) fn decide_close_need(
        &self,
        (project, key): &SessionKey,
        of: Seq,
        until: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let session = self.get(project, key);
        session
            .filter(|it| it.seq == of)
            .ok_or(Refusal::NeedChanged)?;
        let (project, session) = (project.clone(), key.clone());
        Ok(vec![Record::NeedClosed(NeedClosed {
            project,
            session,
            until,
            at,
        })])
    }

    /// Decides whether the hub lets a session go on when its limit ends. Refuses it if the session is no longer blocked by it.
    pub(super) fn decide_resume(
        &self,
        (project, key): &SessionKey,
        (of, on): (Seq, bool),
        at: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let session = self.get(project, key).filter(|it| it.seq == of);
        let (_, known) = session
            .and_then(Session::resume)
            .ok_or(Refusal::NeedChanged)?;
        let record = (known != on).then(|| resumes((project, key), on, at));
        Ok(record.into_iter().collect())
    }

    /// Applies the person's end of what a session needs.
    pub(super) fn close_need(&mut self, seq: Seq, it: &NeedClosed) {
        let close = |session: &mut Session| session.close_need(it.at, it.until);
        self.change(&it.project, &it.session, seq, close);
    }

    /// Closes what the stopped readers of the person's notification need: the person has replied.
    pub(super) fn close_turns(&mut self, seq: Seq, route: &Route) {
        for Target { inbox, .. } in &route.targets {
            let session = self.get(&route.project, inbox);
            if session.is_some_and(Session::waits_for_prompt) {
                let close = |session: &mut Session| session.close_need(route.ts, None);
                self.change(&route.project, inbox, seq, close);
            }
        }
    }
}
