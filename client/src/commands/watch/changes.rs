//! Waits for changes in a directory.

use std::path::Path;
use std::time::Duration;

/// How often to check if the system does not report changes.
const POLL: Duration = Duration::from_millis(500);

/// How often to check in any case, because some changes are not reported: those of other machines, and of a directory
/// that replaced this one.
#[cfg(target_os = "linux")]
const LOOK: Duration = Duration::from_secs(2);

/// The changes in a directory.
pub(super) struct Changes {
    #[cfg(target_os = "linux")]
    inotify: Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>>,
}

#[cfg(target_os = "linux")]
impl Changes {
    /// Watches `dir` from now on.
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
        // The function that replaces this one is unsafe, because descriptors may be closed early; an owned one stays
        // open.
        #[allow(deprecated)]
        let inotify = watched.ok().and_then(|inotify| {
            tokio::io::unix::AsyncFd::with_interest(inotify, tokio::io::Interest::READABLE).ok()
        });
        Self { inotify }
    }

    /// Returns after a change, or when the next check is due.
    pub(super) async fn next(&mut self) {
        let Some(inotify) = &self.inotify else {
            return tokio::time::sleep(POLL).await;
        };
        if let Ok(Ok(mut ready)) = tokio::time::timeout(LOOK, inotify.readable()).await {
            // The events are discarded, because the caller checks every file.
            let mut buffer = [0; 4096];
            while rustix::io::read(inotify.get_ref(), &mut buffer[..]).is_ok_and(|count| count > 0)
            {
            }
            ready.clear_ready();
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Changes {
    /// Watches `dir`: on this system by checking regularly.
    pub(super) fn of(_dir: &Path) -> Self {
        Self {}
    }

    /// Returns when the next check is due.
    pub(super) async fn next(&mut self) {
        tokio::time::sleep(POLL).await;
    }
}
