//! The story of a seed, as lines: hashed always, printed on demand.

/// The story of one run.
#[derive(Debug)]
pub(crate) struct Story {
    /// Whether the lines are printed.
    prints: bool,
    hash: u64,
}

impl Story {
    /// An empty story, whose lines are printed if `prints`.
    pub(crate) fn new(prints: bool) -> Self {
        Self { prints, hash: 0 }
    }

    /// Adds a line, after the step in which it happened.
    pub(crate) fn tell(&mut self, step: u64, line: std::fmt::Arguments<'_>) {
        let line = format!("{step:5} {line}");
        if self.prints {
            println!("{line}");
        }
        // FNV-1a: the same in every build.
        for byte in line.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Returns what tells this story from others.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }
}
