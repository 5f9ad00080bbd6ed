//! When to look at a directory again.

use std::path::Path;
use std::time::Duration;

/// How often to look where nobody tells of changes.
const POLL: Duration = Duration::from_millis(500);

/// How often to look in any case: other machines' changes, and a directory's that took its place, are not told.
#[cfg(target_os = "linux")]
const LOOK: Duration = Duration::from_secs(2);

/// Changes in a directory.
pub(super) struct Changes {
    #[cfg(target_os = "linux")]
    told: Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>>,
}

#[cfg(target_os = "linux")]
impl Changes {
    /// The changes in `dir` from now on.
    pub(super) fn of(dir: &Path) -> Self {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let flags = WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_TO
            | WatchFlags::ATTRIB;
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        let watched = inotify.and_then(|inotify| {
            add_watch(&inotify, dir, flags)?;
            Ok(inotify)
        });
        // Its successor is unsafe code, for the sake of descriptors that close early; an owned one stays open.
        #[allow(deprecated)]
        let told = watched.ok().and_then(|inotify| {
            tokio::io::unix::AsyncFd::with_interest(inotify, tokio::io::Interest::READABLE).ok()
        });
        Self { told }
    }

    /// Returns after a change, or when it is time to look.
    pub(super) async fn next(&mut self) {
        let Some(told) = &self.told else {
            return tokio::time::sleep(POLL).await;
        };
        if let Ok(Ok(mut ready)) = tokio::time::timeout(LOOK, told.readable()).await {
            // What changed is found by looking.
            let mut buffer = [0; 4096];
            while rustix::io::read(told.get_ref(), &mut buffer[..]).is_ok_and(|count| count > 0) {}
            ready.clear_ready();
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Changes {
    /// The changes in `dir` from now on.
    pub(super) fn of(_dir: &Path) -> Self {
        Self {}
    }

    /// Returns when it is time to look.
    pub(super) async fn next(&mut self) {
        tokio::time::sleep(POLL).await;
    }
}
