//! Reads any bytes as the spool of another machine.
#![no_main]

use hub_protocol::{Listed, MAX_ENTRIES, SpoolListing, Timestamp, is_unprintable};
use libfuzzer_sys::fuzz_target;

#[path = "../../src/spool/listing/check.rs"]
mod check;

fuzz_target!(|bytes: &[u8]| check::listing(bytes));
