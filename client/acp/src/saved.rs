//! The sessions of `hubctl acp run` on this machine: files by which `attach` finds one, also after its death.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

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

    /// The socket at which the process of a session takes terminals.
    pub(crate) fn socket(&self, pid: u32) -> PathBuf {
        self.0.join(format!("{pid}.sock"))
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

    /// The session whose name is `wanted`, or whose id begins with it.
    pub(crate) fn find(&self, wanted: &str) -> Option<Saved> {
        let mut all: Vec<Saved> = self.all();
        let is_it = |it: &Saved| it.name.as_deref() == Some(wanted) || it.session == wanted;
        if let Some(at) = all.iter().position(is_it) {
            return Some(all.swap_remove(at));
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

    /// The file of a session: agents choose the ids, and not all are names of files.
    fn file(&self, session: &str) -> PathBuf {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        };
        let name: String = session.chars().map(plain).take(128).collect();
        self.0.join(format!("{name}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_by_its_name_its_id_or_a_unique_beginning() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::of(dir.path()).unwrap();
        let saved = |session: &str, name: Option<&str>| Saved {
            session: session.into(),
            name: name.map(str::to_owned),
            command: vec!["a".into()],
            mode: None,
            model: None,
            cwd: "/".into(),
            pid: 1,
        };
        for it in [saved("ses/1a", Some("fix")), saved("ses/1b", None)] {
            sessions.save(&it).unwrap();
        }
        let found = |wanted: &str| sessions.find(wanted).map(|it| it.session);
        assert_eq!(found("fix").as_deref(), Some("ses/1a"));
        assert_eq!(found("ses/1b").as_deref(), Some("ses/1b"));
        assert_eq!(found("ses/1"), None, "two begin with it");
        sessions.forget(&saved("ses/1b", None));
        assert_eq!(found("ses/1").as_deref(), Some("ses/1a"));
    }
}
