//! How a command ends.

use std::fmt;
use std::process::ExitCode;

use hub_protocol::Problem;

use crate::text::line;

/// A command's exit code; 2 is left to `hubctl wait --rewake`, for whose agent it means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit(pub u8);

impl Exit {
    /// Done, timed out, or held by this session's own waiter.
    pub(crate) const DONE: Self = Self(0);
    /// Refused or failed.
    pub(crate) const REFUSED: Self = Self(1);
    /// As an `asyncRewake` hook: wake the agent with what is on stderr.
    pub(crate) const REWAKE: Self = Self(2);
    /// The hub cannot be reached.
    pub(crate) const UNREACHABLE: Self = Self(3);
    /// The inbox is held by another.
    pub(crate) const HELD: Self = Self(4);
    /// Nobody waits.
    pub(crate) const NO_WAITER: Self = Self(5);
    /// Wrong usage (`EX_USAGE`).
    pub(crate) const USAGE: Self = Self(64);
    /// Nobody reads on: what a shell makes of SIGPIPE.
    pub(crate) const UNREAD: Self = Self(141);
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.0.into()
    }
}

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Error {
    /// What was asked makes no sense.
    Usage(String),
    /// The hub said no.
    Refused(Box<Problem>),
    /// The hub did not answer.
    Unreachable(Unreachable),
    /// This process may not connect to anything: a sandbox, or somebody else's socket.
    Blocked(String),
    /// This machine said no.
    Failed(anyhow::Error),
    /// Whoever read stdout has gone. Nobody is told.
    Unread,
}

/// How the hub failed to answer.
#[derive(Debug)]
pub(crate) struct Unreachable {
    /// Whether something took the connection.
    pub connected: bool,
    /// What went wrong.
    pub reason: String,
}

impl Error {
    /// The exit code that tells it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::USAGE,
            Self::Refused(_) | Self::Failed(_) => Exit::REFUSED,
            Self::Unreachable(_) | Self::Blocked(_) => Exit::UNREACHABLE,
            Self::Unread => Exit::UNREAD,
        }
    }

    /// Whether the same request may succeed later: the hub is down, late, or failing.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Blocked(_) => true,
            Self::Refused(problem) => problem.status >= 500 || problem.status == 408,
            Self::Usage(_) | Self::Failed(_) | Self::Unread => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) => f.write_str(&line(text)),
            Self::Refused(problem) => {
                let detail = problem.detail.as_ref().unwrap_or(&problem.title);
                f.write_str(&line(detail))?;
                if let Some(nearest) = problem.more.get("nearest").and_then(|it| it.as_str()) {
                    write!(f, "; did you mean '{}'?", line(nearest))?;
                }
                match &problem.hint {
                    Some(hint) => write!(f, " ({})", line(hint)),
                    None => Ok(()),
                }
            }
            Self::Unreachable(it) => write!(f, "the hub cannot be reached: {}", line(&it.reason)),
            Self::Blocked(reason) => {
                write!(f, "connecting to the hub is blocked: {}", line(reason))
            }
            Self::Failed(error) => f.write_str(&line(&format!("{error:#}"))),
            Self::Unread => f.write_str("nobody reads on"),
        }
    }
}

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.into())
    }
}
