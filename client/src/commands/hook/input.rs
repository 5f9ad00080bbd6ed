//! Reads the JSON that an agent writes to its hook.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The most bytes of input. The hub accepts a mebibyte; the rest is room for `tool_response`, which is dropped before
/// sending.
const MAX_BYTES: usize = 2 * 1024 * 1024;

/// How long an agent may take to write its input. Agents write at once; this covers one that leaves the pipe open.
const PATIENCE: Duration = Duration::from_secs(2);

/// Reads all of stdin. `None` if the input is too large or does not end in time. Too large an input is still read to
/// its end, because otherwise the agent's write would fail.
pub(crate) fn read_stdin() -> Option<Vec<u8>> {
    let stdin = io::stdin().as_fd().try_clone_to_owned().ok()?;
    read_all(File::from(stdin), Instant::now() + PATIENCE)
}

pub(super) fn read_all(mut input: File, give_up: Instant) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    let mut too_much = false;
    loop {
        wait_for(&input, give_up)?;
        let n = match input.read(&mut chunk) {
            Ok(0) => return (!too_much).then_some(text),
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        too_much |= text.len() + n > MAX_BYTES;
        if !too_much {
            text.extend_from_slice(&chunk[..n]);
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

    #[test]
    fn an_input_that_does_not_end_is_given_up_at_the_deadline() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"{").unwrap();
        assert_eq!(
            read_all(File::from(std::os::fd::OwnedFd::from(reader)), soon()),
            None
        );
    }

    #[test]
    fn an_input_that_is_too_large_is_read_to_its_end_and_dropped() {
        for (bytes, kept) in [(MAX_BYTES, true), (MAX_BYTES + 1, false)] {
            let (reader, mut writer) = io::pipe().unwrap();
            let written = std::thread::spawn(move || writer.write_all(&vec![b'x'; bytes]));
            let read = read_all(File::from(std::os::fd::OwnedFd::from(reader)), long());
            written.join().unwrap().unwrap();
            assert_eq!(read.is_some(), kept, "{bytes}");
        }
    }
}
