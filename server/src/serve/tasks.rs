//! The tasks of a running hub, each with a name. One that fails or panics is named in the log and ends the hub.

use std::collections::HashMap;
use std::future::Future;
use std::io;

use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

/// Tasks that run until `shutdown`; one with nothing to do may end before.
pub(super) struct Tasks {
    running: JoinSet<io::Result<()>>,
    names: HashMap<Id, &'static str>,
    shutdown: CancellationToken,
}

impl Tasks {
    /// No tasks. A failure cancels `shutdown`.
    pub(super) fn new(shutdown: CancellationToken) -> Self {
        Self {
            running: JoinSet::new(),
            names: HashMap::new(),
            shutdown,
        }
    }

    /// Starts a task that can only fail by a panic.
    pub(super) fn spawn(
        &mut self,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        self.spawn_fallible(name, async {
            task.await;
            Ok(())
        });
    }

    /// Starts a task.
    pub(super) fn spawn_fallible(
        &mut self,
        name: &'static str,
        task: impl Future<Output = io::Result<()>> + Send + 'static,
    ) {
        let task = self.running.spawn(task);
        self.names.insert(task.id(), name);
    }

    /// Waits until all tasks have ended; returns the first failure.
    pub(super) async fn join(mut self) -> anyhow::Result<()> {
        let mut first = Ok(());
        while let Some(ended) = self.running.join_next_with_id().await {
            let (id, ended) = match ended {
                Ok((id, ended)) => (id, ended.map_err(anyhow::Error::from)),
                Err(panicked) => (panicked.id(), Err(panicked.into())),
            };
            first = first.and(self.note_end(self.names[&id], ended));
        }
        first
    }

    fn note_end(&self, task: &str, ended: anyhow::Result<()>) -> anyhow::Result<()> {
        let Err(error) = ended else {
            tracing::debug!(task, "a task of the hub has ended");
            return Ok(());
        };
        tracing::error!(task, %error, "a task of the hub has failed");
        self.shutdown.cancel();
        Err(error.context(format!("the task '{task}'")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins tasks of which one runs until shutdown, one has nothing to do, and one is `last`.
    async fn joined(
        last: impl Future<Output = io::Result<()>> + Send + 'static,
    ) -> anyhow::Result<()> {
        let shutdown = CancellationToken::new();
        let mut tasks = Tasks::new(shutdown.clone());
        tasks.spawn("until shutdown", async move { shutdown.cancelled().await });
        tasks.spawn("nothing to do", async {});
        tasks.spawn_fallible("last", last);
        tasks.join().await
    }

    #[tokio::test]
    async fn a_task_that_fails_or_panics_ends_the_others_and_is_named() {
        let failed = joined(async { Err(io::Error::other("no sockets")) }).await;
        let panicked = joined(async { panic!("of the test") }).await;
        let shown = [failed, panicked].map(|ended| format!("{:#}", ended.unwrap_err()));
        assert_eq!(shown[0], "the task 'last': no sockets");
        assert!(shown[1].starts_with("the task 'last': task "), "{shown:?}");
        assert!(shown[1].contains("of the test"), "{shown:?}");
    }

    #[tokio::test]
    async fn a_task_with_nothing_to_do_ends_no_other() {
        let shutdown = CancellationToken::new();
        let tasks = Tasks::new(shutdown.clone());
        tasks.note_end("nothing to do", Ok(())).unwrap();
        assert!(!shutdown.is_cancelled());
    }
}
