//! The priority of a notification.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::first_chars;

crate::named! {
    /// The priority of a notification. The order is the order of delivery, most urgent first.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
    )]
    #[serde(try_from = "String")]
    pub enum Priority {
        /// Delivered first; ends a wait before its barrier is met.
        Urgent = "urgent",
        /// Delivered before `Normal` and `Low`.
        High = "high",
        /// The default; wakes as the type says.
        #[default]
        Normal = "normal",
        /// Wakes no reader; delivered with the next notification that wakes one.
        Low = "low",
    }
}

/// The error for a priority that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown priority '{0}' (expected one of: urgent, high, normal, low)")]
pub struct UnknownPriority(String);

impl FromStr for Priority {
    type Err = UnknownPriority;

    fn from_str(text: &str) -> Result<Self, UnknownPriority> {
        let named = Self::ALL.into_iter().find(|it| it.as_str() == text);
        named.ok_or_else(|| UnknownPriority(first_chars(text, 64).into()))
    }
}

impl TryFrom<String> for Priority {
    type Error = UnknownPriority;

    fn try_from(text: String) -> Result<Self, UnknownPriority> {
        text.parse()
    }
}
