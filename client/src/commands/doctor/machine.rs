//! Checks this machine: free disk space, the spool, the status file.

use std::fs;
use std::path::Path;

use hub_protocol::{Counted, Timestamp};

use super::finding::Finding;
use crate::commands::watch;
use crate::identity::Context;

/// With fewer free bytes than this, the hub soon refuses to store anything.
const TOO_LITTLE: u64 = 64 << 20;
/// With fewer free bytes than this, the report warns.
const LITTLE: u64 = 1 << 30;

pub(super) fn check(context: &Context, hub_is_up: bool) -> Vec<Finding> {
    let state_dir = &context.settings.state_dir.value;
    let mut found = Vec::new();
    found.extend(room(state_dir));
    found.extend(spool(state_dir, hub_is_up));
    found.extend(rejected(state_dir));
    if let Some(file) = context.env.path("HUB_STATUS_FILE") {
        found.push(status_file(&file));
    }
    found
}

fn room(state_dir: &Path) -> Option<Finding> {
    let stat = rustix::fs::statvfs(state_dir).ok()?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let what = format!("{} MiB are free in {}", free >> 20, state_dir.display());
    Some(match free {
        ..TOO_LITTLE => Finding::problem(
            what,
            "free some space: the hub will soon refuse to store anything",
        ),
        TOO_LITTLE..LITTLE => Finding::warn(
            what,
            "free some space before the hub refuses to store anything",
        ),
        _ => Finding::ok(what),
    })
}

/// The finding about spooled requests. Their files' names begin with the time when they were made.
fn spool(state_dir: &Path, hub_is_up: bool) -> Option<Finding> {
    let names = files(&state_dir.join("spool"));
    let Some(oldest) = names.iter().min() else {
        return hub_is_up.then(|| Finding::ok("the spool is empty"));
    };
    let nanos = oldest.get(..16).map(|hex| i64::from_str_radix(hex, 16));
    let since = match nanos {
        Some(Ok(nanos)) => Timestamp::from_millis(nanos / 1_000_000).to_string(),
        _ => "an unknown time".into(),
    };
    let count = Counted(names.len(), "request");
    Some(if hub_is_up {
        Finding::problem(
            format!("the hub does not read the spool: {count} since {since}"),
            "if this lasts for a minute, read the hub's log, and check that this is the state directory of that hub",
        )
    } else {
        Finding::warn(
            format!("the hub was down since {since}: {count} in the spool"),
            "nothing is lost: the hub reads them when it starts (hubctl up)",
        )
    })
}

fn rejected(state_dir: &Path) -> Option<Finding> {
    let dir = state_dir.join("spool/rejected");
    let count = files(&dir).len();
    (count > 0).then(|| {
        Finding::warn(
            format!("the hub refused {}", Counted(count, "spooled notification")),
            format!("inspect and remove them: {}", dir.display()),
        )
    })
}

fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect()
}

/// Checks whether the hub would read this session's status file.
fn status_file(file: &Path) -> Finding {
    let shown = file.display();
    let bad = |why: &str| {
        Finding::problem(
            format!("the status file {shown} {why}: the hub ignores it"),
            "set HUB_STATUS_FILE to a regular file of your own",
        )
    };
    match watch::read(file) {
        Ok(Some(_)) => Finding::ok(format!("the status file {shown} is readable")),
        Ok(None) if file.parent().is_some_and(Path::is_dir) => {
            Finding::ok(format!("the status file {shown} does not exist yet"))
        }
        Ok(None) => bad("is in a directory that does not exist"),
        Err(error) => bad(&format!("cannot be read: {error}")),
    }
}
