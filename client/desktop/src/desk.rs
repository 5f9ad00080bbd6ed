//! The needs that are shown. It decides by snapshots and by the notifications that were closed, without I/O.

use std::collections::{BTreeMap, BTreeSet};

use hub_protocol::{Epoch, Need};

use crate::feed::Snapshot;
use crate::memory::Memory;
use crate::rules;

/// The tag of the notification that only counts.
const MORE: &str = "more";

/// A notification as the daemon is asked to show it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Card {
    /// The title: the session's name.
    pub title: String,
    /// The need; `None` if it only counts further ones.
    pub need: Option<Need>,
    /// The number of needs that it counts.
    pub more: usize,
}

/// A change of the screen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// The tags of notifications to show, or to replace.
    pub show: Vec<String>,
    /// The tags of notifications to close.
    pub close: Vec<String>,
}

/// The needs, and which of them are shown.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    epoch: Option<Epoch>,
    /// The open needs, shown or not. `None` before the first snapshot.
    known: Option<BTreeSet<String>>,
    /// Needs of an earlier run that must not be shown again.
    handled: BTreeSet<String>,
    shown: BTreeMap<String, Card>,
}

impl Desk {
    /// A desk that goes on after an earlier run.
    pub(crate) fn new(memory: &Memory) -> Self {
        Self {
            epoch: memory.epoch,
            handled: memory.handled.clone(),
            ..Self::default()
        }
    }

    /// The notification of a tag, if it is shown.
    pub(crate) fn card(&self, tag: &str) -> Option<&Card> {
        self.shown.get(tag)
    }

    /// The tags of all notifications that are shown.
    pub(crate) fn shown(&self) -> Vec<String> {
        self.shown.keys().cloned().collect()
    }

    /// Takes note of the hub's log. With another log, nothing of the old one counts any more.
    pub(crate) fn set_log(&mut self, epoch: Epoch) -> Change {
        if self.epoch == Some(epoch) {
            return Change::default();
        }
        let close = self.shown();
        *self = Self {
            epoch: Some(epoch),
            ..Self::default()
        };
        Change {
            close,
            ..Change::default()
        }
    }

    /// Compares a snapshot with what is shown.
    pub(crate) fn update(&mut self, hub: &Snapshot) -> Change {
        let needs: Vec<_> = hub
            .needs
            .iter()
            .filter(|it| it.is_open())
            .cloned()
            .collect();
        let open: BTreeSet<String> = needs.iter().map(|it| it.id.clone()).collect();
        let mut change = Change::default();
        let is_over = |tag: &String| !open.contains(tag) && (tag != MORE || open.is_empty());
        change.close = self
            .shown
            .keys()
            .filter(|tag| is_over(tag))
            .cloned()
            .collect();
        self.shown.retain(|tag, _| !is_over(tag));
        for need in &needs {
            let card = Card::of(need, &needs);
            if let Some(shown) = self.shown.get_mut(&need.id)
                && shown.differs(&card)
            {
                *shown = card;
                change.show.push(need.id.clone());
            }
        }
        // The first snapshot after a start is compared with the memory of the run before.
        let before = self.known.as_ref().unwrap_or(&self.handled);
        let new = needs.iter().filter(|it| !before.contains(&it.id));
        let (show, more) = rules::select(&hub.preferences, new);
        if !hub.focused {
            for need in show {
                self.shown.insert(need.id.clone(), Card::of(need, &needs));
                change.show.push(need.id.clone());
            }
            if more > 0 {
                self.shown.insert(MORE.into(), Card::counting(more));
                change.show.push(MORE.into());
            }
        }
        self.known = Some(open);
        change
    }

    /// Takes note that a notification is no longer on the screen, whoever closed it.
    pub(crate) fn closed(&mut self, tag: &str) {
        self.shown.remove(tag);
    }

    /// The memory for the next run; `None` before the first snapshot.
    pub(crate) fn memory(&self) -> Option<Memory> {
        let known = self.known.as_ref()?;
        let handled = known.iter().filter(|tag| !self.shown.contains_key(*tag));
        Some(Memory {
            epoch: self.epoch,
            handled: handled.cloned().collect(),
        })
    }
}

impl Card {
    /// The card of a need among `all`. Sessions of different projects can have the same name.
    fn of(need: &Need, all: &[Need]) -> Self {
        let is_twin = |it: &&Need| it.name == need.name && it.project != need.project;
        let title = match all.iter().find(is_twin) {
            Some(_) => format!("{}, {}", need.name, last_part(need.project.as_str())),
            None => need.name.clone(),
        };
        Self {
            title,
            need: Some(need.clone()),
            more: 0,
        }
    }

    fn counting(more: usize) -> Self {
        Self {
            title: format!("{more} more agents need you"),
            need: None,
            more,
        }
    }

    /// Whether the person would see a difference. Another session of the same name changes no card that is shown.
    fn differs(&self, other: &Self) -> bool {
        let visible = |it: &Self| {
            let need = it.need.as_ref()?;
            Some((
                need.name.clone(),
                need.brief.clone(),
                need.quick.clone(),
                need.priority,
            ))
        };
        visible(self) != visible(other)
    }
}

/// The last part of a project's path.
fn last_part(project: &str) -> &str {
    let path = project.trim_end_matches('/');
    path.rsplit_once('/').map_or(project, |(_, last)| last)
}
