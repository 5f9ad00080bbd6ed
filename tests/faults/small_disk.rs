//! A small tmpfs: a disk that a test may fill or make read-only. Both suites of faults use it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted tmpfs; unmounted when dropped.
pub(crate) struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    pub(crate) fn new(mebibytes: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "tmpfs", "-o"])
            .arg(format!("size={mebibytes}m"));
        let mounted = mount.arg(dir.path()).status().unwrap().success();
        let hint = "run it as root, or in `unshare -rm`";
        assert!(mounted, "this test mounts a tmpfs: {hint}");
        Self(dir)
    }

    /// Makes the disk larger or smaller.
    #[allow(dead_code)] // one of the suites uses it
    pub(crate) fn resize(&self, mebibytes: u32) {
        let mut mount = Command::new("mount");
        let options = format!("remount,size={mebibytes}m");
        mount.args(["-o", &options]).arg(self.path());
        assert!(
            mount.status().unwrap().success(),
            "the disk cannot be resized"
        );
    }

    #[allow(dead_code)] // two of the suites use it
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}
