//! The delivery of one forward: reads the log from its position, and passes on the notifications that it includes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hub_core::command::Command;
use hub_core::fold::subject;
use hub_core::record::{Record, Route};
use hub_core::rejected::Rejected;
use hub_engine::needs::Preview;
use hub_engine::{Hub, stored};
use hub_log::{CHUNK_BYTES, Event};
use hub_protocol::{Notification, Seq, Timestamp};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Forward;
use super::backoff::Backoff;
use super::buttons::Tokens;
use super::poster::PostOutcome;

/// The least time between two records of the position, unless the forward pauses.
const NOTE_EVERY: Duration = Duration::from_secs(2);
/// The position is noted at the latest after this many records of others.
const NOTE_AFTER: Seq = 1000;
/// The pause before the log is read again after a failure, and before a standby looks again whether it is active.
const PAUSE: Duration = Duration::from_secs(1);

/// Delivers to one target.
pub(super) struct Delivery {
    hub: Hub,
    forward: Arc<Forward>,
    /// The position at which the forward starts if the log has none of it.
    first: Seq,
    /// The last record that is done.
    cursor: Seq,
    /// The position that the log has.
    noted: Seq,
    noted_at: Instant,
    /// Whether the target has accepted or refused something since then.
    owes_note: bool,
}

/// The hub is no longer the active one.
struct SteppedDown;

impl Delivery {
    pub(super) fn new(hub: Hub, forward: Arc<Forward>) -> Self {
        Self {
            hub,
            first: forward.first,
            forward,
            cursor: 0,
            noted: 0,
            noted_at: Instant::now(),
            owes_note: false,
        }
    }

    /// Delivers until `shutdown`.
    pub(super) async fn run(mut self, shutdown: CancellationToken) {
        let deliver = async {
            loop {
                if self.hub.is_standby() {
                    until_active(&self.hub).await;
                    self.first = self.hub.log().head();
                }
                let Err(error) = self.follow().await else {
                    continue;
                };
                tracing::warn!(%error, forward = self.forward.name(), "a forward could not read the log");
                tokio::time::sleep(PAUSE).await;
            }
        };
        let _: Option<()> = shutdown.run_until_cancelled(deliver).await;
        if self.owes_note {
            self.note().await;
        }
    }

    /// Delivers from the position in the log, while this hub is the active one.
    async fn follow(&mut self) -> Result<(), Rejected> {
        let mut head = self.hub.log().subscribe();
        self.start().await?;
        while !self.hub.is_standby() {
            let events = self.read().await?;
            for event in &events {
                if let Err(SteppedDown) = self.attend(event).await {
                    return Ok(());
                }
                self.reach(event.seq());
                if self.is_note_due() {
                    self.note().await;
                }
            }
            if !events.is_empty() {
                continue;
            }
            let note_due = self.owes_note.then(|| self.noted_at + NOTE_EVERY);
            tokio::select! {
                changed = head.changed() => changed.map_err(|_| Rejected::ShuttingDown)?,
                () = sleep_until(note_due) => self.note().await,
            }
        }
        Ok(())
    }

    /// Takes up the position in the log. A forward that has none starts with what is published from then on.
    async fn start(&mut self) -> Result<(), Rejected> {
        let name = self.forward.name().to_owned();
        let known = self
            .hub
            .read(|state, _| state.forwards.get(&name).map(|it| it.up_to))?;
        let head = self.hub.log().head();
        // An older copy of the log may have been restored.
        self.reach(known.unwrap_or(self.first).min(head));
        self.noted = self.cursor;
        if known.is_none() {
            self.note().await;
        }
        Ok(())
    }

    async fn read(&self) -> Result<Vec<Arc<Event>>, Rejected> {
        let (log, cursor) = (Arc::clone(self.hub.log()), self.cursor);
        if let Some(events) = log.recent(cursor, 256) {
            return Ok(events);
        }
        let read = tokio::task::spawn_blocking(move || log.read(cursor, CHUNK_BYTES));
        let read = read.await.map_err(|_| Rejected::ShuttingDown)?;
        read.map_err(|error| {
            tracing::error!(%error, "the log could not be read for a forward");
            Rejected::Storage
        })
    }

    fn reach(&mut self, seq: Seq) {
        self.cursor = seq;
        self.forward.progress.reached(seq);
    }

    /// Passes on what a record asks this forward to pass on, and returns once the target has it or needs it no more.
    async fn attend(&mut self, event: &Event) -> Result<(), SteppedDown> {
        match event.record() {
            Some(Record::Notified(it)) if !self.hub.log().hides(event) => {
                if let Some(passed) = self.included(event, &it.route) {
                    self.wait_for(passed.route.ts).await;
                    return self.deliver(&passed).await;
                }
            }
            Some(Record::RuleFired(it)) if it.forward.as_deref() == Some(self.forward.name()) => {
                if let Some(id) = it.notification {
                    return self.deliver_by_rule(id).await;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The notification of an event, if the settings include it.
    fn included(&self, event: &Event, route: &Route) -> Option<Passed> {
        let on = self.forward.settings.on.as_ref()?;
        if !on.may_match(route.kind, route.priority) {
            return None;
        }
        let passed = Passed::new(event, route)?;
        let it = &passed.notification;
        let is_included = on.matches(&subject(&route.project, &route.from, it));
        (is_included && it.muted_by.is_none()).then_some(passed)
    }

    /// Delivers a notification that a rule passes to this forward, unless the settings include it anyway.
    async fn deliver_by_rule(&mut self, id: Seq) -> Result<(), SteppedDown> {
        let event = match stored::event(self.hub.log(), id).await {
            Ok(Some(event)) if !self.hub.log().hides(&event) => event,
            Ok(_) => return Ok(()),
            Err(error) => {
                tracing::warn!(%error, id, "a notification could not be read for a forward");
                return Ok(());
            }
        };
        let Some(Record::Notified(it)) = event.record() else {
            return Ok(());
        };
        if self.included(&event, &it.route).is_some() {
            return Ok(());
        }
        match Passed::new(&event, &it.route) {
            Some(passed) => self.deliver(&passed).await,
            None => Ok(()),
        }
    }

    /// Delivers a notification, as often as it takes.
    async fn deliver(&mut self, passed: &Passed) -> Result<(), SteppedDown> {
        let Passed {
            json,
            notification,
            route,
        } = passed;
        let id = notification.id;
        let mut backoff = Backoff::new();
        while !self.hub.is_standby() {
            let now = Timestamp::now();
            let wanted = |state: &_| self.forward.is_wanted(state, id, route, now);
            match self.hub.read(|state, _| wanted(state)) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(_) => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            }
            let shown = Preview::of(notification);
            let tokens = self.tokens();
            let buttons = tokens.map(|it| it.buttons(notification, &shown.quick, now));
            let shown = (&shown, &buttons.unwrap_or_default()[..]);
            let body = self.forward.body(notification, shown, json.clone());
            match self.forward.poster.post(&self.forward, body).await {
                PostOutcome::Accepted => self.forward.progress.accepted(),
                PostOutcome::Refused(why) => {
                    let forward = self.forward.name();
                    tracing::warn!(forward, id, why, "a notification was not forwarded");
                    self.forward.progress.refused(&why);
                }
                PostOutcome::Failed(why, pause) => {
                    self.pause(&why, backoff.next(pause)).await;
                    continue;
                }
            }
            self.owes_note = true;
            return Ok(());
        }
        Err(SteppedDown)
    }

    /// Pauses after a failed attempt. Only the first failure in a row is logged.
    async fn pause(&mut self, why: &str, pause: Duration) {
        if self.forward.progress.failed(why) {
            let forward = self.forward.name();
            tracing::warn!(
                forward,
                why,
                "a forward fails; it tries again until it succeeds"
            );
        }
        if self.owes_note {
            self.note().await;
        }
        tokio::time::sleep(pause).await;
    }

    /// Waits until a notification of this time has been open for as long as the settings say.
    async fn wait_for(&mut self, ts: Timestamp) {
        let after = i64::try_from(self.forward.settings.after.as_millis()).unwrap_or(i64::MAX);
        let left = ts.plus_millis(after).as_millis() - Timestamp::now().as_millis();
        // A sender's clock may be ahead, but the wait is never longer than the setting.
        let Ok(left @ 1..) = u64::try_from(left.min(after)) else {
            return;
        };
        // Without this, a crash in the meantime would repeat what the target has already.
        if self.owes_note {
            self.note().await;
        }
        tokio::time::sleep(Duration::from_millis(left)).await;
    }

    /// The tokens of the buttons, if this forward has buttons.
    fn tokens(&self) -> Option<Tokens<'_>> {
        self.forward.settings.reply_topic.as_ref()?;
        Some(self.forward.tokens(&self.hub))
    }

    fn is_note_due(&self) -> bool {
        let is_late = self.noted_at.elapsed() >= NOTE_EVERY;
        self.owes_note && is_late || self.cursor - self.noted >= NOTE_AFTER
    }

    /// Notes the position in the log.
    async fn note(&mut self) {
        let noted = self.hub.submit(Command::Forwarded {
            name: self.forward.name().into(),
            up_to: Some(self.cursor),
            answer: None,
        });
        self.noted_at = Instant::now();
        match noted.await {
            Ok(_) => {
                self.noted = self.cursor;
                self.owes_note = false;
            }
            Err(error) => tracing::debug!(%error, "the position of a forward was not noted"),
        }
    }
}

impl Forward {
    /// The tokens of this forward's buttons.
    pub(super) fn tokens<'a>(&'a self, hub: &'a Hub) -> Tokens<'a> {
        Tokens {
            key: &self.buttons,
            epoch: hub.log().epoch(),
            forward: self.name(),
        }
    }
}

/// A notification that is passed on.
struct Passed {
    /// Its stored form.
    json: Bytes,
    notification: Notification,
    route: Route,
}

impl Passed {
    /// `None` if the disk lost the text.
    fn new(event: &Event, route: &Route) -> Option<Self> {
        let json = event.json()?;
        let notification = serde_json::from_slice(&json).ok()?;
        let route = route.clone();
        Some(Self {
            json,
            notification,
            route,
        })
    }
}

/// Returns once this hub is the active one of its cluster, or has none.
pub(super) async fn until_active(hub: &Hub) {
    while hub.is_standby() {
        tokio::time::sleep(PAUSE).await;
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
