//! What tests take away, one at a time.

/// What protects the journal. All on, but in tests that show what each is for.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
pub struct Fences {
    /// `fdatasync` after sled's flush.
    pub fdatasync: bool,
    /// Syncs within large commits and removals.
    pub paced: bool,
    /// Each block must chain to the one before.
    pub chain: bool,
    /// The journal must contain what the epoch file says.
    pub epoch: bool,
    /// `fdatasync` of the write-ahead log.
    pub log_sync: bool,
}

impl Default for Fences {
    fn default() -> Self {
        Self {
            fdatasync: true,
            paced: true,
            chain: true,
            epoch: true,
            log_sync: true,
        }
    }
}
