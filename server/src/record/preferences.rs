//! The fact that the person wants something else.

use hub_protocol::{Preferences, Timestamp};
use serde::{Deserialize, Serialize};

/// The person's preferences, whole, from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreferencesSet {
    /// What they are.
    pub preferences: Preferences,
    /// When.
    pub at: Timestamp,
}
