//! The person's preferences: one set for the hub.

use hub_protocol::{Preferences, Timestamp};

use super::State;
use crate::core::record::{PreferencesSet, Record};

impl State {
    /// Returns the person's preferences: quiet hours, mutes and alerts.
    pub fn preferences(&self) -> &Preferences {
        &self.preferences
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

    pub(super) fn apply_preferences(&mut self, record: &PreferencesSet) {
        self.preferences.clone_from(&record.preferences);
    }
}
