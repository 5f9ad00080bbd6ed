//! Who speaks, by what the hub knows of its sessions: for a shell that an agent's session started, or beside it.

use std::path::Path;
use std::time::Duration;

use hub_protocol::{InboxName, Process};
use serde_json::Value;

use crate::env::Sourced;
use crate::fields::{list, text};
use crate::git::Repository;
use crate::here::Here;
use crate::hub::parse;
use crate::process::ancestors;
use crate::session::request;

/// How long the hub may take to tell: this is asked only by who has no name, and must not hold up what is to be said.
const PATIENCE: Duration = Duration::from_millis(250);

/// The live session that is an ancestor of this process, or else the one session in this worktree.
pub(super) async fn registered(here: &Here) -> Option<Sourced<InboxName>> {
    let asked = async {
        let answer = here.hub().ok()?.text(&request(None, false)).await.ok()?;
        parse::<Value>(&answer).ok()
    };
    let answer = tokio::time::timeout(PATIENCE, asked).await.ok()??;
    let sessions = list(&answer, "sessions");
    if let Some(found) = by_process(sessions, &ancestors()) {
        return Some(Sourced::new(found, "session of an ancestor process"));
    }
    let worktree = Repository::discover(&here.env.cwd)?.worktree?;
    let found = by_worktree(sessions, &worktree, &crate::process::host())?;
    Some(Sourced::new(found, "the one session in this worktree"))
}

/// The session of the nearest of `ancestors`.
fn by_process(sessions: &[Value], ancestors: &[Process]) -> Option<InboxName> {
    let of = |session: &Value| -> Option<(Process, InboxName)> {
        let process = serde_json::from_value(session.get("process")?.clone()).ok()?;
        Some((process, text(session, "id").parse().ok()?))
    };
    let known: Vec<_> = sessions.iter().filter_map(of).collect();
    let session = |ancestor: &Process| known.iter().find(|(process, _)| process == ancestor);
    let (_, id) = ancestors.iter().find_map(session)?;
    Some(id.clone())
}

/// The session that is in `worktree` of this machine, if it is the only one.
fn by_worktree(sessions: &[Value], worktree: &Path, host: &str) -> Option<InboxName> {
    let is_here = |session: &&Value| {
        let (on, cwd) = (text(session, "host"), text(session, "cwd"));
        let place = || Repository::discover(Path::new(cwd))?.worktree;
        (on.is_empty() || on == host)
            && Path::new(cwd).starts_with(worktree)
            && place().as_deref() == Some(worktree)
    };
    let mut here = sessions.iter().filter(is_here);
    match (here.next(), here.next()) {
        (Some(only), None) => text(only, "id").parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn process(pid: u32, started: u64) -> Process {
        Process {
            pid,
            started: Some(started),
            boot_id: Some("b".into()),
        }
    }

    #[test]
    fn the_nearest_ancestor_speaks_and_a_number_that_is_anothers_now_does_not() {
        let sessions = [
            json!({"id": "far", "process": process(1, 10)}),
            json!({"id": "near", "process": process(2, 20)}),
            json!({"id": "none"}),
        ];
        let found = |ancestors: &[Process]| by_process(&sessions, ancestors);
        let both = [process(2, 20), process(1, 10)];
        assert_eq!(found(&both).unwrap().as_str(), "near");
        assert_eq!(found(&both[1..]).unwrap().as_str(), "far");
        assert_eq!(found(&[process(2, 21)]), None);
    }

    #[test]
    fn of_two_sessions_in_a_worktree_none_is_guessed() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path();
        for dir in ["objects", "refs"] {
            std::fs::create_dir_all(top.join(".git").join(dir)).unwrap();
        }
        std::fs::write(top.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::create_dir(top.join("src")).unwrap();
        let at = |id: &str, host: &str| json!({"id": id, "host": host, "cwd": top.join("src")});
        let found = |sessions: &[Value]| by_worktree(sessions, top, "here");
        let one = [at("a", "here"), at("b", "elsewhere")];
        assert_eq!(found(&one).unwrap().as_str(), "a");
        assert_eq!(found(&[at("a", "here"), at("b", "here")]), None);
        assert_eq!(found(&[json!({"id": "a", "cwd": "/"})]), None);
    }
}
