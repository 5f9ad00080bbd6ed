//! Messages for the person at the terminal, or for the journal.

use std::io::Write as _;

/// Writes a line to stderr.
pub(crate) fn say(text: impl std::fmt::Display) {
    // A message that cannot be written is lost, because there is no other place for it.
    let _ = writeln!(std::io::stderr(), "hub-desktop: {text}");
}
