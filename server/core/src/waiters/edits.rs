//! The files that sessions have edited in the last hour, as their hooks report them. They are not in the log.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hub_protocol::Timestamp;

use crate::fold::SessionKey;

/// Two edits of one file concern each other within this time.
const TOGETHER: Duration = Duration::from_secs(3600);
/// The most files that are remembered. Edits of further files raise no alert until the older ones are an hour old.
const MAX_FILES: usize = 10_000;

/// A file of a repository, the same in all of its worktrees.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EditedFile {
    /// The git directory that all worktrees share.
    pub repository: PathBuf,
    /// The path below the worktree.
    pub path: PathBuf,
}

/// A session from its beginning, or from the last time that it was resumed.
pub type Life = (SessionKey, Timestamp);

/// A session's last edit of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The session.
    pub by: Life,
    /// The worktree in which it edited the file.
    pub worktree: PathBuf,
    /// When it did.
    pub at: Instant,
}

/// The last edits of each file, and the pairs of sessions that were alerted.
#[derive(Debug, Default)]
pub struct Edits {
    files: HashMap<EditedFile, Vec<Edit>>,
    alerted: HashMap<EditedFile, HashSet<(Life, Life)>>,
}

impl Edits {
    /// Notes an edit. Returns the other live sessions' edits of the same file within an hour of which neither session was
    /// alerted before.
    pub fn note(
        &mut self,
        file: &EditedFile,
        by: &Life,
        worktree: &Path,
        now: Instant,
        is_alive: impl Fn(&Life) -> bool,
    ) -> Vec<Edit> {
        let is_recent = |it: &Edit| now.saturating_duration_since(it.at) <= TOGETHER;
        if self.files.len() >= MAX_FILES {
            self.files.retain(|_, edits| edits.iter().any(is_recent));
        }
        if self.files.len() >= MAX_FILES && !self.files.contains_key(file) {
            return Vec::new();
        }
        let edits = self.files.entry(file.clone()).or_default();
        edits.retain(|it| it.by != *by && is_recent(it) && is_alive(&it.by));
        let alerted = self.alerted.entry(file.clone()).or_default();
        alerted.retain(|(one, other)| is_alive(one) && is_alive(other));
        let others = edits.iter().filter(|it| alerted.insert(pair(by, &it.by)));
        let others: Vec<Edit> = others.cloned().collect();
        if alerted.is_empty() {
            self.alerted.remove(file);
        }
        edits.push(Edit {
            by: by.clone(),
            worktree: worktree.to_owned(),
            at: now,
        });
        others
    }
}

/// The same for both orders.
fn pair(one: &Life, other: &Life) -> (Life, Life) {
    let (first, second) = if one <= other {
        (one, other)
    } else {
        (other, one)
    };
    (first.clone(), second.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> EditedFile {
        EditedFile {
            repository: "/r/.git".into(),
            path: path.into(),
        }
    }

    fn life(name: &str) -> Life {
        let key = ("p".parse().unwrap(), name.parse().unwrap());
        (key, Timestamp::default())
    }

    /// Notes an edit; returns the names of the others.
    fn edit(edits: &mut Edits, path: &str, name: &str, at: Instant) -> Vec<String> {
        let others = edits.note(&file(path), &life(name), Path::new("/w"), at, |_| true);
        others.iter().map(|it| it.by.0.1.to_string()).collect()
    }

    #[test]
    fn two_sessions_are_alerted_once_about_each_file() {
        let (mut edits, now) = (Edits::default(), Instant::now());
        assert!(edit(&mut edits, "a", "w1", now).is_empty());
        assert!(edit(&mut edits, "a", "w1", now).is_empty());
        assert_eq!(edit(&mut edits, "a", "w2", now), ["w1"]);
        assert!(edit(&mut edits, "a", "w1", now).is_empty(), "never twice");
        assert!(edit(&mut edits, "a", "w2", now).is_empty(), "never twice");
        assert_eq!(edit(&mut edits, "a", "w3", now), ["w1", "w2"]);
        assert!(edit(&mut edits, "b", "w1", now).is_empty());
        assert_eq!(edit(&mut edits, "b", "w2", now), ["w1"]);
    }

    #[test]
    fn an_edit_more_than_an_hour_ago_raises_no_alert() {
        let (mut edits, now) = (Edits::default(), Instant::now());
        edit(&mut edits, "a", "w1", now);
        let later = now + TOGETHER + Duration::from_secs(1);
        assert!(edit(&mut edits, "a", "w2", later).is_empty());
        assert_eq!(edit(&mut edits, "a", "w1", later + TOGETHER), ["w2"]);
    }

    #[test]
    fn a_session_that_ended_raises_no_alert_and_one_that_resumed_does_again() {
        let (mut edits, now) = (Edits::default(), Instant::now());
        let resumed = (life("w1").0, Timestamp::from_millis(1));
        edit(&mut edits, "a", "w1", now);
        assert_eq!(edit(&mut edits, "a", "w2", now), ["w1"]);
        let is_alive = |it: &Life| *it != life("w1");
        let note = |edits: &mut Edits, by: &Life| {
            let others = edits.note(&file("a"), by, Path::new("/w"), now, is_alive);
            others.len()
        };
        assert_eq!(note(&mut edits, &life("w3")), 1, "w2 alone");
        assert_eq!(note(&mut edits, &resumed), 2);
    }

    #[test]
    fn the_memory_of_files_is_bounded_and_frees_itself() {
        let (mut edits, now) = (Edits::default(), Instant::now());
        for n in 0..=MAX_FILES {
            edit(&mut edits, &n.to_string(), "w1", now);
        }
        assert_eq!(edits.files.len(), MAX_FILES);
        let later = now + TOGETHER + Duration::from_secs(1);
        edit(&mut edits, "new", "w1", later);
        assert_eq!(edits.files.len(), 1);
    }
}
