//! A session file: its format, and the checks before it counts.
//!
//! As recorded from Claude Code 2.1.330, `tests/agents/registry.rs` checks it. The file is one JSON object:
//!
//! | field | meaning |
//! |---|---|
//! | `pid`, `procStart` | the process, and field 22 of its `proc_pid_stat(5)` as a string |
//! | `sessionId` | the agent's id of the session; `/clear` changes it |
//! | `messagingSocketPath` | the socket for messages of other sessions |
//! | `status` | see below; missing for some 100 ms after the start |
//! | `waitingFor` | only while `status` is `waiting` |
//! | `statusUpdatedAt` | when the status began, in milliseconds since 1970 |
//!
//! | in the terminal | `status` |
//! |---|---|
//! | ready, also after a turn that ended, after Escape, and after a dialog that was denied or left by Escape | `idle` |
//! | the same, while a shell of the session still runs in the background | `shell` |
//! | a turn, also after a dialog that was answered or allowed | `busy` |
//! | the dialog of a permission | `waiting` for `permission prompt` |
//! | the dialog of `AskUserQuestion` | `waiting` for `input needed` |
//! | a dialog of Claude Code itself, such as `/config`, which the person opened | `waiting` for `dialog open` |
//!
//! The program also knows `sandbox request`, `worker request` and `goal proposal`, which ask for a permission.
//!
//! The file is rewritten in place some 15 ms after the change, so it may be read half written. A `Stop` hook has ended
//! some 20 ms before the file says `idle`; `UserPromptSubmit` ends up to 15 ms before or after it says `busy`; a
//! permission's dialog is shown while `PermissionRequest` still runs. At its end, Claude Code removes the file; a killed
//! process leaves it as it was. Beside it lies a `.key` file with a secret, which the hub never opens.

use std::path::{Path, PathBuf};

use hub_protocol::{Process, Timestamp};
use serde::Deserialize;

use crate::untrusted_dir::{DirError, UntrustedDir};

/// The directory of session files below Claude Code's configuration directory.
pub(super) const DIRECTORY: &str = "sessions";

/// Largest session file in bytes.
const MAX_FILE: usize = 64 * 1024;

/// A file that cannot be parsed is reported once it is so old, in milliseconds. A younger one may be half written.
const WRITE_MS: i64 = 1_000;

/// The content of a session file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionFile {
    pub(super) pid: u32,
    /// The start of the process, on Linux as in [`Process::started`].
    #[serde(default)]
    pub(super) proc_start: Option<String>,
    #[serde(default)]
    pub(super) session_id: Option<String>,
    #[serde(default)]
    pub(super) messaging_socket_path: Option<PathBuf>,
    #[serde(default)]
    pub(super) status: Status,
    #[serde(default)]
    pub(super) waiting_for: Option<String>,
    #[serde(default)]
    pub(super) status_updated_at: i64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Status {
    #[serde(alias = "shell")]
    Idle,
    Busy,
    Waiting,
    /// A status that this module does not know; it is ignored.
    #[default]
    #[serde(other)]
    Unknown,
}

/// Why a session file is ignored.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ignored {
    /// There is none, it is of an earlier process, or it is being written.
    #[error("it is not current")]
    NotCurrent,
    #[error("{0}")]
    Refused(String),
}

/// Reads the session file of a process.
pub(super) fn read(dir: &Path, process: &Process) -> Result<SessionFile, Ignored> {
    let refused = |why: &dyn std::fmt::Display| Ignored::Refused(why.to_string());
    let dir = UntrustedDir::open(dir, &[DIRECTORY]).map_err(|error| match error {
        DirError::Missing | DirError::RootMissing => Ignored::NotCurrent,
        DirError::Refused(error) => refused(&format_args!("its directory: {error}")),
    })?;
    let found = dir.read(&name_of(process), MAX_FILE + 1);
    let (version, content) = found
        .map_err(|error| refused(&error))?
        .ok_or(Ignored::NotCurrent)?;
    if content.len() > MAX_FILE {
        return Err(refused(&format_args!("it is larger than {MAX_FILE} bytes")));
    }
    let file: SessionFile = serde_json::from_slice(&content).map_err(|error| {
        let complete = version.modified_at().plus_millis(WRITE_MS) <= Timestamp::now();
        if complete {
            refused(&error)
        } else {
            Ignored::NotCurrent
        }
    })?;
    // A killed process leaves its file behind, and its number may belong to another process now.
    // The format of this field on other systems is not known, so there the process table alone decides.
    let is_known = cfg!(target_os = "linux") && file.proc_start.is_some();
    let started = process.started.map(|it| it.to_string());
    let is_current = file.pid == process.pid
        && (!is_known || file.proc_start == started)
        && hub_protocol::process::started(process.pid) == process.started;
    if is_current {
        Ok(file)
    } else {
        Err(Ignored::NotCurrent)
    }
}

/// The name of a process's session file.
pub(super) fn name_of(process: &Process) -> String {
    format!("{}.json", process.pid)
}
