//! Asking the person at the terminal.

use std::io::{IsTerminal, Write};

use crate::error::Error;

/// Asks the person at the terminal to confirm. Without a terminal, the error says what would happen and what to do.
pub(crate) fn confirm(question: &str, without_terminal: &str) -> Result<bool, Error> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Error::Usage(without_terminal.into()));
    }
    eprint!("{question} [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    stdin.read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
