//! Reads sled's data file without sled: from end to end before sled opens it, because sled treats unreadable data as
//! empty and overwrites it; and with zeros for unreadable bytes, to recover the rest.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use hub_core::durable;

use super::{Files, OpenError};

/// The number of bytes read at once.
const CHUNK: usize = 1 << 20;
/// The unit of a failed read in bytes: a page that cannot be read is lost as a whole.
const PAGE: usize = 4096;

/// Reads sled's file from end to end, if it exists. Fails with [`OpenError::Unreadable`].
pub(crate) fn check(files: &Files) -> Result<(), OpenError> {
    check_into(files, |_, _| {})
}

/// Reads sled's file as [`check`] does, and passes each range of bytes and its offset to `write`.
pub(crate) fn check_into(
    files: &Files,
    mut write: impl FnMut(&[u8], u64),
) -> Result<(), OpenError> {
    let path = files.db();
    let unreadable = |at, error| OpenError::Unreadable {
        path: path.clone(),
        at,
        error,
    };
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file.map_err(|error| unreadable(0, error))?,
    };
    let (mut buffer, mut at) = (vec![0; CHUNK], 0);
    loop {
        match file.read_at(&mut buffer, at) {
            Ok(0) => return Ok(()),
            Ok(read) => {
                write(&buffer[..read], at);
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(at, error)),
        }
    }
}

/// Copies sled's data file from the directory `from` to the new directory `to`, without the files that sled derives
/// from it. Unreadable bytes become zeros. Returns the number of unreadable bytes.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    durable::private_dir(to)?;
    let source = File::open(from.join("db"))?;
    let target = File::create(to.join("db"))?;
    let (mut buffer, mut at, mut lost) = (vec![0; CHUNK], 0, 0);
    loop {
        let filled = fill(&source, &mut buffer, at)?;
        if filled.bytes == 0 {
            return Ok(lost);
        }
        target.write_all_at(&buffer[..filled.bytes], at)?;
        at += filled.bytes as u64;
        lost += filled.lost;
    }
}

/// The result of [`fill`].
pub(crate) struct Filled {
    /// The number of bytes filled, including unreadable ones.
    pub(crate) bytes: usize,
    /// The number of unreadable bytes among them; they are zero.
    pub(crate) lost: u64,
}

/// Fills `buffer` from `file` at offset `at`, up to the end of the file. Unreadable bytes become zeros.
pub(crate) fn fill(file: &File, buffer: &mut [u8], at: u64) -> io::Result<Filled> {
    let left = file.metadata()?.len().saturating_sub(at);
    let end = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
    let mut filled = Filled { bytes: 0, lost: 0 };
    while filled.bytes < end {
        match file.read_at(&mut buffer[filled.bytes..end], at + filled.bytes as u64) {
            Ok(0) => break,
            Ok(read) => filled.bytes += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => {
                let page = PAGE.min(end - filled.bytes);
                buffer[filled.bytes..][..page].fill(0);
                filled.bytes += page;
                filled.lost += page as u64;
            }
        }
    }
    Ok(filled)
}
