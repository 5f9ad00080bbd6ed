//! The reason of a pending notification: the verdict of the waiters, or the state of the session that reads the inbox.

use std::collections::BTreeMap;
use std::str::FromStr as _;

use hub_agents::Agent;
use hub_core::fold::{Inbox, Item, RideAlong, Session, SessionKey, State as Fold};
use hub_core::time::Now;
use hub_core::waiters::{Hold, Reach, Waiters, WakeVerdict};
use hub_protocol::{
    FailedWay, Holder, InboxName, NeedKind, ProjectName, Reason, Seq, Timestamp, Way, WhyItem,
};

mod person;

/// Computes the reasons from the state of the hub at one time.
pub struct Explainer<'a> {
    state: &'a Fold,
    waiters: &'a Waiters,
    /// The kinds of the person's needs, by the notifications that they are about.
    needs: BTreeMap<Seq, NeedKind>,
    is_reached: bool,
    now: Now,
}

/// A pending notification with its reason.
pub struct Found {
    /// The notification, with the reason as far as the fold knows it.
    pub item: WhyItem,
    /// The record with the sender's own words for the reason, if it has any.
    pub words_at: Option<Seq>,
}

/// A reason with what belongs to it.
#[derive(Default)]
pub(super) struct Explained {
    pub(super) reason: Reason,
    pub(super) text: String,
    pub(super) until: Option<Timestamp>,
    pub(super) by: Option<String>,
    pub(super) ways: Vec<FailedWay>,
}

impl Explained {
    pub(super) fn new(reason: Reason, text: impl Into<String>) -> Self {
        Self {
            reason,
            text: text.into(),
            ..Self::default()
        }
    }

    pub(super) fn until(self, until: Timestamp) -> Self {
        let until = Some(until);
        Self { until, ..self }
    }

    fn by(self, by: impl Into<String>) -> Self {
        let by = Some(by.into());
        Self { by, ..self }
    }
}

impl Found {
    /// Completes the reason with the words in the notification's JSON.
    pub fn with_words(self, json: &[u8]) -> WhyItem {
        let ride = RideAlong::Quiet(None).with_words(json);
        WhyItem {
            text: rides(&ride),
            ..self.item
        }
    }
}

impl<'a> Explainer<'a> {
    /// The reasons at a time. `needs` are the kinds of the person's needs, by the notifications that they are about.
    /// `is_reached` says whether a dashboard or a device with Web Push alerts the person.
    pub fn new(
        state: &'a Fold,
        waiters: &'a Waiters,
        needs: BTreeMap<Seq, NeedKind>,
        is_reached: bool,
        now: Now,
    ) -> Self {
        Self {
            state,
            waiters,
            needs,
            is_reached,
            now,
        }
    }

    /// The reason of an item that is pending in an inbox.
    pub fn find(&self, place: &(ProjectName, InboxName), item: &Item) -> Found {
        let ride = RideAlong::of_item(item, &place.1);
        let found = self.explain(place, item, ride.as_ref());
        let has_words = found.reason == Reason::RidesAlong && ride == Some(RideAlong::Quiet(None));
        let location = self.state.location(item.seq).unwrap_or(item.seq);
        Found {
            words_at: has_words.then_some(location),
            item: WhyItem {
                id: item.seq,
                project: place.0.clone(),
                inbox: Some(place.1.clone()),
                reason: found.reason,
                text: found.text,
                until: found.until,
                by: found.by,
                ways: found.ways,
            },
        }
    }

    fn explain(
        &self,
        (project, inbox): &(ProjectName, InboxName),
        item: &Item,
        ride: Option<&RideAlong>,
    ) -> Explained {
        let place = (project, inbox);
        match self.waiters.verdict(self.state, place, item, self.now) {
            WakeVerdict::Shown(at, way) => shown(at, way),
            WakeVerdict::Leased { by, until } => {
                let by = by.unwrap_or_else(|| "a reader".into());
                let text = format!(
                    "{by} received it and may acknowledge it until {until}; then it is offered again"
                );
                Explained::new(Reason::Leased, text).by(by).until(until)
            }
            WakeVerdict::RidesAlong => {
                let text = ride.map_or_else(String::new, rides);
                Explained::new(Reason::RidesAlong, text)
            }
            WakeVerdict::Filtered(holder) => {
                self.excluded(place, &holder, "its filter excludes it")
            }
            WakeVerdict::Barrier(holder, missing) => {
                self.excluded(place, &holder, &barrier(&missing))
            }
            WakeVerdict::Tried(holder, way) => {
                let why = "it was shown in this way before, and nothing proved that it arrived";
                Self::no_transport(&holder_name(&holder), vec![failed(way, why)])
            }
            WakeVerdict::Settling(holder, until) => {
                let by = holder_name(&holder);
                let text = format!("the waiter {by} collects a burst until {until}");
                Explained::new(Reason::Settling, text).by(by).until(until)
            }
            WakeVerdict::Held(hold) => held(&hold),
            WakeVerdict::Wakes(holder) => {
                let by = holder_name(&holder);
                let text = format!("it is being handed to the waiter {by}");
                Explained::new(Reason::Waking, text).by(by)
            }
            WakeVerdict::Unattended => self.unattended(place, item),
        }
    }

    /// The reason of an item that a waiter does not want.
    fn excluded(
        &self,
        (project, inbox): (&ProjectName, &InboxName),
        holder: &Holder,
        why: &str,
    ) -> Explained {
        let reader = self.state.sessions.reader(project, inbox);
        let reader = reader.filter(|key| self.state.sessions.get(project, key).is_some());
        let is_own = reader.is_none() || holder.session.as_ref() == reader;
        let by = holder_name(holder);
        let (reason, text) = if is_own {
            (Reason::Filtered, format!("the waiter {by}: {why}"))
        } else {
            let text = format!("the reader {by} occupies the inbox, and {why}");
            (Reason::InboxHeld, text)
        };
        Explained::new(reason, text).by(by)
    }

    fn unattended(&self, (project, inbox): (&ProjectName, &InboxName), item: &Item) -> Explained {
        if inbox.as_str() == InboxName::PERSON {
            let is_seen = self.state.seen.contains(item.seq);
            if is_seen {
                return Explained::new(Reason::Seen, "the person has read it");
            }
            let need = self.needs.get(&item.seq).copied();
            return person::alert(self.state, project, (item, need), self.is_reached, self.now);
        }
        let reader = self.state.sessions.reader(project, inbox);
        let session = reader.and_then(|key| Some((key, self.state.sessions.get(project, key)?)));
        let Some((key, session)) = session else {
            let text = match inbox.as_str() {
                InboxName::PRIMARY => {
                    "no session is the project's primary, and the inbox has no waiter"
                }
                _ => "no session has this name, and the inbox has no waiter",
            };
            return Explained::new(Reason::NoReader, text);
        };
        self.of_session((project, inbox), key, session, item)
    }

    fn of_session(
        &self,
        (project, inbox): (&ProjectName, &InboxName),
        key: &InboxName,
        session: &Session,
        item: &Item,
    ) -> Explained {
        let place = (project.clone(), key.clone());
        let name = self.state.sessions.shown_name(project, key);
        match self.waiters.reach(&place, session, self.now.mono) {
            Reach::Ended => {
                let at = session
                    .ended_at
                    .map_or(String::new(), |at| format!(" at {at}"));
                let text = format!(
                    "session {name} ended{at}: nobody reads its inbox unless it is resumed"
                );
                Explained::new(Reason::Ended, text)
            }
            Reach::NoHooks => no_hooks(name, session),
            Reach::Busy => {
                let text = format!(
                    "session {name} is at work since {}, so the answer to its next hook delivers it",
                    session.ts
                );
                Explained::new(Reason::Busy, text)
            }
            Reach::Asks => {
                let text = format!(
                    "session {name} shows a dialog, so no turn can begin; its next hook after that delivers it"
                );
                Explained::new(Reason::Asks, text)
            }
            Reach::Waits | Reach::Polls => Explained::new(
                Reason::Waking,
                format!("the waiter of session {name} takes it in a moment"),
            ),
            Reach::Idle => {
                let hold = self
                    .waiters
                    .hold_of(self.state, (project, inbox), item.seq, self.now);
                match (hold, self.waiters.failed_ways(&place)) {
                    (Some(hold), _) => held(&hold),
                    (None, Some(failed)) => Self::no_transport(name, failed.to_vec()),
                    (None, None) => {
                        if let Some((Way::Pane, why)) = self.waiters.unreachable(&place) {
                            let refused = FailedWay {
                                way: Way::Pane,
                                why: why.into(),
                            };
                            return Self::no_transport(name, vec![refused]);
                        }
                        let text = format!("the hub is looking for a way to wake session {name}");
                        Explained::new(Reason::Waking, text)
                    }
                }
            }
        }
    }

    fn no_transport(name: &str, ways: Vec<FailedWay>) -> Explained {
        let untrusted = ways.iter().find(|it| it.way == Way::Hook);
        let (reason, text) = if let Some(it) = untrusted {
            (Reason::HookUntrusted, it.why.clone())
        } else {
            let each = ways
                .iter()
                .map(|it| format!("{}: {}", it.way.as_str(), it.why));
            let each: Vec<String> = each.chain(["no `hubctl wait` runs in it".into()]).collect();
            let text = format!("nothing can wake {name}: {}", each.join("; "));
            (Reason::NoTransport, text)
        };
        Explained {
            ways,
            ..Explained::new(reason, text)
        }
    }

    /// The state of a session or an inbox, in lines for people.
    pub fn present(&self, place: &SessionKey) -> Vec<String> {
        let (project, key) = place;
        let mut lines = Vec::new();
        if let Some(session) = self.state.sessions.get(project, key) {
            let is_primary = self.state.sessions.primary(project) == Some(key);
            let role = if is_primary { ", the primary" } else { "" };
            let name = self.state.sessions.shown_name(project, key);
            lines.push(format!(
                "session {name}{role}: {}",
                self.reach_line(place, session)
            ));
        }
        match self.waiters.holder(project, key) {
            Some(it) => lines.push(format!("waiter: {} since {}", holder_name(&it), it.since)),
            None => lines.push("waiter: none".into()),
        }
        let failed = self.waiters.failed_ways(place).unwrap_or_default();
        lines.extend(
            failed
                .iter()
                .map(|it| format!("{}: {}", it.way.as_str(), it.why)),
        );
        let pending = self.state.inboxes.get(project, key).map_or(0, Inbox::len);
        if pending == 0 {
            lines.push("nothing is pending in its inbox".into());
        }
        lines
    }

    fn reach_line(&self, place: &SessionKey, session: &Session) -> String {
        match self.waiters.reach(place, session, self.now.mono) {
            Reach::Ended => "ended".into(),
            Reach::NoHooks => "no hook of it has reported".into(),
            Reach::Busy => format!("at work since {}", session.ts),
            Reach::Asks => format!("shows a dialog since {}", session.ts),
            Reach::Waits => "idle, with a waiter of its own".into(),
            Reach::Polls => "idle, and its module polls".into(),
            Reach::Idle => format!("idle since {}", session.ts),
        }
    }
}

fn rides(ride: &RideAlong) -> String {
    format!("rides along ({ride}): it comes with the next notification that wakes, or with a hook")
}

fn shown(at: Timestamp, way: Way) -> Explained {
    let way_name = way.as_str();
    match way {
        Way::Hook => Explained::new(
            Reason::DeliveredByHook,
            format!(
                "the answer to a hook carried it at {at}; the session's next hook event proves it"
            ),
        ),
        _ => Explained::new(
            Reason::Woken,
            format!(
                "it woke the session at {at} ({way_name}); the session's next hook event proves it"
            ),
        ),
    }
}

fn held(hold: &Hold) -> Explained {
    let text = format!(
        "a wake limit is reached ({}); it wakes at {}",
        hold.limit, hold.until
    );
    let limited = Explained::new(Reason::Limit, text).until(hold.until);
    match hold.limit.spender() {
        Some(by) => limited.by(by),
        None => limited,
    }
}

fn no_hooks(name: &str, session: &Session) -> Explained {
    let agent = session.info().and_then(|it| it.agent.as_deref());
    let agent = agent.and_then(|it| Agent::from_str(it).ok());
    match agent.and_then(|it| it.facts().trust) {
        Some(why) => Explained::new(
            Reason::HookUntrusted,
            format!("no hook of session {name} has reported: {why}"),
        ),
        None => Explained::new(
            Reason::NoHooks,
            format!("no hook of session {name} has reported, and no `hubctl wait` runs in it"),
        ),
    }
}

fn barrier(missing: &[InboxName]) -> String {
    let missing: Vec<&str> = missing.iter().map(InboxName::as_str).collect();
    if missing.is_empty() {
        return "it waits for more notifications".into();
    }
    format!("it waits until {} have stopped", missing.join(", "))
}

fn failed(way: Way, why: &str) -> FailedWay {
    let why = why.to_owned();
    FailedWay { way, why }
}

/// The name of a waiter for people.
fn holder_name(holder: &Holder) -> String {
    let session = holder.session.as_ref().map(ToString::to_string);
    let name = holder.name.clone().or(session);
    name.unwrap_or_else(|| "without a name".into())
}
