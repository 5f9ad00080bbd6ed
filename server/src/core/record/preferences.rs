//! The record of a change of the person's preferences.

use hub_protocol::{Preferences, Timestamp};
use serde::{Deserialize, Serialize};

/// The person's complete preferences, valid from this record on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreferencesSet {
    /// The new preferences.
    pub preferences: Preferences,
    /// When the person changed them.
    pub at: Timestamp,
}
