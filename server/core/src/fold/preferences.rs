//! The person's preferences: one set for the hub.

use hub_protocol::{InboxName, Mute, Preferences, ProjectName, Timestamp};

use super::State;
use crate::record::{PreferencesSet, Record};

impl State {
    /// Returns the mute that keeps a sender from calling the person at `now`, by whichever of its names.
    pub fn mute_of(
        &self,
        (project, from): (&ProjectName, &InboxName),
        now: Timestamp,
    ) -> Option<&Mute> {
        let key = self.sessions.resolve(project, from);
        let is_it = |name: &InboxName| name == key || name == from;
        let mut mutes = self.preferences.mutes.iter();
        mutes.find(|it| it.applies(project, is_it, now))
    }

    pub(super) fn decide_preferences(&self, wanted: &Preferences, now: Timestamp) -> Vec<Record> {
        if self.preferences == *wanted {
            return Vec::new();
        }
        vec![Record::PreferencesSet(PreferencesSet {
            preferences: wanted.clone(),
            at: now,
        })]
    }
}
