//! What a command says: results on stdout, everything else on stderr.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{OFlags, fcntl_getfl};
use std::os::fd::{AsFd, BorrowedFd};

use crate::error::Error;

/// Writes `text` to stdout and flushes it. A reader that has gone has had enough (`| head`): that ends a command as it
/// ends others, silently and with SIGPIPE's exit code, which says neither that all was printed nor that anything failed.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    write(text).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Error::Unread,
        _ => failed(&error),
    })
}

/// The same for what is acknowledged: when this returns, whoever reads stdout can have it. That nobody does is an error.
pub(crate) fn hand_over(text: &str) -> Result<(), Error> {
    write(text).map_err(|error| failed(&error))
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

fn failed(error: &io::Error) -> Error {
    anyhow::anyhow!("stdout: {error}").into()
}

/// Writes `text` and a line feed to stdout, and flushes it.
pub(crate) fn println(text: impl Display) -> Result<(), Error> {
    print(&format!("{text}\n"))
}

/// Says `text` on stderr, as one line. Nobody may be listening: that is no error.
pub(crate) fn say(text: impl Display) {
    let text = text.to_string();
    let _ = writeln!(io::stderr(), "hubctl: {}", crate::text::line(&text));
}

/// An error if this process was started with its stdout closed: what it prints would be lost, and must not count as
/// read.
///
/// Rust opens /dev/null, for reading too, in the place of a closed descriptor; a shell's `>/dev/null` is for writing
/// only, and a daemon's has stderr there as well.
pub(crate) fn demand_stdout() -> Result<(), Error> {
    let Ok(null) = std::fs::metadata("/dev/null") else {
        return Ok(());
    };
    let was_closed = |fd: BorrowedFd<'_>| {
        let meta = fd
            .try_clone_to_owned()
            .map(File::from)
            .and_then(|file| file.metadata());
        meta.is_ok_and(|meta| meta.dev() == null.dev() && meta.ino() == null.ino())
            && fcntl_getfl(fd).is_ok_and(|flags| flags.contains(OFlags::RDWR))
    };
    if was_closed(io::stdout().as_fd()) && !was_closed(io::stderr().as_fd()) {
        return Err(anyhow::anyhow!("stdout is closed: nobody would see what comes").into());
    }
    Ok(())
}
