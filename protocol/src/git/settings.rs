//! The configuration that git reads in a directory.

use std::path::{Path, PathBuf};

use super::inquiry::{Inquiry, Reply, Silence, Trust};
use super::remote::web_address;

/// All settings with the files that they come from, in the order in which git reads them: later ones win.
const QUESTION: [&str; 4] = ["config", "--list", "--show-origin", "-z"];

/// The settings of a directory, and the files with any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Settings {
    all: Vec<(String, Option<String>)>,
    files: Vec<PathBuf>,
}

impl Settings {
    /// Asks for the settings in `dir`. The configuration of another user's repository is left out, as git does.
    pub(super) fn ask(dir: &Path) -> Result<Inquiry, Silence> {
        Inquiry::ask(dir, Trust::Own, &QUESTION)
    }

    /// Reads git's answer.
    pub(super) fn read(answer: &Reply) -> Result<Self, Silence> {
        if answer.code != Some(0) {
            return Err(answer.refusal());
        }
        let mut settings = Self::default();
        let mut fields = answer.text.split(|byte| *byte == 0);
        while let (Some(origin), Some(setting)) = (fields.next(), fields.next()) {
            settings.take(origin, &String::from_utf8_lossy(setting));
        }
        Ok(settings)
    }

    fn take(&mut self, origin: &[u8], setting: &str) {
        use std::os::unix::ffi::OsStrExt;
        if let Some(file) = origin.strip_prefix(b"file:") {
            let file = Path::new(std::ffi::OsStr::from_bytes(file));
            // The repository's own files are relative, and known anyway.
            if file.is_absolute() && self.files.last().is_none_or(|last| last != file) {
                self.files.push(file.to_owned());
            }
        }
        // A name without a value means `true`.
        let (name, value) = match setting.split_once('\n') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (setting, None),
        };
        self.all.push((name.to_owned(), value));
    }

    /// The last value of `name`; section and variable in lower case, as git gives them.
    pub(super) fn last(&self, name: &str) -> Option<&str> {
        let of = self.all.iter().rev().find(|(it, _)| it == name);
        of.map(|(_, value)| value.as_deref().unwrap_or("true"))
    }

    /// Whether `name` is true.
    pub(super) fn is_true(&self, name: &str) -> bool {
        let value = self.last(name).unwrap_or_default().to_ascii_lowercase();
        ["true", "yes", "on"].contains(&value.as_str())
            || value.parse().is_ok_and(|it: i64| it != 0)
    }

    /// The files outside of the repository that have a setting.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The web page of the first remote that has one.
    pub(super) fn web_address(&self) -> Option<String> {
        let is_remote = |name: &str| {
            let parts = name.rsplit_once('.');
            parts.is_some_and(|(of, what)| of.starts_with("remote.") && what == "url")
        };
        let mut remotes = self.all.iter().filter(|(name, _)| is_remote(name));
        remotes.find_map(|(_, url)| web_address(url.as_deref()?))
    }
}
