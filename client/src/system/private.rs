//! Directories and files to which only this user has access.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context as _, ensure};

/// Creates the directory `path` with access for this user alone, or checks an existing one.
pub(crate) fn make_private(path: &Path) -> anyhow::Result<()> {
    match DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    }
    let meta = fs::symlink_metadata(path)?;
    let uid = rustix::process::geteuid().as_raw();
    ensure!(meta.is_dir(), "{} is not a directory", path.display());
    ensure!(
        meta.uid() == uid,
        "{} belongs to user {}, not to you",
        path.display(),
        meta.uid()
    );
    // Others may have put files into a directory that they can write, so it is refused. If they can only read it, close
    // it to them.
    ensure!(
        meta.mode() & 0o022 == 0,
        "{} can be written by others",
        path.display()
    );
    if !is_private(meta.mode()) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Whether a file mode gives access to the owner alone.
pub(crate) fn is_private(mode: u32) -> bool {
    mode.trailing_zeros() >= 6
}
