//! sled waits for the disk once, not twice.
//!
//! sled's flush ends in `sync_file_range(2)`, which makes nothing durable ("not suitable for data integrity
//! operations", its manual says) but waits until the data is written; the `fdatasync` that does make the commit durable
//! comes right after it, and writes whatever is not written yet. So the first wait buys nothing, and costs a single
//! publisher a third of its time. sled 0.34 has no setting for it, so that its call is answered here: the linker takes
//! this function before the C library's. Nothing else in `hubd` calls it; without it, on another system or where a
//! linker prefers the C library, commits are slower and just as durable.

use std::ffi::{c_int, c_uint};

/// Promises as much as the real one does: nothing.
#[unsafe(no_mangle)]
extern "C" fn sync_file_range(_fd: c_int, _offset: i64, _len: i64, _flags: c_uint) -> c_int {
    0
}
