//! The room that sessions take: how many may be alive, and how large their registrations are.

use hub_protocol::{SessionInfo, Timestamp};

use super::State;
use super::session::{Session, SessionKey, merge};
use super::session_table::SessionTable;
use crate::core::command::Refusal;
use crate::core::record::{InboxClosed, Record, SessionSet};

/// The most registered sessions that are alive.
const MAX_ALIVE: usize = 1_000;
/// The most bytes of one session's registration, as JSON.
const MAX_SIZE: usize = 32 * 1024;
/// The most bytes of all registrations. Every snapshot holds them all.
const MAX_SIZES: usize = 16 << 20;

/// Returns the bytes of a registration, as JSON.
pub(super) fn size_of(info: &SessionInfo) -> usize {
    serde_json::to_string(info).map_or(0, |json| json.len())
}

impl State {
    /// Returns a session's record, after those that make room for it. Fails if there is no room.
    pub(super) fn with_room(
        &self,
        record: Option<Record>,
        at: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let forgotten = match &record {
            Some(Record::SessionSet(set)) => self.sessions.forgotten_for(set)?,
            _ => Vec::new(),
        };
        let closed = forgotten
            .into_iter()
            .map(|(project, inbox)| Record::InboxClosed(InboxClosed { project, inbox, at }));
        Ok(closed.chain(record).collect())
    }
}

impl SessionTable {
    /// Returns the ended sessions that must be forgotten for a registration, those first that were silent for longest.
    fn forgotten_for(&self, set: &SessionSet) -> Result<Vec<SessionKey>, Refusal> {
        let known = self.get(&set.project, &set.session);
        let mut info = known.and_then(Session::info).cloned().unwrap_or_default();
        merge(&mut info, &set.info);
        let size = size_of(&info);
        if size > MAX_SIZE {
            return Err(Refusal::SessionTooLarge { cap: MAX_SIZE });
        }
        let lives = |it: &Session| it.is_alive() && it.registered.is_some();
        let all = || self.iter(None).map(|(_, _, it)| it);
        if !known.is_some_and(lives) && all().filter(|it| lives(it)).count() >= MAX_ALIVE {
            return Err(Refusal::TooManySessions { cap: MAX_ALIVE });
        }
        let others: usize = all().map(Session::size).sum();
        let mut sizes = others - known.map_or(0, Session::size) + size;
        let mut forgotten = Vec::new();
        let mut silent = self.silent_for_longest();
        while sizes > MAX_SIZES
            && let Some(((project, key), it)) = silent.next()
        {
            let is_it = (project, key) == (&set.project, &set.session);
            if !is_it && !it.is_alive() && it.registered.is_some() {
                sizes -= it.size();
                forgotten.push((project.clone(), key.clone()));
            }
        }
        if sizes > MAX_SIZES {
            return Err(Refusal::SessionsTooLarge { cap: MAX_SIZES });
        }
        Ok(forgotten)
    }
}
