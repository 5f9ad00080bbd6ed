//! Every exit code of hubctl.

use std::process::ExitCode;

/// The exit code of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit(pub u8);

/// Defines the codes, and `EXIT_CODES`, the list of them for people.
macro_rules! exit_codes {
    ($(#[doc = $meaning:literal] $name:ident = $code:literal;)+) => {
        impl Exit {
            $(#[doc = $meaning] pub(crate) const $name: Self = Self($code);)+
        }

        /// The exit codes of hubctl with their meanings.
        pub const EXIT_CODES: &[(u8, &str)] = &[$(($code, $meaning.trim_ascii())),+];
    };
}

exit_codes! {
    /// The command has done its work, it timed out, or this session's own waiter holds the inbox.
    DONE = 0;
    /// The hub refused the request, or the command failed.
    REFUSED = 1;
    /// `wait --rewake`, as an `asyncRewake` hook: the agent wakes and reads stderr.
    REWAKE = 2;
    /// The hub cannot be reached.
    UNREACHABLE = 3;
    /// Another waiter holds the inbox.
    HELD = 4;
    /// `status`: no waiter is connected.
    NO_WAITER = 5;
    /// The answer is stored, but it does not reach the session that asked.
    UNDELIVERED = 6;
    /// The usage is wrong (`EX_USAGE`).
    USAGE = 64;
    /// `run`: the command cannot be executed; otherwise `run` ends with the command's own code.
    NOT_RUNNABLE = 126;
    /// `run`: the command does not exist.
    NOT_FOUND = 127;
    /// The reader of stdout has closed it; the code that a shell reports for SIGPIPE.
    UNREAD = 141;
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.0.into()
    }
}
