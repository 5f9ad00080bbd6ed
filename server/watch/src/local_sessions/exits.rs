//! Reports that processes have exited, by a file descriptor of each (`pidfd_open(2)`).
//!
//! The descriptor may be of another process with the same number; then its exit only causes a look too many.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hub_protocol::Process;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};

use super::{ProcessId, process_id};

/// Limit of watched processes, because each takes a file descriptor. The others are polled.
const MAX_WATCHED: usize = 256;

/// The watched processes.
#[derive(Default)]
pub(super) struct Exits {
    tasks: JoinSet<()>,
    watched: HashMap<ProcessId, AbortHandle>,
    exited: Arc<Notify>,
}

impl Exits {
    /// Watches these processes and no others. A process that exits later is reported; one that is gone already is not.
    pub(super) fn watch<'a>(&mut self, processes: impl Iterator<Item = &'a Process>) {
        let wanted = processes.map(process_id);
        let wanted: HashSet<ProcessId> = wanted.take(MAX_WATCHED).collect();
        self.watched.retain(|process, task| {
            let keep = wanted.contains(process);
            if !keep {
                task.abort();
            }
            keep
        });
        while self.tasks.try_join_next().is_some() {}
        for process in wanted {
            if !self.watched.contains_key(&process) {
                let exit = exit_of(process.0);
                let exited = Arc::clone(&self.exited);
                let task = self.tasks.spawn(async move {
                    if exit.await {
                        exited.notify_one();
                    }
                });
                self.watched.insert(process, task);
            }
        }
    }

    /// Completes after the next exit.
    pub(super) async fn next(&self) {
        self.exited.notified().await;
    }
}

/// Completes when the process exits, or at once if it has exited; with false if it is not watched.
#[cfg(target_os = "linux")]
async fn exit_of(pid: u32) -> bool {
    use rustix::io::Errno;
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    let opened = pidfd_open(pid, PidfdFlags::NONBLOCK);
    if opened.as_ref().err() == Some(&Errno::SRCH) {
        return true;
    }
    // The function that replaces this one is unsafe, because descriptors may be closed early; an owned one stays open.
    #[allow(deprecated)]
    let opened = opened
        .ok()
        .and_then(|fd| AsyncFd::with_interest(fd, Interest::READABLE).ok());
    let Some(fd) = opened else { return false };
    fd.readable().await.is_ok()
}

#[cfg(not(target_os = "linux"))]
async fn exit_of(_: u32) -> bool {
    false
}
