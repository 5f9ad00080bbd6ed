//! The id of a job's session when `--session` gives none.

use std::fs::{File, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use hub_protocol::{InboxName, ProjectName};
use sha2::{Digest as _, Sha256};

use crate::identity::Context;
use crate::system::private::make_private;

/// How many running jobs of one name get an id of their own.
const MOST: usize = 100;

/// The beginning of each id. Without it an id could be the name of an agent, which is mostly called by its directory, as the
/// program that is built there often is.
const PREFIX: &str = "run-";

/// The most bytes of an id without its prefix and its number.
const MAX_BASE: usize = 56;

/// Returns an id for a job called `name`: `run-make`, or `run-make-2` while another `make` of this project runs. The file is
/// locked as long as the job runs, so that no other takes the id; the kernel frees the lock when this process ends, in
/// any way. It is `None` if the state directory cannot be used, because the job runs also then.
pub(super) fn free_id(
    context: &Context,
    project: &ProjectName,
    name: &str,
) -> (InboxName, Option<File>) {
    let base = plain(name);
    let Some(dir) = directory(context) else {
        return (base, None);
    };
    let numbered = (2..=MOST).map(|number| format!("{base}-{number}").parse());
    for id in std::iter::once(Ok(base.clone())).chain(numbered).flatten() {
        match lock(&dir.join(file_name(project, &id))) {
            Ok(lock) => return (id, Some(lock)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(_)) => break,
        }
    }
    (base, None)
}

/// The directory of the locks of running jobs.
fn directory(context: &Context) -> Option<PathBuf> {
    context.settings.demand_state_dir().ok()?;
    let dir = context.settings.state_dir.value.join("run");
    make_private(&dir).ok().map(|()| dir)
}

/// The name of a lock file. The project is often a path, and may be longer than a file's name.
fn file_name(project: &ProjectName, id: &InboxName) -> String {
    let digest = Sha256::digest(project.as_str());
    let [a, b, c, d] = [0, 1, 2, 3].map(|n| digest[n]);
    let own = u32::from_be_bytes([a, b, c, d]);
    format!("{id}.{own:08x}")
}

fn lock(path: &Path) -> Result<File, TryLockError> {
    let mut open = File::options();
    let file = open.write(true).create(true).truncate(false).mode(0o600);
    let file = file.open(path).map_err(TryLockError::Error)?;
    file.try_lock().map(|()| file)
}

/// Returns the name of a job with such an id, if it was given none.
pub(super) fn shown(id: &InboxName) -> &str {
    let id = id.as_str();
    id.strip_prefix(PREFIX).unwrap_or(id)
}

/// Makes an id of a name for people or of a command's base name.
fn plain(name: &str) -> InboxName {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || "._-:@+".contains(c) => c,
        _ => '-',
    };
    let id: String = name.chars().map(plain).take(MAX_BASE).collect();
    let id = id.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let id = Some(id).filter(|it| !it.is_empty());
    let id = id.and_then(|id| format!("{PREFIX}{id}").parse().ok());
    id.unwrap_or_else(|| "run-command".parse().expect("'run-command' is a name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_of_a_name() {
        for (name, id) in [
            ("make", "run-make"),
            ("python3.12", "run-python3.12"),
            (".build it", "run-build-it"),
            ("nightly build", "run-nightly-build"),
            ("c++", "run-c++"),
            ("", "run-command"),
            ("a..b", "run-command"),
            ("all", "run-all"),
        ] {
            assert_eq!(plain(name).as_str(), id, "{name}");
        }
    }
}
