//! Who waits at an inbox, as a person reads it.

use std::fmt;

use serde::Deserialize;

/// What is shown of a [`hub_protocol::Holder`]. Its time stays text: it is only printed.
#[derive(Debug, Deserialize)]
pub(crate) struct Seat {
    #[serde(rename = "as", default)]
    name: Option<String>,
    /// The agent session that the waiter wakes.
    #[serde(default)]
    pub session: Option<String>,
    since: String,
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.as_deref().unwrap_or("a waiter without a name"))?;
        match &self.session {
            Some(session) => write!(f, " (session {session}, since {})", self.since),
            None => write!(f, " (since {})", self.since),
        }
    }
}
