//! What a project has on this machine besides the hub's log.

use std::fs;
use std::path::{Path, PathBuf};

use hub_protocol::{ProjectName, Spooled};
use serde_json::Value;

use crate::fields::text;
use crate::git::{Home, Repository};
use crate::here::Here;
use crate::spool::Spool;

/// The keys of what is spooled for `project`.
pub(super) fn spooled(spool: &Spool, project: &ProjectName) -> Vec<String> {
    let items = spool.items().into_iter();
    let of = |said: &Spooled| match said {
        Spooled::Post(post) => in_post(post.get()),
        Spooled::Hook(hook) => in_query(&hook.query),
    };
    items
        .filter(|item| of(&item.said) == project.as_str())
        .map(|item| item.key)
        .collect()
}

fn in_post(json: &str) -> String {
    let post: Value = serde_json::from_str(json).unwrap_or_default();
    named(text(&post, "project"))
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

/// The status files of `project`: of its sessions in the state directory, and of its worktrees where this is one.
pub(super) fn status_files(here: &Here, project: &ProjectName, sessions: &[Value]) -> Vec<PathBuf> {
    let state = here.settings.state_dir.value.join("status");
    let names = sessions
        .iter()
        .flat_map(|it| [text(it, "id"), text(it, "name")]);
    let mut files: Vec<PathBuf> = names
        .filter(|name| !name.is_empty() && !name.contains('/'))
        .map(|name| state.join(name))
        .filter(|file| is_plain(file))
        .collect();
    let is_here = here.project(None).is_ok_and(|own| own.value == *project);
    if let Some(repository) = Repository::discover(&here.env.cwd).filter(|_| is_here) {
        for worktree in worktrees(&repository) {
            files.extend(plain_files(&worktree.join(".hub/status")));
        }
    }
    files.sort();
    files.dedup();
    files
}

/// The main worktree and the linked ones, as gitrepository-layout(5) keeps them.
fn worktrees(repository: &Repository) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Home::MainWorktree(main) = repository.home() {
        found.push(main);
    }
    let linked = fs::read_dir(repository.common_dir.join("worktrees"));
    for entry in linked.into_iter().flatten().flatten() {
        let Ok(git_file) = fs::read_to_string(entry.path().join("gitdir")) else {
            continue;
        };
        found.extend(Path::new(git_file.trim()).parent().map(Path::to_owned));
    }
    found
}

fn plain_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|file| is_plain(file))
        .collect()
}

/// A link is somebody else's way to somebody else's file.
fn is_plain(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok_and(|meta| meta.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spooled_belongs_to_the_project_that_it_names() {
        assert_eq!(in_post(r#"{"msg":"x","project":"/src/a"}"#), "/src/a");
        assert_eq!(in_post(r#"{"msg":"x"}"#), "default");
        assert_eq!(in_query("session=s&project=%2Fsrc%2Fa%20b"), "/src/a b");
        assert_eq!(in_query(""), "default");
    }
}
