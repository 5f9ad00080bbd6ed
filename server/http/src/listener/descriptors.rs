//! The limit of open files: one for each connection, and some for the hub itself.

use hub_config::Limits;
use rustix::process::{Resource, getrlimit, setrlimit};

/// Descriptors for the journal, the listeners and the runtime.
const OWN: u64 = 64;

/// Raises the process's soft limit of open files as far as allowed, and logs a warning if that is not enough.
pub(super) fn raise(limits: &Limits) {
    let mut limit = getrlimit(Resource::Nofile);
    let needed = 2 * u64::from(limits.connections.get()) + OWN;
    if limit.current.is_some_and(|current| current < needed) {
        limit.current = Some(limit.maximum.map_or(needed, |maximum| maximum.min(needed)));
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::warn!(%error, "cannot raise the limit of open files");
        }
    }
    let current = getrlimit(Resource::Nofile).current;
    if current.is_some_and(|current| current < needed) {
        tracing::warn!(
            needed,
            current,
            "the limit of open files is below limits.connections"
        );
    }
}
