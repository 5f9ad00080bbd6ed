//! The priority of a notification.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::first_chars;

/// The priority of a notification. The order is the order of delivery, most urgent first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum Priority {
    /// Delivered first; ends a wait before its barrier is met.
    Urgent,
    /// Delivered before `Normal` and `Low`.
    High,
    /// The default; wakes as the type says.
    #[default]
    Normal,
    /// Wakes no reader; delivered with the next notification that wakes one.
    Low,
}

/// The error for a priority that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown priority '{0}' (expected one of: urgent, high, normal, low)")]
pub struct UnknownPriority(String);

impl Priority {
    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }
}

impl FromStr for Priority {
    type Err = UnknownPriority;

    fn from_str(text: &str) -> Result<Self, UnknownPriority> {
        Ok(match text {
            "urgent" => Self::Urgent,
            "high" => Self::High,
            "normal" => Self::Normal,
            "low" => Self::Low,
            _ => return Err(UnknownPriority(first_chars(text, 64).into())),
        })
    }
}

impl TryFrom<String> for Priority {
    type Error = UnknownPriority;

    fn try_from(text: String) -> Result<Self, UnknownPriority> {
        text.parse()
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
