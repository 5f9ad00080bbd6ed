//! The progress, on stderr: one line that is rewritten on a terminal, otherwise a line per measurement.

use std::io::{IsTerminal, Write};

#[derive(Debug)]
pub(crate) struct Progress {
    rewrites: bool,
}

impl Progress {
    /// Checks whether stderr is a terminal.
    pub(crate) fn new() -> Self {
        let rewrites = std::io::stderr().is_terminal();
        Self { rewrites }
    }

    pub(crate) fn show(&self, what: &str) {
        if self.rewrites {
            eprint!("\r\x1b[K{what}");
            let _ = std::io::stderr().flush();
        } else {
            eprintln!("{what}");
        }
    }

    pub(crate) fn step(&self, what: &str, step: usize, of: usize) {
        if self.rewrites || step == 1 {
            self.show(&format!("{what}: slice {step} of {of}"));
        }
    }

    pub(crate) fn done(&self) {
        if self.rewrites {
            eprint!("\r\x1b[K");
        }
    }
}
