//! Signals that are for the command.

use std::fs::File;
use std::io;

use rustix::process::{Signal, getpgrp};
use tokio::signal::unix::{self, SignalKind};

/// The signals that ask a command to end.
const PASSED_ON: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// The signals that come to this process from now on.
#[derive(Debug)]
pub(super) struct Signals(Vec<(Signal, unix::Signal)>);

impl Signals {
    /// Takes them, but for those that this process was started to ignore, as by nohup: so is the command.
    pub(super) fn listen() -> io::Result<Self> {
        let ignored = ignored();
        let taken = PASSED_ON
            .into_iter()
            .filter(|signal| ignored & (1 << (signal.as_raw() - 1)) == 0);
        let streams = taken.map(|signal| {
            let kind = SignalKind::from_raw(signal.as_raw());
            Ok((signal, unix::signal(kind)?))
        });
        Ok(Self(streams.collect::<io::Result<_>>()?))
    }

    /// The next signal that the command has not got itself.
    pub(super) async fn next(&mut self) -> Signal {
        loop {
            let signal = self.any().await;
            // Ctrl-C goes to everything in the foreground; an agent that got it twice would end.
            let by_terminal = matches!(signal, Signal::INT | Signal::QUIT) && in_foreground();
            if !by_terminal {
                return signal;
            }
        }
    }

    async fn any(&mut self) -> Signal {
        std::future::poll_fn(|context| {
            for (signal, stream) in &mut self.0 {
                if stream.poll_recv(context).is_ready() {
                    return std::task::Poll::Ready(*signal);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }
}

/// Whether this process is in the foreground of a terminal.
fn in_foreground() -> bool {
    File::open("/dev/tty")
        .is_ok_and(|tty| rustix::termios::tcgetpgrp(&tty).is_ok_and(|group| group == getpgrp()))
}

/// The ignored signals, signal N as bit N-1; see `proc_pid_status(5)`. None where the system does not say.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}
