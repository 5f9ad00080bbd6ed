//! The hub's side: reads its stream, and loads its data again at each change.

use std::sync::Arc;
use std::time::Duration;

use hub_protocol::{Epoch, Need, Needs, Preferences};
use hubctl::{Connection, Error, Event, EventStream, Path};
use serde::Deserialize;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, sleep_until};

use crate::output::say;

/// The kinds of events after which the needs may differ.
const KINDS: &str = "need,presence,preferences";
/// The shortest interval between two loads.
const MIN_REFRESH: Duration = Duration::from_millis(250);
/// The time for events that belong together to arrive.
const SETTLE: Duration = Duration::from_millis(25);
/// The longest interval, because a mute that ends causes no event.
const MAX_REFRESH: Duration = Duration::from_secs(30);
/// The pauses before another attempt to connect.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// A report of the hub.
#[derive(Debug)]
pub(crate) enum Update {
    /// The hub has this log, which is not the one of the earlier snapshots.
    Log(Epoch),
    /// The data at this time.
    Snapshot(Box<Snapshot>),
}

/// The hub's data, as far as needs depend on it.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// What the person has to do.
    pub needs: Vec<Need>,
    /// The person's preferences.
    pub preferences: Preferences,
    /// Whether the person looks at a dashboard.
    pub focused: bool,
}

#[derive(Debug, Deserialize)]
struct Start {
    epoch: Epoch,
}

#[derive(Debug, Deserialize)]
struct Presence {
    // A hub of an earlier version does not know it.
    #[serde(default)]
    focused: bool,
}

/// The reader of a hub.
pub(crate) struct Feed {
    hub: Arc<Connection>,
    to: Sender<Update>,
    epoch: Option<Epoch>,
    /// The id of the last event.
    last: Option<String>,
    focused: bool,
    /// When the data was loaded, and when it must be loaded again.
    loaded: Instant,
    due: Instant,
    was_reached: bool,
}

impl Feed {
    /// A reader that goes on after the log `epoch`.
    pub(crate) fn new(hub: Arc<Connection>, to: Sender<Update>, epoch: Option<Epoch>) -> Self {
        let now = Instant::now();
        Self {
            hub,
            to,
            epoch,
            last: None,
            focused: false,
            loaded: now,
            due: now,
            was_reached: true,
        }
    }

    /// Reads one connection after another. Returns only if nobody receives the updates any more.
    pub(crate) async fn run(mut self) {
        let mut pause = RETRY.0;
        while !self.to.is_closed() {
            let begun = Instant::now();
            if let Err(error) = self.read().await
                && std::mem::take(&mut self.was_reached)
            {
                say(format_args!("{error}; trying again until the hub is back"));
            }
            pause = if begun.elapsed() > RETRY.1 {
                RETRY.0
            } else {
                (pause * 2).min(RETRY.1)
            };
            sleep(pause).await;
        }
    }

    async fn read(&mut self) -> Result<(), Error> {
        let path = Path::new("/events").with("kinds", KINDS);
        let mut stream = self.hub.events(path, self.last.as_deref()).await?;
        self.was_reached = true;
        self.due = Instant::now() + MAX_REFRESH;
        while self.step(&mut stream).await? {}
        Ok(())
    }

    /// Handles the next event, or loads the data if it is time. Returns false at the end of the stream.
    async fn step(&mut self, stream: &mut EventStream) -> Result<bool, Error> {
        tokio::select! {
            // Events that have arrived are handled first, above all a change of the focus.
            biased;
            event = stream.next() => match event? {
                Some(event) => self.handle(&event).await?,
                None => return Ok(false),
            },
            () = sleep_until(self.due) => self.load().await?,
        }
        Ok(!self.to.is_closed())
    }

    async fn handle(&mut self, event: &Event) -> Result<(), Error> {
        match event.name.as_str() {
            "start" | "reset" => {
                let Start { epoch } = read(&event.data)?;
                if event.name == "reset" || self.epoch != Some(epoch) {
                    let _ = self.to.send(Update::Log(epoch)).await;
                }
                self.epoch = Some(epoch);
            }
            "presence" => {
                let Presence { focused } = read(&event.data)?;
                self.focused = focused;
                self.changed();
            }
            _ => self.changed(),
        }
        // Set only now, so that an event whose handling failed is read again.
        if event.id.is_some() {
            self.last.clone_from(&event.id);
        }
        Ok(())
    }

    /// Loads the data soon, but at most once an interval.
    fn changed(&mut self) {
        let soon = Instant::now() + SETTLE;
        self.due = self.due.min(soon.max(self.loaded + MIN_REFRESH));
    }

    async fn load(&mut self) -> Result<(), Error> {
        let hub = Arc::clone(&self.hub);
        let Needs { needs } = hub.get(Path::new("/needs")).await?;
        let preferences = hub.get(Path::new("/preferences")).await?;
        let snapshot = Snapshot {
            needs,
            preferences,
            focused: self.focused,
        };
        self.loaded = Instant::now();
        self.due = self.loaded + MAX_REFRESH;
        let _ = self.to.send(Update::Snapshot(Box::new(snapshot))).await;
        Ok(())
    }
}

fn read<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, Error> {
    serde_json::from_str(data)
        .map_err(|error| anyhow::anyhow!("cannot read the hub's event: {error}").into())
}
