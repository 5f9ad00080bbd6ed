//! The sessions of `hubctl acp run` on this machine: files by which `attach` finds one, also after its death.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use hub_protocol::Timestamp;
use serde::{Deserialize, Serialize};

/// At most this many characters of an id are in the name of a file.
const IN_FILE: usize = 128;
/// The same in the name of a socket, whose whole path has about a hundred.
const IN_SOCKET: usize = 36;

/// A session, as the next `attach` needs it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Saved {
    /// The agent's id of the session.
    pub(crate) session: String,
    /// The name that it was given, if it was.
    pub(crate) name: Option<String>,
    /// The agent's command, for `session/load` after its death.
    pub(crate) command: Vec<String>,
    /// The mode and the model that the person has chosen, which not every agent remembers.
    #[serde(default)]
    pub(crate) mode: Option<String>,
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// The directory of the session.
    pub(crate) cwd: PathBuf,
    /// The process that runs it.
    pub(crate) pid: u32,
    /// When that began.
    #[serde(default)]
    pub(crate) since: Timestamp,
}

/// The directory with the files.
#[derive(Debug, Clone)]
pub(crate) struct Sessions(PathBuf);

impl Sessions {
    /// Those in a hub's state directory. The directory is this user's alone: whoever can connect can prompt the agent.
    pub(crate) fn of(state_dir: &Path) -> std::io::Result<Self> {
        let dir = state_dir.join("acp");
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&dir)?;
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700))?;
        Ok(Self(dir))
    }

    /// The socket at which the process of a session takes terminals. The session is in its name, because the system gives the
    /// number of a process again.
    pub(crate) fn socket(&self, saved: &Saved) -> PathBuf {
        let session = plain(&saved.session, IN_SOCKET);
        self.0.join(format!("{session}-{}.sock", saved.pid))
    }

    /// Writes the file of a session.
    pub(crate) fn save(&self, saved: &Saved) -> std::io::Result<()> {
        let text = serde_json::to_string_pretty(saved)?;
        let (file, new) = (
            self.file(&saved.session),
            self.0.join(format!("{}.new", saved.pid)),
        );
        fs::write(&new, text)?;
        fs::rename(new, file)
    }

    /// Forgets a session that its person has ended.
    pub(crate) fn forget(&self, saved: &Saved) {
        let _ = fs::remove_file(self.file(&saved.session));
    }

    /// The session whose name is `wanted`, or whose id begins with it. A name that several had is that of the newest.
    pub(crate) fn find(&self, wanted: &str) -> Option<Saved> {
        let all: Vec<Saved> = self.all();
        let is_it = |it: &&Saved| it.name.as_deref() == Some(wanted) || it.session == wanted;
        if let Some(newest) = all.iter().filter(is_it).max_by_key(|it| it.since) {
            return Some(newest.clone());
        }
        let mut like = all.into_iter().filter(|it| it.session.starts_with(wanted));
        let found = like.next();
        found.filter(|_| like.next().is_none())
    }

    fn all(&self) -> Vec<Saved> {
        let files = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let texts = files.filter_map(|it| fs::read_to_string(it.path()).ok());
        texts
            .filter_map(|it| serde_json::from_str(&it).ok())
            .collect()
    }

    /// The file of a session.
    fn file(&self, session: &str) -> PathBuf {
        self.0.join(format!("{}.json", plain(session, IN_FILE)))
    }
}

/// The beginning of a session's id as a name of a file: agents choose the ids, and not all are such names.
fn plain(session: &str, length: usize) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    session.chars().map(plain).take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(session: &str, name: Option<&str>, since: i64) -> Saved {
        Saved {
            session: session.into(),
            name: name.map(str::to_owned),
            command: vec!["a".into()],
            mode: None,
            model: None,
            cwd: "/".into(),
            pid: 1,
            since: Timestamp::from_millis(since),
        }
    }

    #[test]
    fn a_session_is_found_by_its_name_its_id_or_a_unique_beginning() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::of(dir.path()).unwrap();
        for it in [saved("ses/1a", Some("fix"), 1), saved("ses/1b", None, 1)] {
            sessions.save(&it).unwrap();
        }
        let found = |wanted: &str| sessions.find(wanted).map(|it| it.session);
        assert_eq!(found("fix").as_deref(), Some("ses/1a"));
        assert_eq!(found("ses/1b").as_deref(), Some("ses/1b"));
        assert_eq!(found("ses/1"), None, "two begin with it");
        sessions.forget(&saved("ses/1b", None, 1));
        assert_eq!(found("ses/1").as_deref(), Some("ses/1a"));
    }

    #[test]
    fn a_name_is_the_newest_sessions() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::of(dir.path()).unwrap();
        for (session, since, newest) in [("a", 1, "a"), ("b", 2, "b"), ("a", 3, "a"), ("c", 2, "a")]
        {
            sessions.save(&saved(session, Some("fix"), since)).unwrap();
            assert_eq!(sessions.find("fix").unwrap().session, newest);
        }
    }
}
