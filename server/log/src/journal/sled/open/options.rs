//! How to open a journal.

use hub_protocol::{Epoch, Seq};

/// How to open and keep a journal.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bytes of disk space reserved for acks when the disk is full.
    pub reserve_bytes: u64,
    /// Bytes of free disk space below which publishes are refused.
    pub floor_bytes: u64,
    /// Bytes of a new segment; one with a larger commit is as large as that.
    pub segment_bytes: u64,
    /// Whether to make the store anew at open if sled's file is much larger than its entries.
    pub shrink: bool,
    /// The identity and the first record of a new journal; `None` means a random epoch and record 1.
    pub origin: Option<JournalOrigin>,
    /// The protections that tests switch off.
    #[doc(hidden)]
    pub checks: DurabilityChecks,
}

impl Default for Options {
    fn default() -> Self {
        // sled grows by segments of 512 KiB and rewrites some when it opens, so there must be room for a few of them.
        Self {
            reserve_bytes: 8 << 20,
            floor_bytes: 4 << 20,
            segment_bytes: 8 << 20,
            shrink: false,
            origin: None,
            checks: DurabilityChecks::default(),
        }
    }
}

/// The point at which a new journal continues another one.
#[derive(Debug, Clone, Copy)]
pub struct JournalOrigin {
    /// The identity of the new journal.
    pub epoch: Epoch,
    /// The number of its first record.
    pub first: Seq,
    /// The chain before the first record.
    pub chain: u32,
}

/// The protections against sled's faults. All are on, except in tests that show what each one prevents.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct DurabilityChecks {
    /// `fdatasync` after sled's flush.
    pub fdatasync: bool,
    /// Syncs within large commits and removals.
    pub paced: bool,
    /// `fdatasync` of the segments.
    pub log_sync: bool,
}

impl Default for DurabilityChecks {
    fn default() -> Self {
        Self {
            fdatasync: true,
            paced: true,
            log_sync: true,
        }
    }
}
