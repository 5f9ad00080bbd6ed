//! The running servers, so that an interrupted bench ends them and removes its directory.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};

/// Exit code that shells expect after SIGINT.
const INTERRUPTED: i32 = 130;

/// Process ids of the running servers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Running(Arc<Mutex<Vec<u32>>>);

impl Running {
    pub(crate) fn add(&self, pid: u32) {
        self.with(|pids| pids.push(pid));
    }

    /// Removes a server that has ended.
    pub(crate) fn remove(&self, pid: u32) {
        self.with(|pids| pids.retain(|&known| known != pid));
    }

    /// Installs handlers of SIGINT and SIGTERM that end all servers, remove `dir` and then exit.
    pub(crate) fn end_on_signal(&self, dir: PathBuf) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let running = self.clone();
        std::thread::spawn(move || {
            let waited = runtime.block_on(async {
                let mut terminate = signal(SignalKind::terminate())?;
                tokio::select! {
                    _ = terminate.recv() => std::io::Result::Ok(()),
                    interrupted = tokio::signal::ctrl_c() => interrupted,
                }
            });
            if waited.is_ok() {
                running.with(|pids| end(pids));
                let _ = std::fs::remove_dir_all(dir);
                std::process::exit(INTERRUPTED);
            }
        });
        Ok(())
    }

    fn with(&self, act: impl FnOnce(&mut Vec<u32>)) {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn end(pids: &[u32]) {
    for &pid in pids {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
