//! The output of a command that checks something: a line for each finding.

use std::io::{self, Write};

/// The findings, printed one by one, and the number of problems.
pub struct Report<W> {
    out: W,
    problems: usize,
}

impl<W: Write> Report<W> {
    /// A report on `out`.
    pub fn new(out: W) -> Self {
        Self { out, problems: 0 }
    }

    /// Prints what was found to be right.
    pub fn fine(&mut self, what: &str) -> io::Result<()> {
        writeln!(self.out, "ok       {what}")
    }

    /// Prints what is wrong, and what to do.
    pub fn problem(&mut self, what: &str, todo: &str) -> io::Result<()> {
        self.problems += 1;
        writeln!(self.out, "PROBLEM  {what}\n         {todo}")
    }

    /// Fails if there were problems.
    pub fn end(self) -> anyhow::Result<()> {
        match self.problems {
            0 => Ok(()),
            1 => anyhow::bail!("1 problem"),
            many => anyhow::bail!("{many} problems"),
        }
    }
}
