//! Alerts about files that two live sessions of one repository edit, also in different worktrees of it.
//!
//! The work begins after the hook was answered, and only if a tool has edited a file.

use std::path::{Component, Path, PathBuf};
use std::time::Instant;

use hub_core::command::{Command, IdempotencyKey};
use hub_core::fold::{SessionKey, State};
use hub_core::notification::Draft;
use hub_core::rejected::Rejected;
use hub_core::waiters::{Edit, EditedFile, Life, Waiters};
use hub_protocol::git;
use hub_protocol::{InboxName, Kind, ProjectName, Timestamp};

use crate::Hub;
use crate::places;

/// An alert is of no use on the next day.
const TTL_MS: i64 = 24 * 3600 * 1000;
/// Why the alert wakes nobody.
const RIDES: &str = "two sessions edited the same file";

/// Two sessions that edited one file.
struct Collision {
    file: EditedFile,
    /// The session that edited it now, and then the one that did before, each with its name.
    sessions: [(Life, String, PathBuf); 2],
    minutes: u64,
}

/// Notes that a session has edited these files, and alerts both sessions if another one edited one of them within an
/// hour.
pub(super) async fn note(hub: Hub, place: SessionKey, cwd: Option<String>, paths: Vec<String>) {
    let found = tokio::task::spawn_blocking(move || {
        let cwd = cwd.map(PathBuf::from).unwrap_or_default();
        let files = paths.iter().filter_map(|path| locate(&cwd.join(path)));
        files.collect::<Vec<_>>()
    });
    let files = found.await.unwrap_or_default();
    let collisions = hub.read(|state, waiters| {
        let mut waiters = waiters.write();
        collisions(state, &mut waiters, &place, &files)
    });
    for collision in collisions.unwrap_or_default() {
        if let Err(error) = alert(&hub, &collision).await {
            tracing::warn!(%error, "two sessions could not be alerted that they edit the same file");
        }
    }
}

/// The file of a repository at an absolute path, and its worktree. Links are followed, except for the file itself, which
/// may have been removed.
fn locate(path: &Path) -> Option<(EditedFile, PathBuf)> {
    let is_plain = |it: Component| !matches!(it, Component::ParentDir | Component::CurDir);
    let name = path.file_name()?;
    let dir = path.parent().filter(|dir| dir.is_absolute())?;
    let dir = std::fs::canonicalize(dir).ok()?;
    let answers = places::answers(&dir, Instant::now() + git::PATIENCE).ok()?;
    let found = answers.repository.as_ref()?;
    let worktree = found.worktree.clone()?;
    let path = dir.strip_prefix(&worktree).ok()?.join(name);
    let file = EditedFile {
        repository: found.common_dir.clone(),
        path,
    };
    let is_sound = file.path.components().all(is_plain);
    is_sound.then_some((file, worktree))
}

fn collisions(
    state: &State,
    waiters: &mut Waiters,
    place: &SessionKey,
    files: &[(EditedFile, PathBuf)],
) -> Vec<Collision> {
    let place = state.sessions.resolve_key(place.0.clone(), place.1.clone());
    let Some(by) = life(state, &place) else {
        return Vec::new();
    };
    let now = Instant::now();
    let is_alive = |it: &Life| life(state, &it.0).as_ref() == Some(it);
    let named = |life: &Life, worktree: &Path| {
        let (project, key) = &life.0;
        let name = state.sessions.shown_name(project, key).to_owned();
        (life.clone(), name, worktree.to_owned())
    };
    let mut found = Vec::new();
    for (file, worktree) in files {
        let others = waiters.edits().note(file, &by, worktree, now, is_alive);
        found.extend(others.into_iter().map(
            |Edit {
                 by: other,
                 worktree: before,
                 at,
             }| Collision {
                file: file.clone(),
                sessions: [named(&by, worktree), named(&other, &before)],
                minutes: now.saturating_duration_since(at).as_secs() / 60,
            },
        ));
    }
    found
}

/// A live session, with its beginning.
fn life(state: &State, place: &SessionKey) -> Option<Life> {
    let session = state.sessions.get(&place.0, &place.1)?;
    let registered = session.registered.as_ref().filter(|_| session.is_alive())?;
    Some((place.clone(), registered.since))
}

/// Sends both alerts, once for each pair and file, also after a restart of the hub.
async fn alert(hub: &Hub, collision: &Collision) -> Result<(), Rejected> {
    let [now, before] = &collision.sessions;
    let path = collision.file.path.to_string_lossy();
    let ago = match collision.minutes {
        0 => "just now".to_owned(),
        minutes => format!("{minutes} min ago"),
    };
    let drafts = vec![
        draft(now, before, &path, &ago),
        draft(before, now, &path, "just now"),
    ];
    let mut lives = [&now.0, &before.0]
        .map(|((project, key), since)| format!("{project} {key} {}", since.as_millis()));
    lives.sort();
    let repository = collision.file.repository.to_string_lossy();
    let pair = format!("{} {repository} {path}", lives.join(" "));
    let once = IdempotencyKey::new(&format!("same-file {pair}"), b"");
    let once = Some(once);
    hub.submit(Command::Notify { drafts, once }).await?;
    Ok(())
}

/// The alert to one session about the other.
fn draft(
    ((to, _), _, own): &(Life, String, PathBuf),
    (_, other, worktree): &(Life, String, PathBuf),
    path: &str,
    ago: &str,
) -> Draft {
    let (project, key): (&ProjectName, &InboxName) = (&to.0, &to.1);
    let place = if own == worktree {
        "in the same worktree".to_owned()
    } else {
        format!("in worktree {}", worktree.display())
    };
    let hub = "hub".parse().expect("a constant name");
    let msg = format!("session {other} also edited {path} {ago}, {place}");
    let now = Timestamp::now();
    let mut draft = Draft::new((project, &hub), Kind::Message, msg, now, TTL_MS);
    draft.body.to = Some(key.clone());
    draft.body.data = Some(serde_json::json!({ "file": path, "session": other }));
    draft.explicit_kind = false;
    draft.ride_along(RIDES);
    draft
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_outside_of_a_repository_is_not_located() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(locate(&dir.path().join("a")), None);
        assert_eq!(locate(Path::new("a")), None);
        assert_eq!(locate(Path::new("/")), None);
    }
}
