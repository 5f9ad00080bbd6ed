//! The directories that an agent's process was configured with, read from its environment.

use std::path::PathBuf;
use std::time::Duration;

use hub_protocol::Process;
use hub_protocol::process::{environment, started};

/// Timeout of the file system.
const IO_TIMEOUT: Duration = Duration::from_secs(2);

/// The directory that this process's `variable` names, else `default` in its home directory.
pub async fn directory(
    process: &Process,
    variable: &'static str,
    default: &'static str,
) -> Option<PathBuf> {
    let process = process.clone();
    let found = tokio::task::spawn_blocking(move || {
        let variables = environment(process.pid)?;
        // The number may have been reused by another process; then these are not the session's variables.
        (started(process.pid) == process.started).then_some(())?;
        directory_in(&String::from_utf8_lossy(&variables), variable, default)
    });
    tokio::time::timeout(IO_TIMEOUT, found).await.ok()?.ok()?
}

fn directory_in(variables: &str, variable: &str, default: &str) -> Option<PathBuf> {
    let value = |name: &str| {
        let mut all = variables.split('\0').filter_map(|it| it.split_once('='));
        let found = all.find(|(found, value)| *found == name && !value.is_empty());
        found.map(|(_, value)| PathBuf::from(value))
    };
    let dir = value(variable).or_else(|| Some(value("HOME")?.join(default)))?;
    dir.is_absolute().then_some(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_directory() {
        let dir = |text: &str| {
            let dir = directory_in(text, "CLAUDE_CONFIG_DIR", ".claude");
            dir.map(|dir| dir.display().to_string())
        };
        assert_eq!(dir("A=b\0HOME=/h\0").as_deref(), Some("/h/.claude"));
        let moved = dir("HOME=/h\0CLAUDE_CONFIG_DIR=/c\0");
        assert_eq!(moved.as_deref(), Some("/c"));
        assert_eq!(dir("HOME=h\0"), None);
        assert_eq!(dir(""), None);
    }
}
