//! Reads the JSON that an agent writes to its hook.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::object::ObjectText;

/// How long an agent may take to write its input. Agents write at once; this covers one that stops in the middle.
const PATIENCE: Duration = Duration::from_secs(2);

/// Reads an object from stdin, shortened. It ends with its last brace: some agents leave the pipe open. `None` if it is too
/// large or does not end in time. Too large an input is still read to its end, because otherwise the agent's write would
/// fail.
pub(crate) fn read_stdin() -> Option<Vec<u8>> {
    let stdin = io::stdin().as_fd().try_clone_to_owned().ok()?;
    read_object(File::from(stdin), Instant::now() + PATIENCE)
}

fn read_object(input: File, give_up: Instant) -> Option<Vec<u8>> {
    let mut object = ObjectText::default();
    read(input, give_up, |chunk| object.extend(chunk))?;
    object.into_text()
}

/// Reads to the end of the input. `None` at the deadline.
pub(super) fn read_all(input: File, give_up: Instant) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    read(input, give_up, |chunk| {
        text.extend_from_slice(chunk);
        false
    })?;
    Some(text)
}

/// Reads until `is_all` says that what it was given is all, or to the end of the input. `None` at the deadline.
fn read(mut input: File, give_up: Instant, mut is_all: impl FnMut(&[u8]) -> bool) -> Option<()> {
    let mut chunk = vec![0; 64 * 1024];
    loop {
        wait_for(&input, give_up)?;
        match input.read(&mut chunk) {
            Ok(0) => return Some(()),
            Ok(n) if is_all(&chunk[..n]) => return Some(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Waits until there is input to read; `None` at the deadline.
fn wait_for(input: &File, give_up: Instant) -> Option<()> {
    let left = give_up.saturating_duration_since(Instant::now());
    let left = Timespec {
        tv_sec: left.as_secs().try_into().ok()?,
        tv_nsec: left.subsec_nanos().into(),
    };
    match poll(&mut [PollFd::new(input, PollFlags::IN)], Some(&left)) {
        Ok(0) => None,
        Ok(_) | Err(rustix::io::Errno::INTR) => Some(()),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(30)
    }

    fn long() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn pipe() -> (File, io::PipeWriter) {
        let (reader, writer) = io::pipe().unwrap();
        (File::from(std::os::fd::OwnedFd::from(reader)), writer)
    }

    #[test]
    fn an_object_that_does_not_end_is_given_up_at_the_deadline() {
        let (reader, mut writer) = pipe();
        writer.write_all(b"{").unwrap();
        assert_eq!(read_object(reader, soon()), None);
    }

    #[test]
    fn an_object_is_read_although_the_pipe_stays_open() {
        let (reader, mut writer) = pipe();
        writer.write_all(b"{\"a\":1}\n").unwrap();
        assert_eq!(read_object(reader, long()).unwrap(), b"{\"a\":1}");
    }

    #[test]
    fn an_input_that_is_no_object_is_read_to_its_end() {
        let (reader, mut writer) = pipe();
        let written = std::thread::spawn(move || writer.write_all(&vec![b'x'; 4 << 20]));
        assert_eq!(read_object(reader, long()), None);
        written.join().unwrap().unwrap();
    }
}
