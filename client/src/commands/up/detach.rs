//! A process of its own session, which no terminal or agent takes down with it.
//!
//! setsid(2) must be called by the new process itself, and a hook between fork and exec would be unsafe code; so this
//! program starts itself as the step between.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context;

/// Starts `program` detached, with its output in `log`.
pub(in crate::commands) fn start(
    program: &Path,
    args: &[OsString],
    log: &File,
) -> anyhow::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["up", "--detached"])
        .arg(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log.try_clone()?)
        .spawn()
        .with_context(|| program.display().to_string())
}

/// Makes this process a session leader in the root directory, and then `program`; returns only if that failed.
pub(super) fn become_detached(program: &OsStr, args: &[OsString]) -> anyhow::Error {
    if let Err(error) = rustix::process::setsid() {
        return anyhow::anyhow!("setsid: {error}");
    }
    let error = Command::new(program).args(args).current_dir("/").exec();
    anyhow::anyhow!("{}: {error}", program.to_string_lossy())
}
