//! The messages to a device: what it must show, and what it must close.

use std::collections::{BTreeSet, HashSet};

use hub_protocol::{Alert, Need, Preferences, Priority, ProjectName, Quick, Seq, Timestamp};
use serde::Serialize;

use crate::encrypt::MAX_BYTES;

/// The number of needs that begin together up to which each is shown; more are counted in one notification.
const MAX_TOGETHER: usize = 5;
/// The tag of the notification that only counts: no need has it as its id.
const MORE: &str = "more";

/// A message to a service worker.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// A need begins.
    Need(Box<ShownNeed>),
    /// The notification with this tag closes: its need is settled, or all those that it counts.
    Settled(String),
    /// So many needs begin together.
    More(usize),
}

/// The part of a need that a notification shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ShownNeed {
    pub(crate) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alert: Option<Alert>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notification: Option<Seq>,
    since: Timestamp,
    project: ProjectName,
    name: String,
    priority: Priority,
    title: String,
    brief: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    quick: Vec<Quick>,
}

/// The knowledge of a device. It changes only when the push service has accepted a message.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The open needs that are shown, or that were not to be.
    seen: HashSet<String>,
    /// The tags of the notifications that may be shown: the ids of needs, and [`MORE`].
    shown: BTreeSet<String>,
    /// The needs that [`MORE`] counts.
    counted: BTreeSet<String>,
}

impl Known {
    /// The knowledge of a device that may show the notifications `pushed` to it, and the open needs from before a time: those
    /// of an earlier run of the hub, and those in the page that has just subscribed.
    pub(crate) fn before(
        needs: &[Need],
        preferences: &Preferences,
        time: Timestamp,
        pushed: &BTreeSet<String>,
    ) -> Self {
        let earlier = || open(needs).filter(|it| it.since < time);
        let wanted = earlier().filter(|it| is_wanted(it, preferences));
        let wanted: BTreeSet<_> = wanted.map(|it| it.id.clone()).collect();
        Self {
            seen: earlier().map(|it| it.id.clone()).collect(),
            shown: wanted.union(pushed).cloned().collect(),
            // Which of them an earlier run counted is not stored.
            counted: wanted,
        }
    }

    /// The next message that brings the device up to date, if one is due.
    pub(crate) fn next(
        &mut self,
        needs: &[Need],
        preferences: &Preferences,
        answers: bool,
    ) -> Option<Message> {
        let ids: HashSet<_> = open(needs).map(|it| &it.id).collect();
        self.seen.retain(|id| ids.contains(id));
        self.counted.retain(|id| ids.contains(id));
        let is_open = |tag: &String| match tag.as_str() {
            MORE => !self.counted.is_empty(),
            _ => ids.contains(tag),
        };
        if let Some(tag) = self.shown.iter().find(|tag| !is_open(tag)) {
            return Some(Message::Settled(tag.clone()));
        }
        let (wanted, others): (Vec<_>, Vec<_>) = open(needs)
            .filter(|it| !self.seen.contains(&it.id))
            .partition(|it| is_wanted(it, preferences));
        self.seen.extend(others.iter().map(|it| it.id.clone()));
        match wanted[..] {
            [] => None,
            [first, ..] if wanted.len() <= MAX_TOGETHER => {
                Some(Message::Need(Box::new(ShownNeed::of(first, answers))))
            }
            _ => Some(Message::More(wanted.len())),
        }
    }

    /// The tags that the device may show once it gets this message.
    pub(crate) fn shown_after(&self, message: Option<&Message>) -> BTreeSet<String> {
        // A notification to be closed is among them until its end is accepted.
        let tag = message.map(|it| it.tag().to_owned());
        self.shown.iter().cloned().chain(tag).collect()
    }

    /// The push service has accepted a message, or refuses it for good.
    pub(crate) fn sent(&mut self, message: &Message, needs: &[Need]) {
        match message {
            Message::Need(need) => {
                self.seen.insert(need.id.clone());
                self.shown.insert(need.id.clone());
            }
            Message::Settled(tag) => {
                self.shown.remove(tag);
            }
            Message::More(_) => {
                let new = open(needs).filter(|it| !self.seen.contains(&it.id));
                self.counted = new.map(|it| it.id.clone()).collect();
                self.seen.extend(self.counted.iter().cloned());
                self.shown.insert(MORE.into());
            }
        }
    }
}

impl Message {
    /// Its JSON. A need that is too long for a message has no answers, and its text is cut.
    pub(crate) fn json(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).unwrap_or_default();
        match self {
            Self::Need(need) if json.len() > MAX_BYTES => {
                serde_json::to_vec(&Self::Need(Box::new(need.shortened()))).unwrap_or_default()
            }
            _ => json,
        }
    }

    /// The tag of the notification that it shows or closes. While the device is offline, a later message with the same tag
    /// replaces it.
    pub(crate) fn tag(&self) -> &str {
        match self {
            Self::Need(need) => &need.id,
            Self::Settled(tag) => tag,
            Self::More(_) => MORE,
        }
    }

    /// Whether the device must be woken for it.
    pub(crate) fn is_pressing(&self) -> bool {
        match self {
            Self::Need(need) => matches!(need.alert, None | Some(Alert::NeedsYou)),
            Self::Settled(_) => false,
            Self::More(_) => true,
        }
    }
}

impl ShownNeed {
    fn of(need: &Need, answers: bool) -> Self {
        Self {
            id: need.id.clone(),
            alert: need.alert,
            notification: need.notification,
            since: need.since,
            project: need.project.clone(),
            name: need.name.clone(),
            priority: need.priority,
            title: need.title.clone(),
            brief: need.brief.clone(),
            quick: if answers {
                need.quick.clone()
            } else {
                Vec::new()
            },
        }
    }

    fn shortened(&self) -> Self {
        Self {
            project: ProjectName::default(),
            brief: String::new(),
            quick: Vec::new(),
            ..self.clone()
        }
    }
}

fn open(needs: &[Need]) -> impl Iterator<Item = &Need> {
    needs.iter().filter(|it| it.is_open())
}

/// Whether a need calls the person, by the preferences that also decide about the notifications of an open page.
fn is_wanted(need: &Need, preferences: &Preferences) -> bool {
    let states = &preferences.notify;
    let chosen = need
        .alert
        .map_or(!states.is_empty(), |it| states.contains(&it));
    chosen && need.silenced.is_none()
}

#[cfg(test)]
mod tests;
