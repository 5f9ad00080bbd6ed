//! Asks git one question: one process, bounded in time and output, that runs no program of the repository.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The most bytes of an answer.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// Git's variables that tell where its configuration and its repositories may be. All others describe one repository,
/// which need not be the one of the directory: git sets them for its own hooks.
const KEPT: [&str; 3] = [
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
];

/// Whose repositories git may look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// Those that it trusts, because their configuration is read.
    Own,
    /// Those of other users too, because only their place and their names are read.
    All,
}

/// Why git gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Silence {
    /// Git could not be started.
    #[error("git is not installed")]
    Missing,
    /// It did not answer in time.
    #[error("git did not answer in time")]
    Slow,
    /// It refused, or gave an answer that is not understood; its own words.
    #[error("{0}")]
    Refused(String),
}

/// A question that git is working on.
#[derive(Debug)]
pub(super) struct Inquiry {
    child: Child,
}

/// What git wrote, and the code with which it ended.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) text: Vec<u8>,
    pub(super) complaint: String,
    pub(super) code: Option<i32>,
}

impl Inquiry {
    /// Starts git in `dir`.
    pub(super) fn ask(dir: &Path, trust: Trust, args: &[&str]) -> Result<Self, Silence> {
        let mut git = Command::new("git");
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_a_repository(name)) {
            git.env_remove(name);
        }
        // A question takes no lock and fetches nothing, even if the repository lacks objects.
        git.env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("LC_ALL", "C");
        git.args(["--no-pager", "-c", "core.fsmonitor=false"])
            .args(["-c", "core.hooksPath=/dev/null"]);
        if trust == Trust::All {
            git.args(["-c", "safe.directory=*"]);
        }
        // Not `current_dir`: with a relative PATH, a program called git in that directory would be run.
        git.arg("-C").arg(dir).args(args).current_dir("/");
        let pipes = git
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        match pipes.spawn() {
            Ok(child) => Ok(Self { child }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Silence::Missing),
            Err(error) => Err(Silence::Refused(format!("git cannot be started: {error}"))),
        }
    }

    /// Waits for the answer.
    pub(super) fn answer(mut self, until: Instant) -> Result<Reply, Silence> {
        let (Some(text), Some(complaint)) = (self.child.stdout.take(), self.child.stderr.take())
        else {
            return Err(Silence::Slow);
        };
        // Complaints are short, so git never waits until they are read.
        let read = all(text, until).and_then(|text| Ok((text, all(complaint, until)?)));
        let (text, complaint) = match read {
            Ok(read) => read,
            Err(silence) => {
                self.abandon();
                return Err(silence);
            }
        };
        let ended = self.child.wait();
        let ended = ended.map_err(|error| Silence::Refused(error.to_string()))?;
        Ok(Reply {
            text,
            complaint: String::from_utf8_lossy(&complaint).into_owned(),
            code: ended.code(),
        })
    }

    /// Kills git. On a file system that hangs even its end takes as long as that lasts, so nobody waits for it.
    fn abandon(mut self) {
        let _ = self.child.kill();
        std::thread::spawn(move || self.child.wait());
    }
}

impl Reply {
    /// Git's refusal in its own words.
    pub(super) fn refusal(&self) -> Silence {
        let first = self.complaint.lines().next().unwrap_or_default();
        let words = match first.strip_prefix("fatal: ").unwrap_or(first) {
            "" => "an answer that is not understood",
            words => words,
        };
        Silence::Refused(format!("git: {words}"))
    }
}

/// Whether git's variable `name` describes one repository.
fn is_of_a_repository(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    let kept = bytes.starts_with(b"GIT_CONFIG_") || KEPT.iter().any(|it| name == *it);
    bytes.starts_with(b"GIT_") && !kept
}

/// Reads a pipe to its end.
fn all(mut pipe: impl Read + AsFd, until: Instant) -> Result<Vec<u8>, Silence> {
    let refused = |error: io::Error| Silence::Refused(error.to_string());
    let mut text = Vec::new();
    let mut part = [0; 8192];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(|_| Silence::Slow)?;
        let mut ready = [PollFd::new(&pipe, PollFlags::IN)];
        match poll(&mut ready, Some(&left)) {
            Ok(0) => return Err(Silence::Slow),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(refused(error.into())),
        }
        match pipe.read(&mut part).map_err(refused)? {
            0 => return Ok(text),
            read => text.extend(&part[..read]),
        }
        if text.len() > MAX_ANSWER {
            return Err(Silence::Refused("git's answer is too long".into()));
        }
    }
}
