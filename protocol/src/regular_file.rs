//! Reads files that others may have put there.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// The most bytes that are read of a file.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Reads the regular file at `path` as text and follows links. A pipe or a device is refused, because reading it could
/// block for ever.
pub fn read(path: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    text(file)
}

/// Reads at most 4 MiB of an open file as text; bytes that are not UTF-8 become U+FFFD.
pub fn text(file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
