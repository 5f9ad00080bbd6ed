//! Every exit code of hubctl.

use std::process::ExitCode;

/// The exit code of a command. Only `hubctl wait --rewake` ends with 2, which wakes its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit(pub u8);

impl Exit {
    /// The command has done its work, it timed out, or this session's own waiter holds the inbox.
    pub(crate) const DONE: Self = Self(0);
    /// The hub refused the request, or the command failed.
    pub(crate) const REFUSED: Self = Self(1);
    /// As an `asyncRewake` hook: the agent wakes and reads stderr.
    pub(crate) const REWAKE: Self = Self(2);
    /// The hub cannot be reached.
    pub(crate) const UNREACHABLE: Self = Self(3);
    /// Another waiter holds the inbox.
    pub(crate) const HELD: Self = Self(4);
    /// No waiter is connected.
    pub(crate) const NO_WAITER: Self = Self(5);
    /// The answer is stored, but it does not reach the session that asked.
    pub(crate) const UNDELIVERED: Self = Self(6);
    /// Wrong usage (`EX_USAGE`).
    pub(crate) const USAGE: Self = Self(64);
    /// The reader of stdout has closed it; the code that a shell reports for SIGPIPE.
    pub(crate) const UNREAD: Self = Self(141);
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.0.into()
    }
}
