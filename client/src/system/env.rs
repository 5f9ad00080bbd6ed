//! The environment of this process, read once, so that every rule is a function of it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::Error;

/// A value and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sourced<T> {
    /// The value.
    pub value: T,
    /// The source in words for a person, such as `--project` or `HUB_PROJECT`.
    pub source: &'static str,
}

impl<T> Sourced<T> {
    /// Returns `value` with its `source`.
    pub(crate) fn new(value: T, source: &'static str) -> Self {
        Self { value, source }
    }
}

/// The environment of a process: its variables, the working directory and the home directory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Env {
    vars: HashMap<OsString, OsString>,
    /// The working directory; empty if it is gone.
    pub cwd: PathBuf,
    /// The home directory, if there is one.
    pub home: Option<PathBuf>,
}

impl Env {
    /// Reads the environment of this process.
    pub(crate) fn context() -> Self {
        Self {
            vars: std::env::vars_os().collect(),
            cwd: std::env::current_dir().unwrap_or_default(),
            home: std::env::home_dir(),
        }
    }

    /// The value of the variable `name`; an empty one counts as unset.
    pub(crate) fn var(&self, name: &str) -> Option<&OsStr> {
        let value = self.vars.get(OsStr::new(name))?;
        (!value.is_empty()).then_some(value)
    }

    /// The variable `name` as an absolute path. A `~` at its beginning is the home directory: no shell expands it in a
    /// file of variables, in a unit of systemd or in JSON.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        let path = Path::new(self.var(name)?);
        match (path.strip_prefix("~"), &self.home) {
            (Ok(below), Some(home)) => Some(home.join(below)),
            _ => Some(self.absolute(path)),
        }
    }

    /// Removes variables that do not concern this process.
    pub(crate) fn forget(&mut self, names: &[&str]) {
        self.vars
            .retain(|name, _| !names.iter().any(|it| name == it));
    }

    /// The working directory; one that is gone as the shell names it.
    pub(crate) fn here(&self) -> PathBuf {
        if self.cwd.as_os_str().is_empty() {
            self.path("PWD").unwrap_or_default()
        } else {
            self.cwd.clone()
        }
    }

    /// Returns `path` as an absolute path, resolved from the working directory.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    /// Parses the variable `name`. An error names the variable.
    pub(crate) fn parsed<T>(&self, name: &'static str) -> Result<Option<Sourced<T>>, Error>
    where
        T: FromStr,
        T::Err: std::fmt::Display,
    {
        let Some(text) = self.var(name) else {
            return Ok(None);
        };
        let text = text
            .to_str()
            .ok_or_else(|| Error::Usage(format!("{name} is not UTF-8")))?;
        match text.parse() {
            Ok(value) => Ok(Some(Sourced::new(value, name))),
            Err(error) => Err(Error::Usage(format!("{name}: {error}"))),
        }
    }

    /// For tests: an environment with these variables in this directory, without a home directory.
    #[cfg(test)]
    pub(crate) fn of(cwd: &Path, vars: &[(&str, &str)]) -> Self {
        let vars = vars.iter().map(|(k, v)| (k.into(), v.into())).collect();
        Self {
            vars,
            cwd: cwd.to_owned(),
            home: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_at_the_beginning_of_a_path_is_the_home_directory() {
        let vars = [("A", "~/a"), ("B", "~"), ("C", "~b"), ("D", "d/~")];
        let mut env = Env::of(Path::new("/work"), &vars);
        assert_eq!(env.path("A").unwrap(), Path::new("/work/~/a"), "no home");
        env.home = Some("/home/me".into());
        for (name, path) in [
            ("A", "/home/me/a"),
            ("B", "/home/me"),
            ("C", "/work/~b"),
            ("D", "/work/d/~"),
        ] {
            assert_eq!(env.path(name).unwrap(), Path::new(path));
        }
    }
}
