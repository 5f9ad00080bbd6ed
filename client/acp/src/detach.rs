//! A session without a terminal: the program starts itself, in a session of the system of its own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Command, ExitCode, Stdio};

use hubctl::Connection;

/// The variable of the process in the background. Its agent does not get it.
pub(crate) const BELOW: &str = "HUB_ACP_DETACHED";

/// Whether this is the process in the background.
pub(crate) fn is_below() -> bool {
    std::env::var_os(BELOW).is_some()
}

/// Starts this command line in the background, and prints the id of its session.
pub(crate) fn start(hub: &Connection) -> anyhow::Result<ExitCode> {
    let log = std::fs::File::options()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(hub.state_dir().join("acp.log"))?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .env(BELOW, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()?;
    let mut session = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut session)?;
    }
    if session.is_empty() {
        let status = child.wait()?;
        let log = hub.state_dir().join("acp.log");
        anyhow::bail!("it did not start ({status}): see {}", log.display());
    }
    print!("{session}");
    Ok(ExitCode::SUCCESS)
}

/// Says that the session is there, and leaves the terminal.
pub(crate) fn ready(session: &str) -> anyhow::Result<()> {
    println!("{session}");
    std::io::stdout().flush()?;
    Ok(())
}

/// Makes this process the leader of a session of its own: a terminal that closes does not end it.
pub(crate) fn leave_terminal() -> anyhow::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}
