//! Scripts on another machine, over the user's own ssh. What comes from there is not trusted: its size and its time have
//! limits, and nothing of it reaches the terminal raw.

use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::output::say;
use crate::system::shell::quoted;

/// A dead connection is noticed after two of these many seconds.
const ALIVE: &str = "ServerAliveInterval=15";
const ALIVE_COUNT: &str = "ServerAliveCountMax=2";
/// The first and the longest pause before the next connection.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The longest line of a script: the largest status file with its time.
const MAX_LINE: u64 = 64 * 1024 + 64;
/// The most lines of ssh's standard error that are shown for one connection, and the longest one in bytes.
const MAX_ERRORS: usize = 50;
const MAX_ERROR: u64 = 1024;
/// How long the last errors may take to arrive after the end of ssh. A master of `ControlPersist` keeps the pipe open.
const LAST_ERRORS: Duration = Duration::from_secs(1);

/// A script that runs on another machine. It ends with the connection: its input is closed then.
pub(super) struct Script {
    process: Child,
    output: BufReader<Output>,
    /// Closed once all errors are shown.
    errors: Receiver<()>,
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Script {
    /// Starts `script` on `host` with sh, whatever the login shell there is; `$1` is `argument`.
    ///
    /// Login shells differ in what they do with quotes, `!` and line feeds between single quotes, so `script` must have
    /// none of them.
    pub(super) fn start(
        host: &str,
        options: &[String],
        script: &str,
        argument: &str,
    ) -> anyhow::Result<Self> {
        // The other machine gets no use of this one's keys and screen, even if ssh's configuration gives it to sessions.
        let mut process = Command::new("ssh")
            .args(["-T", "-a", "-x", "-o", ALIVE, "-o", ALIVE_COUNT])
            .args(options)
            .args(["--", host])
            .arg(format!("exec sh -c '{script}' hub {}", quoted(argument)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("ssh")?;
        let output = process.stdout.take().context("ssh has no output")?;
        let errors = process.stderr.take().context("ssh has no errors")?;
        Ok(Self {
            process,
            output: BufReader::new(Output {
                stdout: output,
                until: None,
            }),
            errors: show(host, errors),
        })
    }

    /// Returns the next line of its output. Fails at its end, and for a line that is too long.
    pub(super) fn line(&mut self) -> anyhow::Result<String> {
        let mut line = Vec::new();
        let mut input = self.output.by_ref().take(MAX_LINE);
        if input.read_until(b'\n', &mut line)? == 0 {
            return Err(self.ended());
        }
        if line.pop() != Some(b'\n') {
            if (line.len() as u64) < MAX_LINE - 1 {
                return Err(self.ended());
            }
            bail!("it printed a line of more than {MAX_LINE} bytes");
        }
        Ok(String::from_utf8_lossy(&line).into_owned())
    }

    /// Writes a line to its input.
    pub(super) fn write_line(&mut self, line: &str) -> anyhow::Result<()> {
        let input = self.process.stdin.as_mut().context("ssh has no input")?;
        Ok(input.write_all(format!("{line}\n").as_bytes())?)
    }

    /// Its output, of which every read fails once `patience` is over.
    pub(super) fn output_within(&mut self, patience: Duration) -> impl BufRead {
        self.output.get_mut().until = Some(Instant::now() + patience);
        &mut self.output
    }

    /// Waits, while it must print nothing. Fails at its end.
    pub(super) fn wait(&mut self, duration: Duration) -> anyhow::Result<()> {
        let until = Instant::now() + duration;
        if self.output.buffer().is_empty() && !self.output.get_ref().is_ready(until)? {
            return Ok(());
        }
        self.output.get_mut().until = None;
        if self.output.fill_buf()?.is_empty() {
            return Err(self.ended());
        }
        bail!("it printed something that it was not asked for")
    }

    /// Why its output has ended, once its errors are shown.
    fn ended(&mut self) -> anyhow::Error {
        match self.process.wait() {
            Ok(status) => {
                let _ = self.errors.recv_timeout(LAST_ERRORS);
                anyhow!("the connection ended ({status})")
            }
            Err(error) => error.into(),
        }
    }
}

/// The output of a process, read until a time.
struct Output {
    stdout: ChildStdout,
    until: Option<Instant>,
}

impl Output {
    /// Waits until there is something to read, at most until then. Returns whether there is.
    fn is_ready(&self, until: Instant) -> io::Result<bool> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            let mut stdout = [PollFd::new(&self.stdout, PollFlags::IN)];
            match poll(&mut stdout, Some(&left)) {
                Ok(ready) => return Ok(ready > 0),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for Output {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(until) = self.until
            && !self.is_ready(until)?
        {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "its answer took too long",
            ));
        }
        self.stdout.read(buffer)
    }
}

/// Shows the errors of ssh and of the script, escaped; reads on when there are too many, because a full pipe would stop
/// ssh. The returned channel is closed at their end.
fn show(host: &str, errors: ChildStderr) -> Receiver<()> {
    let (open, closed) = channel();
    let host = host.to_owned();
    std::thread::spawn(move || {
        let _open = open;
        let mut errors = BufReader::new(errors);
        for _ in 0..MAX_ERRORS {
            let mut line = Vec::new();
            match errors.by_ref().take(MAX_ERROR).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => say(format!(
                    "{host}: {}",
                    String::from_utf8_lossy(&line).trim_end()
                )),
            }
        }
        say(format!("{host}: further errors of ssh are not shown"));
        let _ = io::copy(&mut errors, &mut io::sink());
    });
    closed
}

/// Calls `connect` again after each end of a connection to `host`, with growing pauses. `connect` sets its flag once the
/// connection works. Returns only if the first connection fails, because then a retry does not help.
pub(super) fn keep_connected(
    host: &str,
    mut connect: impl FnMut(&mut bool) -> anyhow::Error,
) -> anyhow::Error {
    let mut pause = PAUSE;
    let mut has_worked = false;
    loop {
        let mut works = false;
        let error = connect(&mut works);
        has_worked |= works;
        if !has_worked {
            return error.context(host.to_owned());
        }
        pause = if works { PAUSE } else { pause };
        say(format!(
            "{host}: {error:#}; connecting again in {} s",
            pause.as_secs_f32()
        ));
        sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
