//! The room that sessions take: how many may be alive, and how large their registrations are.

use hub_protocol::{SessionInfo, Timestamp};

use super::State;
use super::session::{Session, SessionKey, merge};
use crate::command::Refusal;
use crate::record::{InboxClosed, Record, SessionEnded, SessionSet};

/// The most registered sessions that are alive.
const MAX_ALIVE: usize = 1_000;
/// How long a live session must have been silent before it makes room for a new one, in milliseconds. Only a session
/// whose process nobody watches is silent for so long without an end; its next prompt would make it live again.
const SILENT_MS: i64 = 7 * 24 * 3600 * 1000;
/// The most bytes of one session's registration, as JSON.
const MAX_SIZE: usize = 32 * 1024;
/// The most bytes of all registrations. Every snapshot holds them all.
const MAX_SIZES: usize = 16 << 20;

/// Returns the bytes of a registration, as JSON.
pub(super) fn size_of(info: &SessionInfo) -> usize {
    serde_json::to_string(info).map_or(0, |json| json.len())
}

fn lives(session: &Session) -> bool {
    session.is_alive() && session.registered.is_some()
}

impl State {
    /// Returns a session's record, after those that make room for it. Fails if there is no room.
    pub(super) fn with_room(
        &self,
        record: Option<Record>,
        at: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let Some(Record::SessionSet(set)) = &record else {
            return Ok(record.into_iter().collect());
        };
        let mut records = self.ended_for(set, at)?;
        let forgotten = self.forgotten_for(set)?.into_iter();
        records.extend(
            forgotten
                .map(|(project, inbox)| Record::InboxClosed(InboxClosed { project, inbox, at })),
        );
        records.extend(record);
        Ok(records)
    }

    /// Returns the records that end the live session that was silent for longest, if a registration needs its place.
    fn ended_for(&self, set: &SessionSet, at: Timestamp) -> Result<Vec<Record>, Refusal> {
        let known = self.sessions.get(&set.project, &set.session);
        if known.is_some_and(lives) || self.sessions.count_alive() < MAX_ALIVE {
            return Ok(Vec::new());
        }
        let before = at.plus_millis(-SILENT_MS);
        let is_over = |place: &SessionKey, it: &Session| {
            let mut asked = self.questions.of(&place.0, &place.1);
            lives(it) && !self.inboxes.holds_mail(&place.0, &place.1) && asked.next().is_none()
        };
        // A session that had news lately has none before it in this order that could make room.
        let silent = self.sessions.silent_for_longest();
        let mut silent = silent.take_while(|(_, it)| it.last_news() < before);
        let ((project, key), _) = silent
            .find(|(place, it)| is_over(place, it))
            .ok_or(Refusal::TooManySessions { cap: MAX_ALIVE })?;
        let mut records = vec![Record::SessionEnded(SessionEnded {
            project: project.clone(),
            session: key.clone(),
            at,
            ended: false,
        })];
        records.extend(self.listeners_ended_with((project, key), at));
        Ok(records)
    }

    /// Returns the ended sessions that must be forgotten for a registration, those first that were silent for longest.
    fn forgotten_for(&self, set: &SessionSet) -> Result<Vec<SessionKey>, Refusal> {
        let known = self.sessions.get(&set.project, &set.session);
        let mut info = known.and_then(Session::info).cloned().unwrap_or_default();
        merge(&mut info, &set.info);
        let size = size_of(&info);
        if size > MAX_SIZE {
            return Err(Refusal::SessionTooLarge { cap: MAX_SIZE });
        }
        let mut sizes = self.sessions.size() - known.map_or(0, Session::size) + size;
        let mut forgotten = Vec::new();
        let mut silent = self.sessions.silent_for_longest();
        while sizes > MAX_SIZES
            && let Some((place, it)) = silent.next()
        {
            let is_it = (&place.0, &place.1) == (&set.project, &set.session);
            let is_past = !it.is_alive() && it.registered.is_some();
            if !is_it && is_past && !self.inboxes.holds_mail(&place.0, &place.1) {
                sizes -= it.size();
                forgotten.push(place.clone());
            }
        }
        if sizes > MAX_SIZES {
            return Err(Refusal::SessionsTooLarge { cap: MAX_SIZES });
        }
        Ok(forgotten)
    }
}
