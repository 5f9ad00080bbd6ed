//! Scripts on another machine, over the user's own ssh.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, anyhow};

use crate::output::say;
use crate::system::shell::quoted;

/// A dead connection is noticed after two of these many seconds.
const ALIVE: &str = "ServerAliveInterval=15";
const ALIVE_COUNT: &str = "ServerAliveCountMax=2";
/// The first and the longest pause before the next connection.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A script that runs on another machine. It ends with the connection: its input is closed then.
pub(super) struct Script {
    pub(super) process: Child,
    output: BufReader<ChildStdout>,
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
        let mut process = Command::new("ssh")
            .args(["-T", "-o", ALIVE, "-o", ALIVE_COUNT])
            .args(options)
            .args(["--", host])
            .arg(format!("exec sh -c '{script}' hub {}", quoted(argument)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("ssh")?;
        let output = process.stdout.take().context("ssh has no output")?;
        Ok(Self {
            process,
            output: BufReader::new(output),
        })
    }

    /// Returns the next line of its output. Fails at its end.
    pub(super) fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            let status = self.process.wait()?;
            return Err(anyhow!("the connection ended ({status})"));
        }
        Ok(line.trim_end_matches('\n').to_owned())
    }
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
