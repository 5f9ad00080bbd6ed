//! The running program: what the hub and the daemon report, in turn.

use std::sync::Arc;

use hubctl::{Connection, Error, HubLocation};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::acts::Acts;
use crate::daemon::{Daemon, Signal};
use crate::desk::{Change, Desk};
use crate::feed::{Feed, Update};
use crate::memory::MemoryFile;
use crate::output::say;

/// Runs until SIGTERM or SIGINT, then closes what is shown.
pub(crate) fn run(location: &HubLocation) -> Result<(), Error> {
    let hub = Arc::new(Connection::open(location)?);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build()?;
    runtime.block_on(async { Service::start(hub).await?.run().await })
}

struct Service {
    desk: Desk,
    daemon: Daemon,
    acts: Arc<Acts>,
    memory: MemoryFile,
    updates: Receiver<Update>,
    failures: (Sender<Failure>, Receiver<Failure>),
}

/// The title and the text of an action that failed.
type Failure = (String, String);

impl Service {
    async fn start(hub: Arc<Connection>) -> Result<Self, Error> {
        let daemon = Daemon::connect().await?;
        let memory = MemoryFile::open(hub.state_dir());
        let known = memory.memory();
        let (to, updates) = channel(1);
        let feed = Feed::new(Arc::clone(&hub), to, known.epoch);
        tokio::spawn(feed.run());
        Ok(Self {
            desk: Desk::new(known),
            daemon,
            acts: Arc::new(Acts(hub)),
            memory,
            updates,
            failures: channel(8),
        })
    }

    async fn run(mut self) -> Result<(), Error> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        loop {
            tokio::select! {
                // A click comes first, so that it meets the need that the person saw.
                biased;
                signal = self.daemon.next() => self.signal(signal?).await,
                Some(update) = self.updates.recv() => self.update(update).await,
                Some((title, text)) = self.failures.1.recv() => self.daemon.report(&title, &text).await,
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
            }
            self.remember();
        }
        for tag in self.desk.shown() {
            self.daemon.close(&tag).await;
        }
        Ok(())
    }

    async fn update(&mut self, update: Update) {
        let change = match update {
            Update::Log(epoch) => self.desk.set_log(epoch),
            Update::Snapshot(hub) => self.desk.update(&hub),
        };
        self.apply(change).await;
    }

    async fn apply(&mut self, change: Change) {
        for tag in change.close {
            self.daemon.close(&tag).await;
        }
        for tag in change.show {
            if let Some(card) = self.desk.card(&tag) {
                self.daemon.show(&tag, card).await;
            }
        }
    }

    async fn signal(&mut self, signal: Signal) {
        match signal {
            Signal::Chosen(tag, action) => self.act(&tag, &action).await,
            Signal::Closed(tag) => self.desk.closed(&tag),
            Signal::Started => {
                self.daemon.read_capabilities().await;
                let show = self.desk.shown();
                self.apply(Change {
                    show,
                    ..Change::default()
                })
                .await;
            }
        }
    }

    /// Does what the person chose, in a task of its own, because the hub may take its time.
    async fn act(&mut self, tag: &str, action: &str) {
        let Some(card) = self.desk.card(tag).cloned() else {
            let text = "It was settled before your click arrived.";
            return self.daemon.report("Too late", text).await;
        };
        let (acts, failures) = (Arc::clone(&self.acts), self.failures.0.clone());
        let choice = action
            .strip_prefix("answer-")
            .and_then(|it| it.parse::<usize>().ok());
        tokio::spawn(async move {
            let need = card.need.as_ref();
            let answer = choice
                .zip(need)
                .and_then(|(at, need)| Some((need, need.quick.get(at)?)));
            let failed = match answer {
                Some((need, quick)) => acts.answer(need, quick).await,
                None => acts.open(need).await,
            };
            if let Some(text) = failed {
                // At the end of the program nobody receives it.
                let _ = failures.send((card.title, text)).await;
            }
        });
    }

    fn remember(&mut self) {
        let Some(memory) = self.desk.memory() else {
            return;
        };
        if let Err(error) = self.memory.write(memory) {
            say(format_args!("cannot remember what was shown: {error}"));
        }
    }
}
