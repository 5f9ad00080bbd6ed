//! The agent's process, which speaks the protocol on its stdin and stdout.

use std::process::Stdio;
use std::time::Duration;

use hub_agents::acp;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::detach;
use crate::frame::Frame;

/// How long an agent may take to end after the end of its input: those that end in a turn need two seconds.
const LEAVES: Duration = Duration::from_secs(3);
/// How long it may take to end after SIGTERM.
const DIES: Duration = Duration::from_secs(2);

/// An output of the agent's process.
#[derive(Debug)]
pub(crate) enum FromAgent {
    /// A message.
    Frame(Frame),
    /// A line of its stderr.
    Complaint(String),
    /// Its output has ended.
    Ended,
}

/// A running agent.
#[derive(Debug)]
pub(crate) struct Agent {
    child: Child,
    input: Option<UnboundedSender<String>>,
}

impl Agent {
    /// Starts `command` in a process group of its own: a Ctrl-C in the terminal is the person's word to us, and the group
    /// is ended as a whole. `quiet` leaves its stderr unread, for an editor that reads ours.
    pub(crate) fn start(
        command: &[String],
        quiet: bool,
    ) -> std::io::Result<(Self, UnboundedReceiver<FromAgent>)> {
        let mut start = Command::new(&command[0]);
        start
            .args(&command[1..])
            .process_group(0)
            .kill_on_drop(true);
        start.env(acp::MARK, std::process::id().to_string());
        start.env_remove(detach::BELOW);
        start.stdin(Stdio::piped()).stdout(Stdio::piped());
        if !quiet {
            start.stderr(Stdio::piped());
        }
        let mut child = start.spawn()?;
        let (to_us, from_agent) = mpsc::unbounded_channel();
        if let Some(output) = child.stdout.take() {
            let to_us = to_us.clone();
            tokio::spawn(async move {
                read(output, |line| {
                    to_us.send(FromAgent::Frame(Frame::new(line)))
                })
                .await;
                let _ = to_us.send(FromAgent::Ended);
            });
        }
        if let Some(complaints) = child.stderr.take() {
            tokio::spawn(async move {
                read(complaints, |line| to_us.send(FromAgent::Complaint(line))).await;
            });
        }
        let input = child.stdin.take().map(writer);
        Ok((Self { child, input }, from_agent))
    }

    /// Writes a line to the agent. One that has ended takes none.
    pub(crate) fn send(&self, line: String) {
        if let Some(input) = &self.input {
            let _ = input.send(line);
        }
    }

    /// Ends the agent: its input first, then its whole process group. Some outlive the end of their input, and leave
    /// commands behind.
    pub(crate) async fn end(mut self) {
        self.input = None;
        let group = self
            .child
            .id()
            .and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let ended = tokio::time::timeout(LEAVES, self.child.wait()).await;
        let Some(group) = group else { return };
        // Its children may live on when it has ended.
        let _ = kill_process_group(group, Signal::TERM);
        if ended.is_err() && tokio::time::timeout(DIES, self.child.wait()).await.is_err() {
            let _ = kill_process_group(group, Signal::KILL);
            let _ = self.child.wait().await;
        }
    }
}

/// Reads lines until the end, or until nobody takes them.
async fn read<E>(
    from: impl tokio::io::AsyncRead + Unpin,
    mut take: impl FnMut(String) -> Result<(), E>,
) {
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if take(line).is_err() {
            return;
        }
    }
}

/// Writes what is sent to it, a line each. It closes the input when the last sender is dropped.
fn writer(mut input: ChildStdin) -> UnboundedSender<String> {
    let (to_agent, mut lines) = mpsc::unbounded_channel::<String>();
    tokio::spawn(async move {
        while let Some(mut line) = lines.recv().await {
            line.push('\n');
            if input.write_all(line.as_bytes()).await.is_err() || input.flush().await.is_err() {
                return;
            }
        }
    });
    to_agent
}
