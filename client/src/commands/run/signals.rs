//! Signals that are passed on to the command.

use std::fs::File;
use std::io;

use rustix::process::{Signal, getpgrp};
use tokio::signal::unix::{self, SignalKind};

/// The signals that are passed on.
const PASSED_ON: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// The signals that this process receives.
#[derive(Debug)]
pub(super) struct Signals(Vec<(Signal, unix::Signal)>);

impl Signals {
    /// Handles the signals, except those that this process was started to ignore, as by nohup: the command ignores them
    /// too.
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

    /// Returns the next signal that the command has not received itself.
    pub(super) async fn next(&mut self) -> Signal {
        loop {
            let signal = self.any().await;
            // The terminal sends Ctrl-C to every process in the foreground. An agent that received it twice would end.
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

/// The ignored signals, with signal N as bit N-1; see `proc_pid_status(5)`. 0 if the system does not tell.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}
