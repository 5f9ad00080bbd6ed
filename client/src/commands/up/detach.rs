//! Starts a process in its own session, so that it survives the terminal or the agent that started it.
//!
//! The new process itself must call setsid(2). A function that runs between fork and exec would be unsafe code, so this
//! program starts itself as an intermediate step.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

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

/// Makes this process a session leader in the root directory, then executes `program`. Returns only if that failed.
pub(super) fn become_detached(program: &OsStr, args: &[OsString]) -> anyhow::Error {
    if let Err(error) = rustix::process::setsid() {
        return anyhow::anyhow!("setsid: {error}");
    }
    let error = Command::new(program).args(args).current_dir("/").exec();
    anyhow::anyhow!("{}: {error}", program.to_string_lossy())
}
