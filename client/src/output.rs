//! Output of the commands: results on stdout, everything else on stderr. Uses only [`crate::error`].

pub(crate) mod age;
pub(crate) mod confirm;
pub(crate) mod table;
pub(crate) mod text;

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};

use crate::error::Error;

/// Writes `text` to stdout and flushes it. If the reader has closed the pipe (`| head`), the command ends silently with
/// SIGPIPE's exit code, which means neither that all was printed nor that anything failed. When this returns, the text
/// is in the reader's hands: a waiter acknowledges only then.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    write(text).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Error::Unread,
        _ => failed(&error),
    })
}

/// Returns when the pipe at stdout has no reader left (`| true`); never returns if stdout is not a pipe.
pub(crate) async fn unread() {
    let (found, unread) = tokio::sync::oneshot::channel();
    // A thread, because it is idle until then. The process does not wait for it to end.
    let watch = move || {
        let stdout = io::stdout();
        loop {
            let mut pipe = [PollFd::new(&stdout, PollFlags::empty())];
            match poll(&mut pipe, None) {
                Err(Errno::INTR) => {}
                Ok(_) if pipe[0].revents().contains(PollFlags::ERR) => break,
                // Any other event, such as a terminal that hung up, does not show that the reader has gone.
                _ => return,
            }
        }
        let _ = found.send(());
    };
    if std::thread::Builder::new().spawn(watch).is_err() || unread.await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text::shown(text).as_bytes())?;
    stdout.flush()
}

fn failed(error: &io::Error) -> Error {
    anyhow::anyhow!("stdout: {error}").into()
}

/// Writes `text` and a line feed to stdout, and flushes it.
pub(crate) fn println(text: impl Display) -> Result<(), Error> {
    print(&format!("{text}\n"))
}

/// Prints `text` on stderr as one line. A failure to write is ignored.
pub(crate) fn say(text: impl Display) {
    let text = text.to_string();
    let _ = writeln!(io::stderr(), "hubctl: {}", text::line(&text));
}

/// Returns an error if this process was started with stdout closed: its output would be lost, and must not count as
/// read.
///
/// Rust opens /dev/null, for reading and writing, in place of a closed descriptor. A shell's `>/dev/null` is open for
/// writing only, and a daemon has it at stderr as well.
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
        return Err(anyhow::anyhow!("stdout is closed, so the output would be lost").into());
    }
    Ok(())
}
