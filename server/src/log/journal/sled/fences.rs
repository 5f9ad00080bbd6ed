//! Protections of the journal that tests switch off, one at a time.

/// The protections against sled's faults. All are on, except in tests that show what each one prevents.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // each one is an independent switch
pub struct Fences {
    /// `fdatasync` after sled's flush.
    pub fdatasync: bool,
    /// Syncs within large commits and removals.
    pub paced: bool,
    /// Check that each block chains to the one before.
    pub chain: bool,
    /// Check that the journal contains the records that the epoch file names.
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
