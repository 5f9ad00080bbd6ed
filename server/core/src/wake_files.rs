//! The files that agents watch for the hub: a change of a session's file runs a hook that wakes the session.
//!
//! The file of a session is `DIR/NUMBER/hub-inbox` with the number of the record that registered the session. Its content
//! has no meaning; it changes with each wake.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use hub_protocol::{Seq, Timestamp, WAKE_FILE};

/// The watched files of all sessions, in one directory.
#[derive(Debug, Clone)]
pub struct WakeFiles(PathBuf);

impl WakeFiles {
    /// The files in this directory, which need not exist.
    pub fn new(dir: PathBuf) -> Self {
        Self(dir)
    }

    fn path(&self, session: Seq) -> PathBuf {
        self.0.join(session.to_string()).join(WAKE_FILE)
    }

    /// Creates the file of a session, if it does not exist, and returns its path.
    pub fn create(&self, session: Seq) -> io::Result<PathBuf> {
        let path = self.path(session);
        if !path.exists() {
            let dir = self.0.join(session.to_string());
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            fs::write(&path, "")?;
        }
        Ok(path)
    }

    /// Whether the session was told to watch its file.
    pub fn exists(&self, session: Seq) -> bool {
        self.path(session).exists()
    }

    /// Changes the file of a session.
    pub fn change(&self, session: Seq) -> io::Result<()> {
        fs::write(self.path(session), format!("{}\n", Timestamp::now()))
    }

    /// The sessions that have a file.
    pub fn sessions(&self) -> io::Result<Vec<Seq>> {
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
        let numbers = entries.filter_map(|it| it.map(number).transpose());
        numbers.collect()
    }

    /// Removes the file of a session.
    pub fn remove(&self, session: Seq) -> io::Result<()> {
        fs::remove_dir_all(self.0.join(session.to_string()))
    }
}
