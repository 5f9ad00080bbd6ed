//! The files of a project on this machine, apart from the hub's log: spooled requests and status files.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use hub_protocol::git::{self, Answers, Home, Repository};
use hub_protocol::{ProjectName, Session, SpoolKey, Spooled};
use serde_json::Value;

use crate::identity::Context;
use crate::publish::status_file::IN_WORKTREE;
use crate::spool::Spool;
use crate::system::no_follow::Dir;

/// The keys of the requests that are spooled for `project`.
pub(super) fn spooled(spool: &Spool, project: &ProjectName) -> Vec<SpoolKey> {
    let of = |request: &Spooled| match request {
        Spooled::Post(post) => in_post(post.get()),
        Spooled::Hook(hook) => in_query(&hook.query),
    };
    spool
        .items()
        .filter(|item| of(&item.request) == project.as_str())
        .map(|item| item.key)
        .collect()
}

fn in_post(json: &str) -> String {
    // Parsing all of the post would make this program larger.
    let post: Value = serde_json::from_str(json).unwrap_or_default();
    named(post["project"].as_str().unwrap_or_default())
}

fn in_query(query: &str) -> String {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let project = pairs.find(|(name, _)| *name == "project");
    let value = project.map_or("", |(_, value)| value);
    named(&percent_encoding::percent_decode_str(value).decode_utf8_lossy())
}

fn named(project: &str) -> String {
    match project {
        "" => ProjectName::default().to_string(),
        project => project.to_owned(),
    }
}

/// A file to remove, in a directory that was opened without following links below its worktree.
pub(super) struct FoundFile {
    dir: Rc<Dir>,
    name: OsString,
    /// The path, for messages to people.
    pub(super) path: PathBuf,
}

impl FoundFile {
    /// Removes the file. Returns whether that succeeded.
    pub(super) fn remove(&self) -> bool {
        self.dir.remove(Path::new(&self.name)).is_ok()
    }
}

/// The status files of `project`: those of its sessions in the state directory, and those in its worktrees if this
/// command runs in one of them.
pub(super) async fn status_files(
    context: &Context,
    project: &ProjectName,
    sessions: &[Session],
) -> Vec<FoundFile> {
    let state = context.settings.state_dir.value.join("status");
    let mut names = BTreeSet::new();
    for session in sessions {
        let known = [session.id.as_str(), session.name.as_str()].into_iter();
        names.extend(known.filter(|name| !name.is_empty() && !name.contains('/')));
    }
    let mut found = Vec::new();
    // If --url or --socket names another hub, the files in the state directory are not that hub's.
    if context.settings.is_own_hub()
        && let Ok(dir) = Dir::open(&state)
    {
        let names = names.into_iter().map(OsString::from).collect();
        found.extend(in_directory(dir, &state, names));
    }
    let own = context.project(None).await;
    if own.is_ok_and(|own| own.value == *project) {
        for worktree in worktrees(&context.env.cwd) {
            let opened = Dir::open(&worktree).and_then(|top| top.walk(Path::new(IN_WORKTREE)));
            if let Ok((names, dir)) = opened.and_then(|dir| Ok((dir.files()?, dir))) {
                found.extend(in_directory(dir, &worktree.join(IN_WORKTREE), names));
            }
        }
    }
    found
}

/// The entries of `names` that are files in `dir`.
fn in_directory(dir: Dir, path: &Path, names: Vec<OsString>) -> impl Iterator<Item = FoundFile> {
    let (dir, path) = (Rc::new(dir), path.to_owned());
    let files = names.into_iter().map(move |name| FoundFile {
        path: path.join(&name),
        dir: Rc::clone(&dir),
        name,
    });
    files.filter(|it| it.dir.is_file(Path::new(&it.name)))
}

/// All worktrees of the repository of `dir`. A repository could name any directory as its worktree, so each must name the
/// repository too.
fn worktrees(dir: &Path) -> BTreeSet<PathBuf> {
    let until = Instant::now() + git::PATIENCE;
    let Ok(answers) = Answers::about(dir, until) else {
        return BTreeSet::new();
    };
    let Some(repository) = &answers.repository else {
        return BTreeSet::new();
    };
    let mut found = BTreeSet::new();
    if let Some(Home::MainWorktree(main)) = answers.home() {
        found.insert(main.clone());
    }
    for top in repository.listed_worktrees(until) {
        let other = Repository::of(&top, Instant::now() + git::PATIENCE);
        let own = other.filter(|it| it.common_dir == repository.common_dir);
        found.extend(own.and_then(|it| it.worktree));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spooled_request_belongs_to_the_project_that_it_names() {
        assert_eq!(in_post(r#"{"msg":"x","project":"/src/a"}"#), "/src/a");
        assert_eq!(in_post(r#"{"msg":"x"}"#), "default");
        assert_eq!(in_query("session=s&project=%2Fsrc%2Fa%20b"), "/src/a b");
        assert_eq!(in_query(""), "default");
    }
}
