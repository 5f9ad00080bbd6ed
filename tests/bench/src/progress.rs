//! What is being measured, on stderr: one line that is rewritten on a terminal, a line a measurement elsewhere.

use std::io::{IsTerminal, Write};

/// Says how far it is.
#[derive(Debug)]
pub(crate) struct Progress {
    rewrites: bool,
}

impl Progress {
    /// Finds out where stderr goes.
    pub(crate) fn new() -> Self {
        let rewrites = std::io::stderr().is_terminal();
        Self { rewrites }
    }

    /// A new part begins.
    pub(crate) fn say(&self, what: &str) {
        if self.rewrites {
            eprint!("\r\x1b[K{what}");
            let _ = std::io::stderr().flush();
        } else {
            eprintln!("{what}");
        }
    }

    /// One step of a part.
    pub(crate) fn step(&self, what: &str, step: usize, of: usize) {
        if self.rewrites || step == 1 {
            self.say(&format!("{what}: slice {step} of {of}"));
        }
    }

    /// Leaves a clean line.
    pub(crate) fn done(&self) {
        if self.rewrites {
            eprint!("\r\x1b[K");
        }
    }
}
